package record

import "time"

// RoundGaps gives the differences of the rounded times, so that they sum to last − first.
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

// RoundMicros rounds to the nearest µs.
func RoundMicros(d time.Duration) int64 {
	const half = time.Microsecond / 2
	if d < 0 {
		return int64((d - half) / time.Microsecond)
	}
	return int64((d + half) / time.Microsecond)
}
