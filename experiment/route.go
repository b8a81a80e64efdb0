package experiment

import (
	"cmp"
	"slices"

	"bench/experiment/workload"
)

type Route struct {
	Endpoint string // of the class; empty = the target's, with all of its replicas
	Model    string // of the class; empty = the target's, or the one of the class's endpoint
	API      string
}

func (s *Spec) RouteOf(c *workload.Class, t Target) Route {
	return Route{Endpoint: c.Endpoint, Model: c.Model, API: cmp.Or(c.API, s.APIFor(t))}
}

func Routes(specs []Spec, t Target) (out []Route) {
	for i := range specs {
		for _, c := range specs[i].Classes() {
			if r := specs[i].RouteOf(&c, t); !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// APIs lists the APIs of the target that a set of points uses; at least one.
func APIs(specs []Spec, t Target) []string {
	var out []string
	for _, r := range Routes(specs, t) {
		if r.Endpoint == "" && !slices.Contains(out, r.API) {
			out = append(out, r.API)
		}
	}
	if len(out) == 0 && len(specs) > 0 {
		out = append(out, specs[0].APIFor(t))
	}
	return out
}
