package selftest

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bench/experiment/text"
	"bench/experiment/unit"
)

// Text writes the conclusion of a result and a line for each step, in width columns: 80 suffice. JSON has every figure.
func Text(w io.Writer, r *Result, width int) error {
	var b strings.Builder
	b.WriteString(r.conclusion())
	m := r.Machine
	if others := r.maxOtherCores(); others > noteworthyShare*float64(m.Cores) {
		fmt.Fprintf(&b, "note: other processes used up to %s of %d cores: repeat on an idle machine\n",
			strconv.FormatFloat(others, 'f', 2, 64), m.Cores)
	}
	b.WriteString("\n")
	b.WriteString(stepTable(r.Steps, width) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

const noteworthyShare = 0.1

func (r *Result) maxOtherCores() float64 {
	most := 0.0
	for i := range r.Steps {
		if c := r.Steps[i].OtherCores; c != nil {
			most = max(most, *c)
		}
	}
	return most
}

func (r *Result) conclusion() string {
	v := r.Calibration
	received := "calibrated up to " + v.Load.String()
	if v.Load == (Load{}) {
		received = "not calibrated: no step is accurate"
	}
	var onTime []string
	if v.OnTimePerS > 0 {
		onTime = append(onTime, count(v.OnTimePerS)+" requests/s")
	}
	if v.OnTimeTogether > 0 {
		onTime = append(onTime, unit.Count(v.OnTimeTogether)+" at once")
	}
	sent := "sent on time: in no step"
	if len(onTime) > 0 {
		sent = "sent on time up to " + strings.Join(onTime, ", ")
	}
	limit := " (limit " + micros(r.LimitUs) + ")"
	inaccurate := func(m *Measured) string {
		if m.worst() >= r.LimitUs {
			return m.Why + limit
		}
		return m.Why
	}
	late := func(m *Measured) string { return "lag p99 " + p99(m.Lag) + limit }
	return received + "\n" + r.limits(inaccurate, v.FirstInaccurate, v.FirstInaccurateRate) +
		sent + "\n" + r.limits(late, v.LatePerS, v.LateTogether)
}

// limits are the lines of the first steps above the limit, with the reason; none for empty names.
func (r *Result) limits(why func(*Measured) string, names ...string) string {
	text := ""
	for i := range r.Steps {
		m := &r.Steps[i]
		for _, name := range names {
			if m.Name() == name {
				text += "  limited by " + name + ": " + why(m) + "\n"
			}
		}
	}
	return text
}

func (l Load) String() string {
	return fmt.Sprintf("%s, %s events/s, %s requests/s", unit.Plural(l.Streams, "stream"), count(l.EventsPerS),
		count(l.RequestsPerS))
}

func stepTable(steps []Measured, width int) string {
	t := [][]string{{"step", "streams", "events/s", "req/s", "first p99", "gap p99", "lag p99", "verdict"}}
	for i := range steps {
		m := &steps[i]
		t = append(t, []string{m.Name(), unit.Count(m.Load.Streams), count(m.Load.EventsPerS),
			count(m.Load.RequestsPerS),
			errorP99(m.First), errorP99(m.Gap), p99(m.Lag), m.verdict()})
	}
	return text.Table(t, width, 1, 2, 3, 4, 5, 6)
}

func (m *Measured) verdict() string {
	switch {
	case m.Problem != "":
		return "failed"
	case !m.Accurate:
		return "inaccurate"
	case !m.OnTime:
		return "late"
	}
	return "calibrated"
}

func errorP99(e *Error) string {
	if e == nil {
		return "–"
	}
	return micros(e.P99Us)
}

func p99(d *Delay) string {
	if d == nil {
		return "–"
	}
	return micros(d.P99Us)
}

func micros(us float64) string { return unit.Format(us/1e3, "ms") }

func count(x float64) string { return unit.Count(int(math.Round(x))) }

func (m *Measured) Line() string {
	if m.Problem != "" {
		return m.Problem
	}
	text := "p99 of errors: first token " + micros(m.First.P99Us)
	if m.Gap != nil {
		text += ", gap " + micros(m.Gap.P99Us)
	}
	if m.Tries > 1 {
		text += " (second try)"
	}
	return text
}
