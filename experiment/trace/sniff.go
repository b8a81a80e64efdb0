package trace

import (
	"bytes"
	"slices"
	"strings"
)

// sniffed are the first bytes of a file, from which its format is detected: a line can be as long as the file.
const sniffed = 1 << 16

// sniff detects the formats that are whole JSON documents, or lines of them, from the keys of the first
// object; empty = none of them.
func sniff(begin []byte) string {
	return marked(firstKeys(begin), []mark{{OTel, "resourceSpans"}, {OTel, "resource_spans"}, {OTel, "spans"},
		{OTel, "traceId spanId"}, {OTel, "trace_id span_id"}, {OTel, "context start_time"},
		{Weka, "requests block_size"}, {Weka, "requests models"}})
}

// mark is a format that an object with all these keys has.
type mark struct{ format, keys string }

// marked is the first format whose keys an object has; empty = none.
func marked[V any](object map[string]V, marks []mark) string {
	for _, m := range marks {
		lacks := func(key string) bool { _, ok := object[key]; return !ok }
		if !slices.ContainsFunc(strings.Fields(m.keys), lacks) {
			return m.format
		}
	}
	return ""
}

func firstKeys(begin []byte) map[string]bool {
	keys := map[string]bool{}
	w := newWalker(bytes.NewReader(begin), 1)
	_ = w.next(func() error {
		return w.keys(func(key string) error {
			keys[key] = true
			return w.skip()
		})
	}) // cut off, or no JSON: the keys so far
	return keys
}
