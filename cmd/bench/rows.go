package main

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/text"
	"bench/sweep"
)

// pickRows returns the points that match a pattern of --only; all points without a pattern. A pattern that
// matches no row is an error, whatever the others match: the row that was meant would not run.
func pickRows(m *sweep.Matrix, only []string) ([]experiment.Spec, error) {
	var picked []experiment.Spec
	unmatched := slices.Clone(only)
	for i := range m.Points {
		s := &m.Points[i]
		some := len(only) == 0
		for _, pattern := range only {
			ok, err := sweep.Match(s, []string{pattern})
			if err != nil {
				return nil, usage("--only: %w", err)
			}
			if ok {
				some = true
				unmatched = slices.DeleteFunc(unmatched, func(u string) bool { return u == pattern })
			}
		}
		if some {
			picked = append(picked, *s)
		}
	}
	if len(unmatched) > 0 {
		return nil, noMatch(m, unmatched)
	}
	return picked, nil
}

func noMatch(m *sweep.Matrix, only []string) error {
	var names []string
	for i := range m.Points {
		if name := m.Points[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	hint := "the rows are " + strings.Join(names, ", ")
	for _, pattern := range only {
		if near, ok := text.Nearest(pattern, names); ok {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
	}
	return usage("no row matches --only %s\nhint: %s", text.ShellWords(only), hint)
}

// enforceable refuses --enforce if no picked row has anything to enforce: it would exit 0 whatever is measured.
func (f *sweepFlags) enforceable(m *sweep.Matrix, picked []experiment.Spec) error {
	if !f.enforce || slices.ContainsFunc(picked, func(s experiment.Spec) bool { return decides(&s) }) {
		return nil
	}
	return usage("--enforce: no row has an SLO or a search\nhint: write [slo] with ttft_p95 = \"1s\" in %s", m.File)
}

func decides(s *experiment.Spec) bool { return s.HasLimits() || s.Search != nil }
