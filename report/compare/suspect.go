package compare

import (
	"slices"
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
		was, is := g.Nights[i-1].Facts, g.Nights[i].Facts
		for k, f := range slices.Concat(was, is) {
			before, after := valueOf(was, f.What), valueOf(is, f.What)
			if f.What == buildInfo {
				before, after = foldBuildInfo([]string{before}, []string{after})
			}
			if inBoth := k >= len(was) && valueOf(was, f.What) != notSpecified; before != after && !inBoth {
				out = append(out, Suspect{Fact{f.What, after}, before, g.Nights[i].StartedAt})
			}
		}
	}
	return out
}

func valueOf(facts []Fact, what string) string {
	i := slices.IndexFunc(facts, func(f Fact) bool { return f.What == what })
	if i < 0 {
		return notSpecified
	}
	return facts[i].Value
}
