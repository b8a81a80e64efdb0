package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"path"
	"slices"
	"strings"
	"time"
)

// file is an entry of an archive; a name that ends in a slash is a folder. owner is of user and group; 0: root.
type file struct {
	name  string
	text  []byte
	mode  int64
	owner int
}

// below puts files into a folder.
func below(folder string, files []file) []file {
	var out []file
	for _, f := range files {
		f.name = path.Join(folder, f.name)
		out = append(out, f)
	}
	return out
}

// user is the user of the image: not root, and no user of a usual system.
const user = 65532

// imageFiles are all files of an image on scratch. Its home folder is everyone's, since platforms run images under
// users of their own.
func imageFiles(bench file, papers []file) []file {
	bench.name = "usr/bin/bench"
	files := []file{bench, {name: "tmp/", mode: 0o1777}, {name: "home/bench/", mode: 0o1777, owner: user}}
	for _, f := range papers {
		if f.name == "LICENSE" || f.name == "licenses.txt" {
			files = append(files, below("usr/share/doc/bench", []file{f})...)
		}
	}
	return files
}

// tarred is an archive that depends on the files alone: sorted, of one time, of no user of this machine.
func tarred(files []file) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		head := &tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: f.mode, Uid: f.owner, Gid: f.owner,
			ModTime: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func tarGzip(files []file) ([]byte, error) {
	text, err := tarred(files)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
