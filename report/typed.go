package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"bench/experiment/diagnosis"
)

// hasNoFile reports whether bench URL ran: its matrix is one of bench's own, and a user changes it by flags.
func (r *Run) hasNoFile() bool {
	m := &r.Manifest
	return m.MatrixFile == "quick.toml" && !slices.Contains(m.Command, m.MatrixFile)
}

// typeNext makes flags of bench URL of the keys of a matrix that a run without a file has no place for.
func (r *Run) typeNext(a *diagnosis.Answer) {
	if !r.hasNoFile() {
		return
	}
	for i := range a.Workloads {
		if next := a.Workloads[i].Next; next != nil {
			next.Text, next.TOML = r.asFlags(next), ""
		}
	}
}

// asFlags: the windows of a search are its own, so more requests are a longer search.
func (r *Run) asFlags(next *diagnosis.NextSweep) string {
	if i := slices.Index([]string{"duration", "requests", "budget"}, next.Variable); i >= 0 {
		for _, row := range r.Rows {
			if s := row.Spec.Search; s != nil && s.Budget > 0 {
				longer := math.Ceil(2.5 * time.Duration(s.Budget).Minutes())
				for _, f := range r.Manifest.Searches {
					longer = max(longer, math.Ceil(f.ConfirmS/60)) // what a verdict at its lower end takes
				}
				return fmt.Sprintf("a longer search: --budget %.0fm", longer)
			}
		}
	}
	keys := regexp.MustCompile(`\b(duration|requests|budget|rate|concurrency) = (?:"([^"]*)"|\[([^\]]*)\]|([0-9.]+))`)
	text := strings.ReplaceAll(next.Text, "raise budget of the search", "raise --budget")
	text = keys.ReplaceAllStringFunc(text, func(line string) string {
		m := keys.FindStringSubmatch(line)
		return "--" + m[1] + " " + strings.ReplaceAll(m[2]+m[3]+m[4], " ", "")
	})
	return strings.ReplaceAll(text, ", --", " --")
}
