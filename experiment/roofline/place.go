package roofline

// Place is where a measured time lies beside a bound.
type Place string

// The places, from fast to slow.
const (
	Impossible Place = "below_floor" // an error, a cache hit, speculation, or another precision or device than stated
	Fast       Place = "fast"        // below the band
	Inside     Place = "inside"
	Slow       Place = "slow" // above the band: the hardware does not explain it
)

// Place says where a time lies.
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
