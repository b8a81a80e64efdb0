package verdict

import (
	"cmp"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
)

// Again concludes a stored row again from its records, under the SLO of its spec. What records do not show is
// the stored row's: reuse, telemetry, clock, connections. The stored row stays as it is.
func Again(stored *record.Row, records []*record.Record, t experiment.Target, b record.RooflineSource) *record.Row {
	row := *stored
	row.Classes = nil // Conclude fills the map
	e := Measured{Row: &row, Records: records}
	if e.Reuse == nil { // the rules for counters have changed
		e.Reuse = e.CompareReuse()
	}
	e.Conclude(t, b)
	if stored.Observed {
		e.keepRecorded(stored)
	}
	if stored.PromptOverhead == nil {
		e.keepOlder(stored)
	}
	return e.Row
}

// keepRecorded keeps what the recorder of live traffic found, which no request shows.
func (e *Measured) keepRecorded(stored *record.Row) {
	again := slices.Clone(e.Findings)
	for _, f := range stored.Findings {
		if inOrder(f.Code, "") == 0 && !slices.ContainsFunc(again, func(x record.Finding) bool { return x.Code == f.Code }) {
			e.Findings = append(e.Findings, f)
		}
	}
	record.SortFindings(e.Findings)
}

// keepOlder takes from a row of an older version the results of checks for which it stores too little: of the
// prefix cache, without the tokens around a prompt and the failed priming; of the client, without a
// self-test. Their effects are not known, so that verdicts do not account for them.
func (e *Measured) keepOlder(stored *record.Row) {
	e.keep(stored, "prefix_cache")
	beyondSelftest := func(f record.Finding) bool {
		return f.Code == "client_bound" && strings.HasPrefix(f.Text, "the load, ")
	}
	if slices.ContainsFunc(stored.Findings, beyondSelftest) && slices.Contains(e.Checks.Passed, "client_bound") {
		e.keep(stored, "client_bound")
	}
}

// keep replaces the result of one check by the stored row's.
func (e *Measured) keep(stored *record.Row, code string) {
	was := stored.Checks
	for _, list := range []struct {
		now  *[]string
		then []string
	}{{&e.Checks.Passed, was.Passed}, {&e.Checks.Failed, was.Failed}, {&e.Checks.NotPossible, was.NotPossible}, {&e.Checks.Unverified, was.Unverified}} {
		*list.now = slices.DeleteFunc(*list.now, func(c string) bool { return c == code })
		if slices.Contains(list.then, code) {
			*list.now = append(*list.now, code)
			slices.SortFunc(*list.now, inOrder)
		}
	}
	e.Findings = slices.DeleteFunc(e.Findings, func(f record.Finding) bool { return f.Code == code })
	for _, f := range stored.Findings {
		if f.Code == code {
			e.Findings = append(e.Findings, f)
		}
	}
	slices.SortStableFunc(e.Findings, func(a, b record.Finding) int { return inOrder(a.Code, b.Code) })
	record.SortFindings(e.Findings)
}

// inOrder compares codes by the order of display.
func inOrder(a, b string) int {
	place := func(code string) int {
		for i := range checks {
			if checks[i].code == code {
				return i
			}
		}
		return len(checks)
	}
	return cmp.Compare(place(a), place(b))
}
