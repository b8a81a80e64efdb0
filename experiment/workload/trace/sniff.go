package trace

import (
	"bytes"
	"cmp"
	"io"
)

// sniffed are the first bytes of a file, from which its format is detected: a line can be as long as the file.
const sniffed = 1 << 16

// sniff detects the formats that are whole JSON documents, or lines of them, from the keys of the first
// object; empty = none of them.
func sniff(begin []byte) string {
	keys := firstKeys(begin)
	has := func(names ...string) bool {
		for _, name := range names {
			if !keys[name] {
				return false
			}
		}
		return true
	}
	switch {
	case has("resourceSpans"), has("resource_spans"), has("spans"), has("traceId", "spanId"), has("trace_id", "span_id"),
		has("context", "start_time"):
		return OTel
	case has("requests", "block_size"), has("requests", "models"):
		return Weka
	}
	return ""
}

func firstKeys(begin []byte) map[string]bool {
	keys := map[string]bool{}
	w := newWalker(bytes.NewReader(begin), 1)
	_ = w.document(func() error {
		err := w.keys(func(key string) error {
			keys[key] = true
			return w.skip()
		})
		return cmp.Or(err, io.EOF) // the first object is enough
	}) // cut off, or no JSON: the keys so far
	return keys
}
