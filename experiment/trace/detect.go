package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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
	case Weka:
		w, err := newWeka(l.r, l.Number+1)
		if err != nil {
			return err
		}
		r.grouped(w, Info{Format: Weka, BlockTokens: w.size, Grouped: true, Ends: true})
	case OTel:
		return r.scanned(newOTel(l.r, l.Number+1, r.o))
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
			return r.scannedRecording(src)
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
	if open == '[' && (o.Format == "" || o.Format == ShareGPT) {
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
	case Native:
		return newNative(l, first, o)
	case Mooncake:
		return newMooncake(l, bytes.Clone(first), o), nil
	case Log:
		return newLog(l, bytes.Clone(first), o)
	case ShareGPT:
		whole := io.MultiReader(bytes.NewReader(append(bytes.Clone(first), '\n')), l.r)
		return newShareGPT(whole, l.Number, o), nil
	case Azure, BurstGPT:
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
		return detectCSV(string(first))
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(first, &keys); err != nil {
		return "", fmt.Errorf("the first line is %w\nhint: a trace has one request a line", misread(err))
	}
	format := marked(keys, []mark{{Native, "schema"}, {ShareGPT, "conversations"}, {Log, "prompt"}, {Log, "messages"},
		{Log, "text_input"}, {Mooncake, "timestamp input_length"}})
	if format == "" {
		return "", errUnknown
	}
	return format, nil
}

var errUnknown = fmt.Errorf("unknown trace format of the first line\nhint: set format to one of %s",
	strings.Join(formats, ", "))

func detectCSV(header string) (string, error) {
	for format, names := range csvFormats {
		if strings.Contains(header, names.input) {
			return format, nil
		}
	}
	return "", errUnknown
}
