package roofline

// Place is the position of a measured time relative to a bound.
type Place string

// The places, from fast to slow.
const (
	Impossible Place = "below_floor" // an error, a cache hit, speculation, or a wrong precision or device
	Fast       Place = "fast"        // faster than the typical range
	Inside     Place = "inside"
	Slow       Place = "slow" // slower than the typical range: the hardware does not explain it
)

// Place compares a measured time with the bound.
func (b Bound) Place(ms float64) Place {
	switch {
	case ms < b.FloorMs:
		return Impossible
	case ms < b.LowMs:
		return Fast
	case ms <= b.HighMs:
		return Inside
	}
	return Slow
}
