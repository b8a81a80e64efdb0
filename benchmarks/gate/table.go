package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func (s Setting) String() string {
	return fmt.Sprintf("%s: %s, %d earlier", s.Group, s.Name, s.Earlier)
}

// table is how results are written.
type table struct {
	head func(t trials) string
	line func(s Setting, tallies []Tally) string
}

var tables = map[string]table{"md": {markdownHead, markdownLine}, "csv": {csvHead, csvLine}}

func markdownHead(t trials) string {
	names := []string{"base", "nights", "earlier", "called different", "called worse", "FAIL", "UNDECIDED",
		"PASS"}
	for _, c := range t.changes[1:] {
		names = append(names, c.Name+" FAIL")
	}
	return fmt.Sprintf("In %%, of %d nights each; one standard error is %.1f at 5 %%, %.1f at 50 %%.\n\n"+
		"%s\n%s", t.n,
		100*math.Sqrt(0.05*0.95/float64(t.n)), 50/math.Sqrt(float64(t.n)), strings.Join(names, " | "),
		strings.Repeat("---|", len(names)-1)+"---")
}

func markdownLine(s Setting, tallies []Tally) string {
	quiet := tallies[0]
	cells := []string{s.Group, s.Name, strconv.Itoa(s.Earlier)}
	percent := func(n int) {
		cells = append(cells, strconv.FormatFloat(100*float64(n)/float64(quiet.Trials), 'f', 1, 64))
	}
	for _, n := range []int{quiet.Changed, quiet.Worse, quiet.Fail, quiet.Undecided, quiet.Pass} {
		percent(n)
	}
	for _, t := range tallies[1:] {
		percent(t.Fail)
	}
	return strings.Join(cells, " | ")
}

func csvHead(trials) string {
	return "group,nights,earlier_nights,planted,trials,different,worse,fail,undecided,pass"
}

func csvLine(s Setting, tallies []Tally) string {
	var lines []string
	for i, t := range tallies {
		lines = append(lines, fmt.Sprintf("%q,%q,%d,%q,%d,%d,%d,%d,%d,%d", s.Group, s.Name, s.Earlier,
			changes[i].Name, t.Trials, t.Changed, t.Worse,
			t.Fail, t.Undecided, t.Pass))
	}
	return strings.Join(lines, "\n")
}
