// Package packed unpacks texts that the program carries compressed.
package packed

import (
	"bytes"
	"compress/gzip"
	"io"
)

// Text is the text of an embedded gzip file, whose tests read it.
func Text(file []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return string(text)
}
