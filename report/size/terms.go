package size

import "bench/experiment/roofline"

var resources = []string{"memory bandwidth", "compute", "interconnect", "overhead of the engine"}

type term struct {
	resource string
	ms       float64
}

// termsOf are the terms of a bound that add up to it, each with the resource that it is of.
func termsOf(b roofline.Bound) (out []term) {
	for _, t := range b.Terms {
		if t.Hidden {
			continue
		}
		name := resources[3]
		switch {
		case t.RateUnit == "TFLOP/s":
			name = resources[1]
		case t.Name == "all-reduce" || t.Name == "link":
			name = resources[2]
		case t.RateUnit == "GB/s":
			name = resources[0]
		}
		out = append(out, term{name, t.Ms})
	}
	return out
}
