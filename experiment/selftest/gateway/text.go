package gateway

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"bench/experiment/columns"
	"bench/experiment/selftest"
	"bench/experiment/unit"
)

// Text writes the verdict on each gateway at each request rate, and a line for each path of each step, in width
// columns: 80 suffice. With verbose, tables of all intervals and costs follow, which need 100.
func Text(w io.Writer, r *Result, width int, verbose bool) error {
	var b strings.Builder
	b.WriteString(r.Conclusion())
	for _, caution := range r.cautions() {
		b.WriteString(strings.Join(columns.Wrap("caution:", caution, "  ", width-1), "\n") + "\n")
	}
	b.WriteString("\n" + r.stepTable(width) + "\n")
	if verbose {
		m := r.Machine
		fmt.Fprintf(&b, "\nbench %s on %s, %d cores (GOMAXPROCS %d), %s, kernel %s\n", m.Bench, cmp.Or(m.CPU, "unknown CPU"), m.Cores, m.MaxProcs, m.OS, cmp.Or(m.Kernel, "unknown"))
		fmt.Fprintf(&b, "server: a separate process on this machine, first token after %g ms, then one every %g ms\n", r.TTFTMs, r.ITLMs)
		b.WriteString("\nadded, with 95 % intervals\n" + r.addedTable(width) + "\n")
		b.WriteString("\ncost and basis, medians of the rounds\n" + r.costTable(width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Conclusion is the verdict on each gateway at each request rate, or at each load if there is no rate.
func (r *Result) Conclusion() string {
	text := ""
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Kind != selftest.Rate && r.hasRates() {
			continue
		}
		text += fmt.Sprintf("added to TTFT p99 at %s (limit %s)\n", s.load(), micros(r.LimitUs))
		var rows [][]string
		for k := range s.Paths {
			if k > 0 {
				rows = append(rows, append([]string{" "}, s.Paths[k].conclusion(r.LimitUs)...))
			}
		}
		text += columns.Table(rows, 80, 2) + "\n"
	}
	return text
}

func (r *Result) hasRates() bool {
	for i := range r.Steps {
		if r.Steps[i].Kind == selftest.Rate {
			return true
		}
	}
	return false
}

// load is the step as text: 1,000 requests/s, or 100 streams.
func (s *Step) load() string {
	if s.Kind == selftest.Rate {
		return unit.Brief(s.Size, 6) + " requests/s"
	}
	return unit.Plural(int(s.Size), "stream")
}

// conclusion is the name, the added p99 of TTFT, its interval and the verdict.
func (p *Path) conclusion(limitUs float64) []string {
	if p.Added == nil || p.Added.TTFT == nil {
		return []string{p.Name, "–", "", cmp.Or(p.Problem, "not measured")}
	}
	d := p.Added.TTFT.P99
	verdict := p.Verdict(limitUs)
	if verdict == Undecided {
		verdict += " (add --rounds)"
	}
	return []string{p.Name, signed(d.Us), interval(d), verdict}
}

// cautions are the reasons for which times can be too large, by step.
func (r *Result) cautions() []string {
	const busy, noteworthy = 0.9, 0.1 // shares of the cores
	var out []string
	for i := range r.Steps {
		s := &r.Steps[i]
		used, others, lag := 0.0, 0.0, 0.0
		for k := range s.Paths {
			p := &s.Paths[k]
			used = max(used, p.cores())
			if own, _ := p.median(gatewayCores); k == 0 || own > 0 { // else the gateway is among the others
				other, _ := p.median(otherCores)
				others = max(others, other)
			}
			if x, ok := p.median(func(r *Round) *float64 { return p99(r.Lag) }); ok {
				lag = max(lag, x)
			}
		}
		all := float64(r.Machine.Cores)
		if used > busy*all {
			out = append(out, fmt.Sprintf("at %s up to %s of %d cores were busy: added times contain waits for a core", s.load(), cores(used), r.Machine.Cores))
		}
		if others > noteworthy*all {
			out = append(out, fmt.Sprintf("at %s other processes used up to %s of %d cores: repeat on an idle machine", s.load(), cores(others), r.Machine.Cores))
		}
		if lag >= selftest.LimitUs {
			out = append(out, fmt.Sprintf("at %s the client sent up to %s late (p99)", s.load(), micros(lag)))
		}
	}
	return out
}

// cores are all cores in use on the path.
func (p *Path) cores() float64 {
	sum := 0.0
	for _, of := range coreFigures {
		x, _ := p.median(of)
		sum += x
	}
	return sum
}

// coreFigures are the cores of the client, the server, the gateway and other processes.
var coreFigures = []func(*Round) *float64{
	func(r *Round) *float64 { return r.ClientCores },
	func(r *Round) *float64 { return r.ServerCores },
	gatewayCores, otherCores,
}

func gatewayCores(r *Round) *float64 { return r.GatewayCores }

func otherCores(r *Round) *float64 { return r.OtherCores }

// stepTable has direct times, and what each gateway adds to them.
func (r *Result) stepTable(width int) string {
	rows := [][]string{{"", "TTFT p50", "TTFT p99", "E2E p99", "gap p99", "CPU/req"}}
	r.each(func(name string, direct bool, p *Path) {
		rows = append(rows, append(append([]string{name}, p.figures(direct)...), p.cpu()))
	})
	return columns.Table(rows, width, 1, 2, 3, 4, 5)
}

// each calls row with every path of every step; the name of a gateway is indented below its step's.
func (r *Result) each(row func(name string, direct bool, p *Path)) {
	for i := range r.Steps {
		s := &r.Steps[i]
		for k := range s.Paths {
			p := &s.Paths[k]
			if k == 0 {
				row(s.Name()+" "+p.Name, true, p)
				continue
			}
			row("  "+p.Name, false, p)
		}
	}
}

// figures are TTFT p50 and p99, E2E p99 and gap p99.
func (p *Path) figures(direct bool) []string {
	switch a := p.Added; {
	case direct:
		return []string{
			p.optional(func(r *Round) *float64 { return p50(r.TTFT) }, micros),
			p.optional(func(r *Round) *float64 { return p99(r.TTFT) }, micros),
			p.optional(func(r *Round) *float64 { return p99(r.E2E) }, micros),
			p.optional(func(r *Round) *float64 { return p99(r.Gap) }, micros),
		}
	case a == nil:
		return []string{"–", "–", "–", "–"}
	default:
		return []string{added(a.TTFT, false), added(a.TTFT, true), added(a.E2E, true), added(a.Gap, true)}
	}
}

// addedTable has every added time with its interval.
func (r *Result) addedTable(width int) string {
	rows := [][]string{{"", "time", "p50", "95 % CI", "p99", "95 % CI"}}
	r.each(func(path string, direct bool, p *Path) {
		if direct {
			rows = append(rows, []string{path})
		}
		if p.Added == nil {
			return
		}
		for _, f := range []struct {
			name string
			*Figures
		}{{"TTFT", p.Added.TTFT}, {"transit", p.Added.Transit}, {"E2E", p.Added.E2E}, {"gap", p.Added.Gap}} {
			if f.Figures != nil {
				rows = append(rows, []string{path, f.name, signed(f.P50.Us), interval(f.P50), signed(f.P99.Us), interval(f.P99)})
				path = ""
			}
		}
	})
	return columns.Table(rows, width, 2, 3, 4, 5)
}

// costTable has the cores in use, and the counts behind the figures.
func (r *Result) costTable(width int) string {
	rows := [][]string{{"", "client cores", "server", "gateway", "others", "lag p99", "rounds", "requests", "failed"}}
	r.each(func(path string, _ bool, p *Path) {
		cells := []string{path}
		for _, of := range coreFigures {
			cells = append(cells, p.optional(of, cores))
		}
		requests, failed := 0, 0
		for n := range p.Rounds {
			requests, failed = requests+p.Rounds[n].Requests, failed+p.Rounds[n].Failed
		}
		rows = append(rows, append(cells, p.optional(func(r *Round) *float64 { return p99(r.Lag) }, micros),
			strconv.Itoa(len(p.Rounds)), unit.Count(requests), unit.Count(failed)))
	})
	return columns.Table(rows, width, 1, 2, 3, 4, 5, 6, 7, 8)
}

func (p *Path) optional(of func(*Round) *float64, show func(float64) string) string {
	if x, ok := p.median(of); ok {
		return show(x)
	}
	return "–"
}

func (p *Path) cpu() string {
	return p.optional(func(r *Round) *float64 { return r.CPUUsPerRequest }, micros)
}

func p50(d *selftest.Delay) *float64 {
	if d == nil {
		return nil
	}
	return &d.P50Us
}

func p99(d *selftest.Delay) *float64 {
	if d == nil {
		return nil
	}
	return &d.P99Us
}

// added is the difference of p50 or p99.
func added(f *Figures, tail bool) string {
	switch {
	case f == nil:
		return "–"
	case tail:
		return signed(f.P99.Us)
	}
	return signed(f.P50.Us)
}

func interval(d Difference) string {
	if math.IsInf(d.CI95.Lo, 0) || math.IsInf(d.CI95.Hi, 0) {
		return "no interval"
	}
	return signed(d.CI95.Lo) + " to " + signed(d.CI95.Hi)
}

// signed formats a difference in µs with its sign.
func signed(us float64) string {
	switch {
	case us < 0:
		return "−" + micros(-us)
	case us == 0:
		return "0"
	}
	return "+" + micros(us)
}

// micros formats µs in the unit that fits.
func micros(us float64) string { return unit.Format(us/1e3, "ms") }

func cores(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
