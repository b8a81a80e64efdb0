package selftest

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text writes the result in tables of at most 100 columns, and its conclusion.
func Text(w io.Writer, r *Result) error {
	m := r.Machine
	var b strings.Builder
	fmt.Fprintf(&b, "bench %s on %s, %d cores (GOMAXPROCS %d), %s, kernel %s\n", m.Bench, cmp.Or(m.CPU, "unknown CPU"), m.Cores, m.MaxProcs, m.OS, cmp.Or(m.Kernel, "unknown"))
	fmt.Fprintf(&b, "server: a separate process on this machine, first token after %g ms, then one every %g ms\n", r.TTFTMs, r.ITLMs)
	for _, t := range []table{receivingTable(r.Steps), sendingTable(r.Steps), costTable(r.Steps), basisTable(r.Steps)} {
		fmt.Fprintf(&b, "\n%s\n", t.title)
		t.write(&b)
	}
	b.WriteString("\n")
	for i := range r.Steps {
		if m := &r.Steps[i]; m.Why != "" {
			fmt.Fprintf(&b, "%s is inaccurate: %s\n", m.Name(), m.Why)
		}
	}
	b.WriteString(r.Conclusion())
	if others := r.maxOtherCores(); others > noteworthyShare*float64(m.Cores) {
		fmt.Fprintf(&b, "note: other processes used up to %s of the %d cores, which can lower the calibration\nhint: repeat the self-test on an idle machine\n", cores(others), m.Cores)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// noteworthyShare is the share of the cores used by other processes that causes a note.
const noteworthyShare = 0.1

// maxOtherCores is the maximum of the cores used by other processes in any step.
func (r *Result) maxOtherCores() float64 {
	most := 0.0
	for i := range r.Steps {
		if c := r.Steps[i].OtherCores; c != nil {
			most = max(most, *c)
		}
	}
	return most
}

// Conclusion is the calibration as text, for receiving and for sending.
func (r *Result) Conclusion() string {
	v := r.Calibration
	limit := fmt.Sprintf("%g ms", r.LimitUs/1e3)
	received := "calibrated up to " + v.Load.String()
	if v.Load == (Load{}) {
		received = "not calibrated: no step is accurate"
	}
	var onTime []string
	if v.OnTimePerS > 0 {
		onTime = append(onTime, grouped(v.OnTimePerS)+" requests/s")
	}
	if v.OnTimeTogether > 0 {
		onTime = append(onTime, grouped(float64(v.OnTimeTogether))+" at once")
	}
	sent := "no step is sent on time"
	if len(onTime) > 0 {
		sent = "sent on time up to " + strings.Join(onTime, ", ")
	}
	return fmt.Sprintf("%s (p99 error below %s)\n  %s\n", received, limit, firstFailures("streams", v.FirstInaccurate, "rates", v.FirstInaccurateRate)) +
		fmt.Sprintf("%s (p99 lag below %s)\n  %s\n", sent, limit, firstFailures("separate arrivals", v.LatePerS, "at once", v.LateTogether))
}

// firstFailures names the first steps above a limit.
func firstFailures(a, stepA, b, stepB string) string {
	return fmt.Sprintf("first step above the limit: %s %s, %s %s", a, cmp.Or(stepA, "none"), b, cmp.Or(stepB, "none"))
}

// String implements fmt.Stringer.
func (l Load) String() string {
	return fmt.Sprintf("%s streams, %s events/s, %s requests/s", grouped(float64(l.Streams)), grouped(l.EventsPerS), grouped(l.RequestsPerS))
}

// table has rows under headings of one or two lines.
type table struct {
	title string
	heads []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write aligns the first column left and the others right.
func (t *table) write(b *strings.Builder) {
	var above, below []string
	for _, h := range t.heads {
		a, under, two := strings.Cut(h, "\n")
		if !two {
			a, under = "", h
		}
		above, below = append(above, a), append(below, under)
	}
	lines := append([][]string{above, below}, t.rows...)
	widths := make([]int, len(t.heads))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				text.WriteString(cell + pad)
			} else {
				text.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

func receivingTable(steps []Measured) table {
	t := table{
		title: "receiving: timestamp error against the server's times, µs",
		heads: []string{"step", "streams", "events/s", "first\np50", "\np99", "\nmin", "\nmax", "gap\np50", "\np99", "\nmin", "\nmax"},
	}
	for i := range steps {
		m := &steps[i]
		cells := []string{m.Name(), grouped(float64(m.Load.Streams)), grouped(m.Load.EventsPerS)}
		for _, e := range []*Error{m.First, m.Gap} {
			if e == nil {
				cells = append(cells, "-", "-", "-", "-")
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
		title: "sending and reading, µs",
		heads: []string{"step", "requests/s", "lag\np50", "\np99", "\nmax", "arrival\np50", "\np99", "read lag\nmean", "\nmax", "on time"},
	}
	for i := range steps {
		m := &steps[i]
		t.add(m.Name(), grouped(m.Load.RequestsPerS), p50(m.Lag), p99(m.Lag), maxOf(m.Lag), p50(m.Arrival), p99(m.Arrival),
			optional(m.ReadLagMeanUs, micros), optional(m.ReadLagMaxUs, micros), yesNo(m.OnTime))
	}
	return t
}

func costTable(steps []Measured) table {
	t := table{
		title: "cost: CPU time of the client, and cores in use",
		heads: []string{"step", "µs\nper event", "cores\nclient", "\nserver", "\nothers"},
	}
	for i := range steps {
		m := &steps[i]
		t.add(m.Name(), optional(m.CPUUsPerEvent, micros), optional(m.CPUCores, cores), optional(m.ServerCores, cores), optional(m.OtherCores, cores))
	}
	return t
}

// basisTable has the counts behind the figures, and the server's own delays.
func basisTable(steps []Measured) table {
	t := table{
		title: "basis; server delays are not part of the errors (µs)",
		heads: []string{"step", "requests", "failed", "missing", "tries", "stamps", "late\np50", "\np99", "write\np50", "\np99", "accurate"},
	}
	for i := range steps {
		m := &steps[i]
		t.add(m.Name(), grouped(float64(m.Requests)), grouped(float64(m.Failed)), grouped(float64(m.Missing)), strconv.Itoa(m.Tries), cmp.Or(m.Stamps(), "-"),
			p50(m.ServerLate), p99(m.ServerLate), p50(m.TruthWidth), p99(m.TruthWidth), yesNo(m.Accurate))
	}
	return t
}

func p50(d *Delay) string { return delay(d, func(d *Delay) float64 { return d.P50Us }) }

func p99(d *Delay) string { return delay(d, func(d *Delay) float64 { return d.P99Us }) }

func maxOf(d *Delay) string { return delay(d, func(d *Delay) float64 { return d.MaxUs }) }

func delay(d *Delay, figure func(*Delay) float64) string {
	if d == nil {
		return "-"
	}
	return micros(figure(d))
}

func optional(x *float64, show func(float64) string) string {
	if x == nil {
		return "-"
	}
	return show(*x)
}

func cores(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// micros formats µs in at most six characters: 9.4, 412, 8,125, 12.5k, 350k.
func micros(us float64) string {
	switch size := math.Abs(us); {
	case size < 9.95:
		return strconv.FormatFloat(us, 'f', 1, 64)
	case size < 9999.5:
		return grouped(us)
	case size < 99_950:
		return strconv.FormatFloat(us/1e3, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(us/1e3, 'f', 0, 64) + "k"
}

// grouped formats an integer with thousands separators.
func grouped(x float64) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if x < 0 && text != "0" {
		text = "-" + text
	}
	return text
}

// Line is the result of a step in one line, for progress output.
func (m *Measured) Line() string {
	if m.Problem != "" {
		return m.Problem
	}
	text := "first token p50 " + micros(m.First.P50Us) + " p99 " + micros(m.First.P99Us)
	if m.Gap != nil {
		text += ", gap p50 " + micros(m.Gap.P50Us) + " p99 " + micros(m.Gap.P99Us)
	}
	if text += " µs"; m.Tries > 1 {
		text += " (second try)"
	}
	return text
}
