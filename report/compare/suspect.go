package compare

import (
	"cmp"
	"time"
)

type Suspect struct {
	Fact
	Was  string    `json:"was"`
	Date time.Time `json:"date"`
}

// suspects are of the night, then of the previous and the next one: a change-point can be off by one.
func (g *Group) suspects(night int) []Suspect {
	out := []Suspect{}
	for _, i := range []int{night, night - 1, night + 1} {
		if i < 1 || i >= len(g.Nights) {
			continue
		}
		was, is := g.Nights[i-1].facts(), g.Nights[i].facts()
		for _, what := range union(g.Nights[i-1].order(), g.Nights[i].order()) {
			before, after := cmp.Or(was[what], notSpecified), cmp.Or(is[what], notSpecified)
			if what == buildInfo {
				before, after = foldBuildInfo([]string{before}, []string{after})
			}
			if before != after {
				out = append(out, Suspect{Fact{what, after}, before, g.Nights[i].StartedAt})
			}
		}
	}
	return out
}

func (n Night) facts() map[string]string {
	out := map[string]string{}
	for _, f := range n.Facts {
		out[f.What] = f.Value
	}
	return out
}

func (n Night) order() (out []string) {
	for _, f := range n.Facts {
		out = append(out, f.What)
	}
	return out
}
