package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

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
