package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

func (r *Reader) begin(l *Lines) (err error) {
	open, err := skipSpace(l)
	if err != nil {
		return err
	}
	format := r.o.Format
	if format == "" && (open == '{' || open == '[') {
		start, _ := l.r.Peek(sniffed) // a read error is returned by the next read
		format = sniff(start)
	}
	switch format {
	case formatWeka:
		w, err := newWeka(l.r, l.Number+1)
		if err != nil {
			return err
		}
		r.grouped(w, Info{Format: formatWeka, BlockTokens: w.size, Grouped: true, Ends: true})
	case formatOTel:
		return r.scanned(&otel{walker: newWalker(l.r, l.Number+1), prints: newTexts(r.o), seen: map[uint64]bool{}})
	default:
		src, err := newSource(l, open, r.o)
		if err != nil {
			return err
		}
		r.src, r.Info = src, src.info()
		switch src := src.(type) {
		case *native:
			r.grouped(src, r.Info)
		case *recorded:
			if err := r.scanned(src); err != nil {
				return err
			}
			// Prompts may lack token counts, and requests need not belong to sessions.
			r.stored.perByte, r.stored.alone = 1/src.tokenBytes, true
		}
	}
	return nil
}

// described is a source that knows its format.
type described interface {
	source
	info() Info
}

func newSource(l *Lines, open byte, o Options) (described, error) {
	if open == '[' && (o.Format == "" || o.Format == formatShareGPT) {
		return newShareGPT(l.r, l.Number+1, o), nil // the file may have no line breaks
	}
	first, err := l.Next()
	if err != nil {
		return nil, err
	}
	format := o.Format
	if format == "" {
		if format, err = detect(first); err != nil {
			return nil, err
		}
	}
	switch format {
	case formatNative:
		return newNative(l, first, o)
	case formatMooncake:
		l.unread(bytes.Clone(first))
		return &jsonl{Lines: l, clock: o.clock(time.Millisecond), threads: map[string]uint64{},
			what: Info{Format: formatMooncake, Timed: true, BlockTokens: cmp.Or(o.BlockTokens, mooncakeBlock)}}, nil
	case formatLog:
		return newLog(l, bytes.Clone(first), o)
	case formatShareGPT:
		whole := io.MultiReader(bytes.NewReader(append(bytes.Clone(first), '\n')), l.r)
		return newShareGPT(whole, l.Number, o), nil
	case formatAzure, formatBurstGPT:
		return newTable(l, first, format, o)
	}
	return nil, fmt.Errorf("unknown trace format %q", format)
}

func skipSpace(l *Lines) (byte, error) {
	if mark, _ := l.r.Peek(3); string(mark) == "\ufeff" {
		_, _ = l.r.Discard(3)
	}
	for {
		b, err := l.r.ReadByte()
		switch {
		case err == io.EOF:
			return 0, errors.New("the file is empty")
		case err != nil:
			return 0, err
		case b == '\n':
			l.Number++
		case b != ' ' && b != '\t' && b != '\r':
			return b, l.r.UnreadByte()
		}
	}
}

func detect(first []byte) (string, error) {
	if first[0] != '{' {
		for format, names := range csvFormats {
			if strings.Contains(string(first), names.input) {
				return format, nil
			}
		}
		return "", errUnknown
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(first, &keys); err != nil {
		return "", fmt.Errorf("the first line is %w\nhint: a trace has one request a line", misread(err))
	}
	format := marked(keys, []mark{{formatNative, "schema"}, {formatShareGPT, "conversations"}, {formatLog, "prompt"},
		{formatLog, "messages"}, {formatLog, "text_input"}, {formatMooncake, "timestamp input_length"}})
	if format == "" {
		return "", errUnknown
	}
	return format, nil
}

var errUnknown = fmt.Errorf("unknown trace format of the first line\nhint: set format to one of %s",
	strings.Join(formats, ", "))

// sniffed are the first bytes of a file, from which its format is detected: a line can be as long as the file.
const sniffed = 1 << 16

// sniff detects the formats that are whole JSON documents, or lines of them, from the keys of the first
// object; empty = none of them.
func sniff(begin []byte) string {
	keys := map[string]bool{}
	w := newWalker(bytes.NewReader(begin), 1)
	_ = w.next(func() error {
		return w.keys(func(key string) error {
			keys[key] = true
			return w.skip()
		})
	}) // cut off, or no JSON: the keys so far
	return marked(keys, []mark{{formatOTel, "resourceSpans"}, {formatOTel, "resource_spans"},
		{formatOTel, "spans"}, {formatOTel, "traceId spanId"}, {formatOTel, "trace_id span_id"},
		{formatOTel, "context start_time"}, {formatWeka, "requests block_size"}, {formatWeka, "requests models"}})
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
