package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// tally counts over the histories of a setting.
type tally struct {
	histories, nights        int
	quiet                    int // nights: see calendar
	atOnce, soon             int // histories whose regression raised its first alarm at once, within three nights
	late, missed             int // later, never
	again                    int // further alarms while it lasts
	falseAlarms              int // nights with an alarm and without a regression
	wrongPoint               int // histories whose first alarm names a point or figure that is no slower
	undecided, undecidedElse int // quiet nights, others without the regression
	// histories: failed row named and exit 1; new base and exit 0; noisy night without an alarm
	failed, newBase, quietly int
	remarks                  []string
}

// add counts one history.
func (t *tally) add(s *setting, seed uint64, nights []outcome) {
	t.histories++
	first := 0
	for i := range nights {
		o := &nights[i]
		slowed := s.slows(o.Night)
		alarm := o.Exit == 3 || len(o.Alarms) > 0
		if !slowed {
			quiet := s.quiet(o.Night)
			t.nights, t.quiet = t.nights+1, t.quiet+count(quiet)
			t.undecided += count(o.Verdict == "UNDECIDED" && quiet)
			t.undecidedElse += count(o.Verdict == "UNDECIDED" && !quiet)
			alarm = alarm && o.Night != s.odd
			t.falseAlarms += count(alarm)
			if alarm {
				t.remark("%s, seed %d: false alarm in night %d: %s", s.Name, seed, o.Night,
					strings.Join(o.Alarms, ", "))
			}
			continue
		}
		if alarm && first > 0 {
			t.again++
			t.remark("%s, seed %d: again in night %d: %s", s.Name, seed, o.Night,
				strings.Join(o.Alarms, ", "))
		}
		if alarm && first == 0 {
			first = o.Night
			if wrong := s.wrong(o.Alarms); wrong != "" {
				t.wrongPoint++
				t.remark("%s, seed %d: night %d names %s", s.Name, seed, o.Night, wrong)
			}
		}
	}
	switch {
	case s.slow == 0:
	case first == s.slow:
		t.atOnce++
	case first > 0 && first < s.slow+3:
		t.soon++
	case first > 0:
		t.late++
		t.remark("%s, seed %d: found in night %d", s.Name, seed, first)
	case len(nights) >= s.slow:
		t.missed++
		t.remark("%s, seed %d: missed", s.Name, seed)
	}
	t.events(s, nights)
}

// events counts the nights on which something else happens.
func (t *tally) events(s *setting, nights []outcome) {
	is := func(n int, ok func(*outcome) bool) int {
		return count(n > 0 && n <= len(nights) && ok(&nights[n-1]))
	}
	t.failed += is(s.failed, func(o *outcome) bool {
		return o.Exit == 1 &&
			strings.Contains(o.Printed, "chat-r2") && o.Verdict != ""
	})
	t.newBase += is(s.newServer, func(o *outcome) bool {
		return o.Exit == 0 &&
			strings.Contains(strings.ToLower(o.Printed), "new base")
	})
	t.quietly += is(s.noisy, func(o *outcome) bool { return o.Exit == 0 })
}

func (t *tally) remark(format string, args ...any) {
	t.remarks = append(t.remarks, fmt.Sprintf(format, args...))
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// wrong is an alarm that names what the regression does not slow; empty: all are right. With no name, that is
// wrong.
func (s *setting) wrong(alarms []string) string {
	if len(alarms) == 0 {
		return "no point"
	}
	for _, a := range alarms {
		point, figure, _ := strings.Cut(a, " ")
		point, _, _ = strings.Cut(point, ",")
		if !s.slowed(point) || !slices.Contains([]string{"tpot_p50", "e2e_p50"}, figure) {
			return a
		}
	}
	return ""
}

// table writes the counts of all settings as Markdown.
func table(w io.Writer, names []*setting, tallies []*tally) {
	fmt.Fprintln(w,
		"setting | histories | at once | within three | later | missed | again | false alarms | wrong name | "+
			"UNDECIDED, quiet | UNDECIDED, others | failed row | new base | noisy night")
	fmt.Fprintln(w, "---|---|---|---|---|---|---|---|---|---|---|---|---|---")
	for i, t := range tallies {
		fmt.Fprintf(w, "%s | %d | %d | %d | %d | %d | %d | %d | %d | %.1f %% | %.1f %% | %d | %d | %d\n",
			names[i].About, t.histories, t.atOnce, t.soon, t.late, t.missed, t.again,
			t.falseAlarms, t.wrongPoint, percent(t.undecided, t.quiet),
			percent(t.undecidedElse, t.nights-t.quiet), t.failed, t.newBase, t.quietly)
	}
	for _, t := range tallies {
		for _, r := range t.remarks {
			fmt.Fprintln(w, "- "+r)
		}
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }
