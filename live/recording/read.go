package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"bench/experiment/record"
	"bench/experiment/trace"
)

type line struct {
	Exchange
	Request json.RawMessage `json:"request"`
	Shadow  json.RawMessage `json:"shadow"`
	Counts  *Counts         `json:"counts"`
}

// Read calls add with every request of a recording, in the order of the file, which is the order of their ends. The
// counts are those of the last line that has them. A file that a kill cut gives what comes before the cut: its
// counts have no end. Keys of later versions are ignored. Any other error names the line; an error of add is
// returned as it is.
func Read(r io.Reader, add func(*Exchange) error) (Header, Counts, error) {
	var h Header
	var c Counts
	plain, err := trace.Decompressed(r)
	if err != nil {
		return h, c, fmt.Errorf("reading the recording: %w", err)
	}
	defer plain.Close()
	l := trace.OfTrace(plain)
	first, err := l.Next()
	if err == nil {
		err = h.parse(first)
	}
	if ended(err) || err != nil && l.Open {
		err = errors.New("the file is empty, or ends in its header")
	}
	if err != nil {
		return h, c, fmt.Errorf("reading the recording: line %d: %w", l.Number, err)
	}
	decoder := record.NewDecoder()
	for {
		text, err := l.Next()
		if ended(err) {
			return h, c, nil
		}
		var e *Exchange
		if err == nil {
			e, err = decode(decoder, text, &c)
			if err != nil && l.Open {
				return h, c, nil // the kill cut it
			}
		}
		if err != nil {
			return h, c, fmt.Errorf("reading the recording: line %d: %w", l.Number, err)
		}
		if e == nil {
			continue
		}
		if err := add(e); err != nil {
			return h, c, err
		}
	}
}

// ended: also of a file that a kill cut within its compression.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func (h *Header) parse(text []byte) error {
	var has struct {
		Recorded json.RawMessage `json:"recorded"`
	}
	if json.Unmarshal(text, &has) != nil || has.Recorded == nil {
		return errors.New("not a recording\nhint: bench trace record writes one")
	}
	if err := json.Unmarshal(text, h); err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	switch {
	case h.Schema != Schema:
		return fmt.Errorf("unknown schema %.40q\nhint: this bench reads %q", h.Schema, Schema)
	case h.TimeUnit != timeUnit:
		return fmt.Errorf("unknown time_unit %.40q\nhint: a recording has %q", h.TimeUnit, timeUnit)
	}
	return nil
}

// decode reads a line; nil = it has no request.
func decode(d *record.Decoder, text []byte, c *Counts) (*Exchange, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	if l.Counts != nil {
		*c = *l.Counts
	}
	if l.Request == nil {
		return nil, nil
	}
	e := l.Exchange
	if at, err := e.Timestamp.Float64(); err != nil || at < 0 || math.IsInf(at, 0) {
		return nil, errors.New("timestamp is not a number of milliseconds since the start")
	}
	if min(e.Input, e.Output, e.Bytes, e.Media, e.Session, e.Turn) < 0 || e.BlockedUs < 0 {
		return nil, errors.New("a length, a number or a time is negative")
	}
	r, err := d.Decode(l.Request)
	if err != nil {
		return nil, err
	}
	if e.Request = *Stripped(r); l.Shadow == nil || string(l.Shadow) == "null" {
		return &e, nil
	}
	if e.Shadow, err = d.Decode(l.Shadow); err != nil {
		return nil, fmt.Errorf("the shadow: %w", err)
	}
	e.Shadow = Stripped(e.Shadow)
	return &e, nil
}

const sniffed = 64 << 10

// Is reports whether a file that begins so is a recording. The beginning may be compressed; it should have some KiB.
func Is(first []byte) bool {
	plain, err := trace.Decompressed(bytes.NewReader(first))
	if err != nil {
		return false
	}
	defer plain.Close()
	text, _ := io.ReadAll(io.LimitReader(plain, sniffed)) // cut off where the beginning ends
	head, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	var h Header
	return h.parse(head) == nil
}
