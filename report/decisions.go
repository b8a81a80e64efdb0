package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/tune"
)

const SchemaDecisions = "bench/decisions/v1"

// Decisions are what runs say of settings of servers: those that were rejected, too, with their evidence.
type Decisions struct {
	Schema    string     `json:"schema"`
	Decisions []Decision `json:"decisions"` // by the start of their runs
}

type Decision struct {
	Run     string    `json:"run"` // directory
	Started time.Time `json:"started_at"`
	Matrix  string    `json:"matrix"`
	Row     string    `json:"row"`
	Setting string    `json:"setting"`
	Outcome string    `json:"outcome"` // accepted, rejected, open
	// Evidence is the estimate with its interval, and its ratio over the first setting; empty: it has none.
	Evidence string `json:"evidence,omitempty"`
	Reason   string `json:"reason"`
}

const (
	accepted = "accepted"
	rejected = "rejected"
	open     = "open"
)

// Add adds the decisions of a run: of its race, or of its comparison of settings.
func (d *Decisions) Add(dir string, r *Run) {
	o := r.Analyze()
	of := Decision{Run: dir, Started: r.Manifest.StartedAt, Matrix: r.Manifest.Matrix}
	if t := o.Answer.Tune; t != nil {
		if len(r.Rows) > 0 { // else no setting of it runs
			of.Row = r.Rows[0].Spec.Name
		}
		for i := range t.Settings {
			d.tuned(of, t, &t.Settings[i])
		}
	}
	for i := range o.Answer.Settings {
		if g := &o.Answer.Settings[i]; g.OfServer {
			for j := range g.Settings {
				d.compared(of, g, &g.Settings[j])
			}
		}
	}
}

func (d *Decisions) tuned(of Decision, t *diagnosis.Tuned, s *record.TunedSetting) {
	of.Setting, of.Outcome, of.Reason = s.Variant, rejected, s.Reason
	if s.Estimate != nil {
		of.Evidence = t.Value(*s.Estimate) + " " + t.Ends(s.Interval)
		if s.AtMax {
			of.Evidence = t.Value(*s.Estimate) + " or above"
		} else if base := &t.Settings[0]; base.Estimate != nil && !base.AtMax && s.Variant != t.Default {
			of.Evidence += fmt.Sprintf(" = %.2f × default", *s.Estimate / *base.Estimate)
		}
	}
	switch {
	case s.State == tune.NotRun:
		return
	case s.Variant == t.Best:
		of.Evidence, of.Reason = t.Text, t.Certificate
		if of.Outcome = open; t.Ships {
			of.Outcome = accepted
		}
	case of.Reason == "" && tied(t, s):
		of.Outcome, of.Reason = open, "not told from "+t.Name(t.Best)+": the intervals overlap"
	case of.Reason == "":
		of.Reason = "not better than " + t.Name(t.Best)
	}
	if s.Bound != nil {
		of.Evidence = map[bool]string{true: "less than ", false: "more than "}[t.MoreIsBetter()] + t.Value(*s.Bound)
	}
	d.Decisions = append(d.Decisions, of)
}

// tied reports whether a setting was measured, and is as good as the best one as far as their intervals tell.
func tied(t *diagnosis.Tuned, s *record.TunedSetting) bool {
	best := slices.IndexFunc(t.Settings, func(x record.TunedSetting) bool { return x.Variant == t.Best })
	if best < 0 || s.Interval == nil || s.Bound != nil || t.Settings[best].Interval == nil {
		return false
	}
	a, b := s.Interval, t.Settings[best].Interval
	return a.Lo <= b.Hi && b.Lo <= a.Hi
}

func (d *Decisions) compared(of Decision, g *diagnosis.Settings, x *diagnosis.Setting) {
	of.Row, of.Setting, of.Evidence, of.Outcome, of.Reason = g.Name, x.Name, x.Text, open, g.Text
	worse := func(c diagnosis.Change) bool { return c.Result == diagnosis.Worse }
	switch {
	case x.Name == g.Best:
		of.Outcome = accepted
	case x.BeatenBy != "" || g.Best != "":
		of.Outcome, of.Reason = rejected, cmp.Or(x.BeatenBy, g.Best)+" is better"
	case slices.ContainsFunc(x.Changes, worse):
		of.Reason = "worse than " + g.First + " in something"
	}
	d.Decisions = append(d.Decisions, of)
}

// DecisionsText has one table.
func DecisionsText(w io.Writer, d *Decisions, screen Screen) error {
	t := newTable("decisions", "", "run", "row", "setting", "outcome", "evidence", "why")
	for _, x := range d.Decisions {
		kind := map[string]Kind{accepted: Passed, open: Faint}[x.Outcome]
		t.Add(TextCell(x.Run), TextCell(x.Row), TextCell(x.Setting), Cell{Text: x.Outcome, Kind: kind},
			TextCell(strings.TrimPrefix(x.Evidence, x.Setting+": ")), TextCell(x.Reason))
	}
	if len(t.Rows) == 0 {
		_, err := io.WriteString(w, "no run compares settings of a server\n")
		return err
	}
	return WriteTable(w, t, screen)
}
