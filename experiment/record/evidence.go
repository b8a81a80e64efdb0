package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
)

// Evidence are the files that a row was concluded from.
type Evidence struct {
	Requests  Stored `json:"requests"`
	Telemetry Stored `json:"telemetry"`
}

// Stored identifies a compressed file of JSON lines. Zero: the row does not state it.
type Stored struct {
	SHA256 string `json:"sha256"` // of the file as it is stored
	Lines  int    `json:"lines"`
}

// errAltered is the error of a file that is not the one that its row or its run states.
var errAltered = errors.New("it was changed after the run: its SHA-256 is another")

// matches reports whether a file with a SHA-256 is the stated one.
func (s Stored) matches(sum []byte) error {
	if s.SHA256 != "" && s.SHA256 != hex.EncodeToString(sum) {
		return errAltered
	}
	return nil
}

// AlteredEvidence are the names of the files that the row was concluded from which are not those that it states, or
// cannot be read. None of a row that states none.
func (r *Row) AlteredEvidence(files fs.FS) (names []string) {
	if r.Evidence == nil {
		return nil
	}
	for _, x := range []struct {
		suffix string
		Stored
	}{{RequestsSuffix, r.Evidence.Requests}, {TelemetrySuffix, r.Evidence.Telemetry}} {
		f, err := OpenRegular(files, r.ID+x.suffix)
		if err == nil {
			sum := sha256.New()
			_, err = io.Copy(sum, f) // without decompressing it
			err = errors.Join(err, x.matches(sum.Sum(nil)), f.Close())
		}
		if err != nil {
			names = append(names, r.ID+x.suffix)
		}
	}
	return names
}

// evidence is zero for a row that states none.
func (r *Row) evidence() *Evidence { return cmp.Or(r.Evidence, &Evidence{}) }

// Ends of the names of a row's files.
const (
	RequestsSuffix  = ".requests.jsonl.zst"
	TelemetrySuffix = ".telemetry.jsonl.zst"
)

// ReadRequests calls each for every request in the file of a row, in the order of their ends; without lists they lack
// gaps and tokens of events, which takes a third of the time and of the memory. The file is foreign: more lines than
// the row states, an index that is there twice, and another SHA-256 are errors.
func (r *Row) ReadRequests(f io.Reader, lists bool, each func(*Record) error) error {
	// The bound on the JSON is generous: a request takes 1 kB, and a gap 8 bytes.
	const free, times, line = 64 << 20, 16, 600
	most := free + times*max(r.RecordBytes(), line*int64(r.evidence().Requests.Lines))
	indexes := Indexes{}
	read := func(f io.Reader, each func(*Record) error) error { return readRecords(f, most, lists, each) }
	return checked(f, r.evidence().Requests, read, func(x *Record) error {
		if x.I < 0 || x.I > math.MaxInt32 || !indexes.Add(x.I) {
			return fmt.Errorf("the index %d of a request is impossible, or there twice", x.I)
		}
		return each(x)
	})
}

// ReadTelemetry is ReadRequests for the samples of a row.
func (r *Row) ReadTelemetry(f io.Reader, each func(*Sample) error) error {
	return checked(f, r.evidence().Telemetry, ReadSamples, each)
}

func checked[T any](f io.Reader, want Stored, read func(io.Reader, func(*T) error) error, each func(*T) error) error {
	n, sum := 0, sha256.New()
	whole := io.TeeReader(f, sum)
	err := read(whole, func(x *T) error {
		if n++; want.SHA256 != "" && n > want.Lines {
			return fmt.Errorf("it has more than the %d lines that the row states", want.Lines)
		}
		return each(x)
	})
	if err == nil {
		_, err = io.Copy(io.Discard, whole)
	}
	if err == nil {
		err = want.matches(sum.Sum(nil))
	}
	switch {
	case err != nil:
		return err
	case want.SHA256 != "" && n != want.Lines:
		return fmt.Errorf("it has %d lines, and the row states %d", n, want.Lines)
	}
	return nil
}

// Indexes are indexes of requests: a word has a bit for each of 64.
type Indexes map[int]uint64

// Add reports whether an index is new.
func (x Indexes) Add(i int) bool {
	word, bit := i>>6, uint64(1)<<(i&63)
	if x[word]&bit != 0 {
		return false
	}
	x[word] |= bit
	return true
}

// SignatureFile has the signature of a run's run.json, which states every other file of the run.
const SignatureFile = "run.json.sig"

// OpenRegular opens a file of a run. It refuses what is no file, such as a device, which has no end: a run can come
// from others.
func OpenRegular(files fs.FS, name string) (fs.File, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return files.Open(name)
}

// ReadRegular is the text of a file that OpenRegular opens.
func ReadRegular(files fs.FS, name string) ([]byte, error) {
	f, err := OpenRegular(files, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// EncodeFile is a value as the JSON files of a run have it.
func EncodeFile(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Sum is the SHA-256 of a file, in hexadecimal digits.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Encode is the manifest as run.json has it, with its own SHA-256.
func (m *Manifest) Encode() ([]byte, error) {
	m.SHA256 = ""
	text, err := EncodeFile(m)
	if err != nil {
		return nil, err
	}
	m.SHA256 = Sum(text)
	return EncodeFile(m)
}

// Altered reports whether the text of run.json is not the one that the manifest in it states. One that states none is
// not.
func (m *Manifest) Altered(text []byte) bool {
	if m.SHA256 == "" {
		return false
	}
	before, after, found := bytes.Cut(text, []byte(",\n  \"sha256\": \""+m.SHA256+"\""))
	return !found || m.SHA256 != Sum(slices.Concat(before, after))
}
