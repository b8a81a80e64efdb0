package prompts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
)

// Index is where the prompts of a file stand, and what is known of each without its text. It is shared by all points
// that name the file.
type Index struct {
	name       string
	sha256     string
	format     string
	entries    []entry
	categories []string // by number; the first is "", for none
	notSent    []string
	skipped    int  // conversations without a message of the user
	list       bool // the file is a JSON list

	mu   sync.Mutex
	file *os.File // open since the first read
}

// entry is one prompt of a file: 48 bytes, so that a file of millions fits.
type entry struct {
	offset    int64
	length    int32  // bytes of the record
	sum       uint32 // CRC-32C of the record: the file must not change
	place     int32  // its line, or number in a JSON list
	maxTokens int32  // 0 = the row's output
	bytes     int32  // of the prompt as JSON
	rest      int32  // bytes of the later user turns
	category  uint16
	later     uint16 // user turns after the first
	form      form
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	mostProblems   = 20       // lines that are named
	mostCategories = 100      // names that a table can show
	mostNotSent    = 20       // names of fields
	mostPrompts    = 50 << 20 // 2 GB of entries
)

// malformed adds the place to an error of a record.
func (x *Index) malformed(at place, err error) error {
	if at.number > 0 {
		text := strings.ReplaceAll(err.Error(), "the line", "the element")
		return fmt.Errorf("%s:%d: element %d: %s", x.name, at.line, at.number, text)
	}
	return fmt.Errorf("%s:%d: %w", x.name, at.line, err)
}

// Open reads the whole file once. The error names every malformed line, up to a bound.
func Open(name string) (*Index, error) {
	if _, err := Regular(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x := &Index{name: name, categories: []string{""}}
	hash := sha256.New()
	if err := x.scan(io.TeeReader(f, hash)); err != nil {
		return nil, err
	}
	x.sha256 = hex.EncodeToString(hash.Sum(nil))
	return x, nil
}

func (x *Index) scan(r io.Reader) error {
	s, err := newSplitter(r)
	if err == io.EOF {
		return fmt.Errorf("%s is empty\nhint: write one JSON object a line", x.name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", x.name, err)
	}
	x.list = s.list
	var bad []error
	more := 0
	for err == nil {
		var raw []byte
		var at place
		if raw, at, err = s.next(); err == io.EOF {
			break
		}
		problem := err
		if problem == nil {
			problem = x.add(raw, at)
		}
		if problem != nil && len(bad) == mostProblems {
			more++
		} else if problem != nil {
			bad = append(bad, x.malformed(at, problem))
		}
	}
	if _, rest := io.Copy(io.Discard, r); rest != nil && err == io.EOF { // what follows a list, for the hash
		return rest
	}
	switch {
	case more > 0:
		return errors.Join(append(bad, fmt.Errorf("%s: %d more lines are malformed", x.name, more))...)
	case len(bad) > 0:
		return errors.Join(bad...)
	case len(x.entries) == 0 && x.skipped > 0:
		return fmt.Errorf("%s has no prompts: none of its %d conversations has a message of the user\nhint: write {\"from\": \"human\", \"value\": \"…\"}", x.name, x.skipped)
	case len(x.entries) == 0:
		return fmt.Errorf("%s has no prompts\nhint: write one JSON object a line", x.name)
	}
	return nil
}

func (x *Index) add(raw []byte, at place) error {
	c, err := parse(raw)
	if err != nil && err != errNoUser {
		return err
	}
	if x.format = cmp.Or(x.format, c.format); x.format != c.format {
		return fmt.Errorf("this line is of the format %s, the lines before are %s\nhint: make a file of each", c.format,
			x.format)
	}
	if err == errNoUser {
		x.skipped++
		return nil
	}
	category, err := x.category(c.category)
	if err != nil {
		return err
	}
	if len(c.Later) >= math.MaxUint16 || len(x.entries) == mostPrompts || at.line > math.MaxInt32 {
		return errors.New("too many turns or prompts\nhint: make several files")
	}
	for _, name := range c.notSent {
		if !slices.Contains(x.notSent, name) && len(x.notSent) < mostNotSent {
			x.notSent = append(x.notSent, strings.ToValidUTF8(name[:min(len(name), longestLabel)], ""))
		}
	}
	rest := 0
	for _, text := range c.Later {
		rest += len(text)
	}
	x.entries = append(x.entries, entry{
		offset: at.offset, length: int32(len(raw)), sum: crc32.Checksum(raw, castagnoli),
		place: int32(cmp.Or(at.number, at.line)), maxTokens: int32(c.maxTokens),
		bytes: int32(len(c.Bytes(0))), rest: int32(rest), category: category, later: uint16(len(c.Later)), form: c.form,
	})
	return nil
}

func (x *Index) category(name string) (uint16, error) {
	i := slices.Index(x.categories, name)
	if i < 0 {
		if i = len(x.categories); i > mostCategories {
			return 0, fmt.Errorf("more than %d categories\nhint: rename the field category: it is not a label of few values", mostCategories)
		}
		x.categories = append(x.categories, strings.Clone(name))
	}
	return uint16(i), nil
}

// where is the place of a prompt: "prompts.jsonl:17", or "prompts.json: element 3".
func (x *Index) where(e *entry) string {
	if x.list {
		return fmt.Sprintf("%s: element %d", x.name, e.place)
	}
	return fmt.Sprintf("%s:%d", x.name, e.place)
}

func (x *Index) content(e *entry) (*Content, error) {
	f, err := x.open()
	if err != nil {
		return nil, err
	}
	raw := make([]byte, e.length)
	if _, err := f.ReadAt(raw, e.offset); err != nil {
		return nil, fmt.Errorf("reading %s: %w", x.name, err)
	}
	if crc32.Checksum(raw, castagnoli) != e.sum {
		return nil, fmt.Errorf("%s changed since the run began\nhint: run again", x.where(e))
	}
	return parse(raw)
}

func (x *Index) open() (*os.File, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		var err error
		if x.file, err = os.Open(x.name); err != nil {
			return nil, err
		}
	}
	return x.file, nil
}
