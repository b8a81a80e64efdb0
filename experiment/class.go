package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"bench/experiment/target"
	"bench/experiment/workload"
)

func (s *Spec) RequestsPerArrival() float64 {
	if s.Trace != nil {
		return s.RequestsPerSession()
	}
	sum := 0.0
	for _, c := range s.Classes() {
		n := 1.0
		switch {
		case c.Prompts != nil:
			n = c.Prompts.MeanTurns()
		case c.Session != nil:
			n = c.Session.Turns.Typical()
		}
		sum += c.Weight * n
	}
	return sum / s.TotalWeight()
}

func (s *Spec) TotalWeight() float64 {
	sum := 0.0
	for _, c := range s.Classes() {
		sum += c.Weight
	}
	return sum
}

// ClassIgnoresEOS reports whether requests of a class are sent with ignore_eos; an unknown class is as the row.
func (s *Spec) ClassIgnoresEOS(class string) bool {
	for _, c := range s.Classes() {
		if c.Name == class {
			return s.ignoresEOS(&c)
		}
	}
	return s.Stop != "natural"
}

// ignoresEOS: real prompts have a natural end unless the row says otherwise.
func (s *Spec) ignoresEOS(c *workload.Class) bool {
	stop := cmp.Or(c.Stop, s.Stop)
	return stop == "forced" || stop == "" && c.Prompts == nil
}

func (s *Spec) IgnoresEOS() bool {
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return s.ClassIgnoresEOS(c.Name) })
}

// APIFor is the point's API: its own, else the target's, else completions. A class can have another one.
func (s *Spec) APIFor(t Target) string { return cmp.Or(s.API, t.API, target.Completions) }

func (s *Spec) checkClasses(bad func(key, problem, hint string)) {
	if s.Rate.IsInf() && s.HasConversations() {
		bad("rate", `rate = "inf" sends all requests at once, but a turn must wait for the previous one`,
			"write concurrency = 64 for 64 users")
	}
	if s.IsColdStart() && s.HasLeavers() {
		bad("leave", "a cold start measures whole answers", "remove leave")
	}
	for i, c := range s.Mix {
		if problem, hint := target.APIProblem(c.API); problem != "" {
			bad(fmt.Sprintf("mix[%d].api", i), problem, hint)
		}
		checkClassEndpoint(c.Endpoint, func(problem, hint string) {
			bad(fmt.Sprintf("mix[%d].endpoint", i), problem, hint)
		})
		checkTenant(&c, func(key, problem, hint string) { bad(fmt.Sprintf("mix[%d].%s", i, key), problem, hint) })
		for _, key := range slices.Sorted(maps.Keys(c.Extra)) {
			if problem := target.ReservedField(key); problem != "" {
				bad(fmt.Sprintf("mix[%d].extra_body.%s", i, key), key+" "+problem, "leave it out")
			}
		}
	}
}

func checkClassEndpoint(endpoint string, bad func(problem, hint string)) {
	if endpoint == "" {
		return
	}
	base, err := target.BaseURL(endpoint)
	switch {
	case err != nil || endpoint == "mock":
		bad(fmt.Sprintf("%q is not the URL of a server", target.Redact(endpoint)),
			`write endpoint = "http://host:port"; bench mock starts a simulated server with an address`)
	case target.Redact(base) != base:
		bad("a class's endpoint contains a password", "remove it: the key of --api-key-env is sent to every endpoint")
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

// ShapeText is the lengths of a request: "512 → 128 tokens", "2-class mix", "prompts of sharegpt.jsonl"; empty:
// unknown.
func (s *Spec) ShapeText() string {
	c := s.Classes()[0]
	switch {
	case s.Trace != nil:
		return "trace " + s.Trace.String()
	case len(s.Mix) > 1:
		return fmt.Sprintf("%d-class mix", len(s.Mix))
	case c.Prompts != nil:
		return "prompts of " + filepath.Base(c.Prompts.File)
	case c.Input.Dist == "" || c.Output.Dist == "":
		return ""
	}
	text := c.Input.String() + " → " + c.Output.String() + " tokens"
	if c.Session != nil {
		text += " a turn"
	}
	return text
}
