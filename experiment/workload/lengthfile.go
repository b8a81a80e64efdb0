package workload

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/prompts"
)

// File is a file of lengths. Its hash is part of a point's spec: a file with other content makes another
// point.
type File struct {
	Name    string   `json:"name"`              // relative to the working directory
	Columns []string `json:"columns,omitempty"` // of a CSV file with a header; none = one number a line
	Count   int      `json:"count"`             // lengths, or pairs of lengths
	SHA256  string   `json:"sha256"`

	Read [][]int `json:"-"` // lengths by column, shared between points: read-only; nil in the spec of a stored result
}

// maxFile bounds a file of lengths in bytes. It is kept in memory; this is about ten million lengths.
const maxFile = 64 << 20

// file reads the keys of a file of lengths; Look reads the file itself. It returns nil if a key is wrong.
func (f *fields) file(columns ...string) *File {
	out := &File{}
	out.Name, _ = f.t["file"].(string)
	if out.Name == "" {
		f.report("file", fmt.Sprintf("%s is not the name of a file", Found(f.t["file"])), `write file = "lengths.txt"`)
	}
	for _, key := range columns {
		v, there := f.get(key)
		name, ok := v.(string)
		if there && (!ok || name == "") {
			f.report(key, fmt.Sprintf("%s is not the name of a column", Found(v)), "write "+key+` = "ContextTokens"`)
		}
		if there {
			out.Columns = append(out.Columns, name)
		}
	}
	if f.wrong {
		return nil
	}
	return out
}

func (l *File) String() string {
	return strings.Join(append([]string{filepath.Base(l.Name)}, l.Columns...), " ")
}

// readRegular reads a regular file. A pipe or a device may never end.
func readRegular(name string) ([]byte, error) {
	info, err := prompts.Regular(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the lengths: %w", err)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("reading the lengths: %s is larger than %d MiB", name, maxFile>>20)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the lengths: %w", err)
	}
	return text, nil
}

// linesOf reads one number a line and skips empty lines and lines that start with #.
func linesOf(text []byte) ([][]int, error) {
	var out []int
	number := 0
	for line := range bytes.Lines(text) {
		number++
		word := strings.TrimSpace(string(line))
		if word == "" || word[0] == '#' {
			continue
		}
		n, err := tokenCount(word, number)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, errors.New("the file contains no lengths")
	}
	return [][]int{out}, nil
}

// columnsOf reads columns of a CSV file by the names in its header.
func columnsOf(text []byte, columns []string) ([][]int, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	var at []int
	for _, c := range columns {
		i := slices.Index(header, c)
		if i < 0 {
			return nil, fmt.Errorf("no column is named %q; the columns are %s", c, strings.Join(header, ", "))
		}
		at = append(at, i)
	}
	out := make([][]int, len(columns))
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err // has its line
		}
		line, _ := r.FieldPos(0)
		for c, i := range at {
			n, err := tokenCount(strings.TrimSpace(row[i]), line)
			if err != nil {
				return nil, err
			}
			out[c] = append(out[c], n)
		}
	}
	if len(out[0]) == 0 {
		return nil, errors.New("the file contains no lengths")
	}
	return out, nil
}

func tokenCount(word string, line int) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > maxTokens {
		return 0, fmt.Errorf("line %d: %.40q is not a token count from 1 to %d", line, word, maxTokens)
	}
	return n, nil
}
