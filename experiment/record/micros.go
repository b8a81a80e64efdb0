package record

import (
	"fmt"
	"strconv"
	"time"
)

// Micros is a time as an offset from the row's start, in µs. The zero value is a time that did not happen,
// unlike offset 0.
type Micros struct {
	us int64
	ok bool
}

func At(us int64) Micros { return Micros{us: us, ok: true} }

func (m Micros) Get() (us int64, ok bool) { return m.us, m.ok }

// Us is the offset in µs; 0 if it did not happen.
func (m Micros) Us() int64 { return m.us }

func (m Micros) Add(us int64) Micros {
	if m.ok {
		m.us += us
	}
	return m
}

func (m Micros) IsZero() bool { return !m.ok }

func (m Micros) MarshalJSON() ([]byte, error) {
	if !m.ok {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, m.us, 10), nil
}

func (m *Micros) UnmarshalJSON(b []byte) error {
	*m = Micros{}
	if string(b) == "null" {
		return nil
	}
	us, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("reading a time in µs: %w", err)
	}
	*m = At(us)
	return nil
}

// RoundGaps are the differences of the rounded times in µs, so that they sum to last − first.
func RoundGaps(first time.Duration, gaps []time.Duration) Packed {
	var room packing
	out := Packed{b: room[:0]}
	at, before := first, RoundMicros(first)
	for _, g := range gaps {
		at += g
		now := RoundMicros(at)
		out = out.Append(now - before)
		before = now
	}
	return out.clone()
}

func RoundMicros(d time.Duration) int64 {
	const half = time.Microsecond / 2
	if d < 0 {
		return int64((d - half) / time.Microsecond)
	}
	return int64((d + half) / time.Microsecond)
}
