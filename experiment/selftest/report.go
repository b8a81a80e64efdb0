package selftest

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bench/experiment/columns"
	"bench/experiment/unit"
)

// Text writes the conclusion of a result and a line for each step, in width columns: 80 suffice. With verbose,
// tables of every figure follow, which need 100.
func Text(w io.Writer, r *Result, width int, verbose bool) error {
	var b strings.Builder
	b.WriteString(r.Conclusion())
	m := r.Machine
	if others := r.maxOtherCores(); others > noteworthyShare*float64(m.Cores) {
		fmt.Fprintf(&b, "note: other processes used up to %s of %d cores: repeat on an idle machine\n", cores(others), m.Cores)
	}
	b.WriteString("\n")
	stepTable(r.Steps).write(&b, width)
	if verbose {
		fmt.Fprintf(&b, "\nbench %s on %s, %d cores (GOMAXPROCS %d), %s, kernel %s\n", m.Bench, cmp.Or(m.CPU, "unknown CPU"), m.Cores, m.MaxProcs, m.OS, cmp.Or(m.Kernel, "unknown"))
		fmt.Fprintf(&b, "server: a separate process on this machine, first token after %g ms, then one every %g ms\n", r.TTFTMs, r.ITLMs)
		for _, t := range []table{receivingTable(r.Steps), sendingTable(r.Steps), costTable(r.Steps), basisTable(r.Steps)} {
			fmt.Fprintf(&b, "\n%s\n", t.title)
			t.write(&b, width)
		}
	}
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

func (r *Result) Conclusion() string {
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
	return fmt.Sprintf("%s, %s events/s, %s requests/s", unit.Plural(l.Streams, "stream"), count(l.EventsPerS), count(l.RequestsPerS))
}

type table struct {
	title string
	heads []string
	rows  [][]string
	notes bool // the last column is text
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t table) write(b *strings.Builder, width int) {
	var right []int
	for i := 1; i < len(t.heads); i++ {
		if !t.notes || i < len(t.heads)-1 {
			right = append(right, i)
		}
	}
	over, under := make([]string, len(t.heads)), make([]string, len(t.heads))
	for i, head := range t.heads {
		var two bool
		if over[i], under[i], two = strings.Cut(head, "\n"); !two {
			over[i], under[i] = "", head
		}
	}
	rows := append([][]string{over, under}, t.rows...)
	if strings.Join(over, "") == "" {
		rows = rows[1:]
	}
	b.WriteString(columns.Table(rows, width, right...) + "\n")
}

func stepTable(steps []Measured) table {
	t := table{heads: []string{"step", "streams", "events/s", "req/s", "first p99", "gap p99", "lag p99", "verdict"}, notes: true}
	for i := range steps {
		m := &steps[i]
		t.add(m.Name(), unit.Count(m.Load.Streams), count(m.Load.EventsPerS), count(m.Load.RequestsPerS), errorP99(m.First), errorP99(m.Gap), p99(m.Lag), m.verdict())
	}
	return t
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

func receivingTable(steps []Measured) table {
	t := table{
		title: "receiving: timestamp error against the server's times",
		heads: []string{"\nstep", "first\np50", "\np99", "\nmin", "\nmax", "gap\np50", "\np99", "\nmin", "\nmax"},
	}
	for i := range steps {
		m := &steps[i]
		cells := []string{m.Name()}
		for _, e := range []*Error{m.First, m.Gap} {
			if e == nil {
				cells = append(cells, "–", "–", "–", "–")
				continue
			}
			cells = append(cells, micros(e.P50Us), micros(e.P99Us), micros(e.MinUs), micros(e.MaxUs))
		}
		t.add(cells...)
	}
	return t
}

func sendingTable(steps []Measured) table {
	t := table{
		title: "sending and reading",
		heads: []string{"\nstep", "lag\np50", "\np99", "\nmax", "arrival\np50", "\np99", "read lag\nmean", "\nmax"},
	}
	for i := range steps {
		m := &steps[i]
		t.add(m.Name(), p50(m.Lag), p99(m.Lag), maxOf(m.Lag), p50(m.Arrival), p99(m.Arrival),
			optional(m.ReadLagMeanUs, micros), optional(m.ReadLagMaxUs, micros))
	}
	return t
}

func costTable(steps []Measured) table {
	t := table{
		title: "cost: CPU time of the client, and cores in use",
		heads: []string{"\nstep", "CPU time\nper event", "cores\nclient", "\nserver", "\nothers"},
	}
	for i := range steps {
		m := &steps[i]
		t.add(m.Name(), optional(m.CPUUsPerEvent, micros), optional(m.CPUCores, cores), optional(m.ServerCores, cores), optional(m.OtherCores, cores))
	}
	return t
}

func basisTable(steps []Measured) table {
	t := table{
		title: "basis; server delays are not part of the errors",
		heads: []string{"\nstep", "\nrequests", "\nfailed", "\nmissing", "\ntries", "\nstamps", "late\np50", "\np99", "write\np50", "\np99"},
	}
	for i := range steps {
		m := &steps[i]
		t.add(m.Name(), unit.Count(m.Requests), unit.Count(m.Failed), unit.Count(m.Missing), strconv.Itoa(m.Tries), cmp.Or(m.Stamps(), "–"),
			p50(m.ServerLate), p99(m.ServerLate), p50(m.TruthWidth), p99(m.TruthWidth))
	}
	return t
}

func errorP99(e *Error) string {
	if e == nil {
		return "–"
	}
	return micros(e.P99Us)
}

func p50(d *Delay) string { return delay(d, func(d *Delay) float64 { return d.P50Us }) }

func p99(d *Delay) string { return delay(d, func(d *Delay) float64 { return d.P99Us }) }

func maxOf(d *Delay) string { return delay(d, func(d *Delay) float64 { return d.MaxUs }) }

func delay(d *Delay, figure func(*Delay) float64) string {
	if d == nil {
		return "–"
	}
	return micros(figure(d))
}

func optional(x *float64, show func(float64) string) string {
	if x == nil {
		return "–"
	}
	return show(*x)
}

func cores(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

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
