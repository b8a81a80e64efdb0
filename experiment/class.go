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

// RequestsPerArrival is the mean number of requests per arrival: more than 1 where an arrival begins a
// conversation.
func (s *Spec) RequestsPerArrival() float64 {
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

// ClassIgnoresEOS reports whether requests of a class are sent with ignore_eos, so that every answer has
// exactly the requested number of tokens. An unknown class has the row's setting.
func (s *Spec) ClassIgnoresEOS(class string) bool {
	for _, c := range s.Classes() {
		if c.Name == class {
			return cmp.Or(c.Stop, s.Stop) != "natural"
		}
	}
	return s.Stop != "natural"
}

// IgnoresEOS reports whether at least one class is sent with ignore_eos.
func (s *Spec) IgnoresEOS() bool {
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return s.ClassIgnoresEOS(c.Name) })
}

// APIFor is the point's API: its own, else the target's, else completions. A class can have another one.
func (s *Spec) APIFor(t Target) string { return cmp.Or(s.API, t.API, target.Completions) }

// APIs lists the APIs that a set of points uses.
func APIs(specs []Spec, t Target) []string {
	var out []string
	for i := range specs {
		for _, c := range specs[i].Classes() {
			if api := cmp.Or(c.API, specs[i].APIFor(t)); !slices.Contains(out, api) {
				out = append(out, api)
			}
		}
	}
	return out
}

// checkClasses reports mistakes in how the requests of a class are made.
func (s *Spec) checkClasses(bad func(key, problem, hint string)) {
	if s.Rate.IsInf() && s.HasConversations() {
		bad("rate", `rate = "inf" sends all requests at once, but a turn must wait for the previous one`,
			"write concurrency = 64 for 64 users")
	}
	for i, c := range s.Mix {
		for _, key := range slices.Sorted(maps.Keys(c.Extra)) {
			if problem := target.ReservedField(key); problem != "" {
				bad(fmt.Sprintf("mix[%d].extra_body.%s", i, key), key+" "+problem, "leave it out")
			}
		}
	}
}

// ClassesWhere is " in <names>" of the classes for which is returns true; empty if it returns true for all.
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
