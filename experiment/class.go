package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/target"
	"bench/experiment/workload"
)

// Converses says that requests are turns of conversations, at least in one class.
func (s *Spec) Converses() bool {
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return c.Session != nil })
}

// turns is how many requests an arrival is, on average.
func (s *Spec) Turns() float64 {
	sum, weights := 0.0, 0.0
	for _, c := range s.Classes() {
		n := 1.0
		if c.Session != nil {
			n = c.Session.Turns.Typical()
		}
		sum += c.Weight * n
		weights += c.Weight
	}
	return sum / weights
}

// forced says whether the server is made to write exactly the tokens that a class asks for.
func (s *Spec) ClassForced(class string) bool {
	for _, c := range s.Classes() {
		if c.Name == class {
			return cmp.Or(c.Stop, s.Stop) != "natural"
		}
	}
	return s.Stop != "natural"
}

// Forced says that the server is made to write exactly the tokens asked for, at least in one class.
func (s *Spec) Forced() bool {
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return s.ClassForced(c.Name) })
}

// APIOr is the point's API: its own, else the target's, else completions. A class may have another.
func (s *Spec) APIOr(t Target) string { return cmp.Or(s.API, t.API, target.Completions) }

// APIs lists the APIs that a set of points uses.
func APIs(specs []Spec, t Target) []string {
	var out []string
	for i := range specs {
		for _, c := range specs[i].Classes() {
			if api := cmp.Or(c.API, specs[i].APIOr(t)); !slices.Contains(out, api) {
				out = append(out, api)
			}
		}
	}
	return out
}

// checkClasses reports what is wrong with the way in which the requests of classes are made.
func (s *Spec) checkClasses(bad func(key, problem, hint string)) {
	if s.Rate.IsInf() && s.Converses() {
		bad("rate", `with rate = "inf" all requests are sent at once, and a conversation's turns can't be`, "write concurrency = 64, for as many users")
	}
	for i, c := range s.Mix {
		for _, key := range slices.Sorted(maps.Keys(c.Extra)) {
			if problem := target.ReservedField(key); problem != "" {
				bad(fmt.Sprintf("mix[%d].extra_body.%s", i, key), key+" "+problem, "leave it out")
			}
		}
	}
}

// where names the classes that something is true of; empty: of all.
func (s *Spec) ClassesWhere(is func(workload.Class) bool) string {
	var names []string
	all := true
	for _, c := range s.Classes() {
		if is(c) {
			names = append(names, c.Name)
		} else {
			all = false
		}
	}
	if all {
		return ""
	}
	return " in " + strings.Join(names, ", ")
}
