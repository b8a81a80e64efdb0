package published

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// table is a parsed file.
type table struct {
	sources map[string]Source
	figures []Figure
}

// parser reads a file line by line.
type parser struct {
	table
	group *Figure // what the lines of the present group share; nil = before the first group
	empty bool    // the group has no figure yet
	where string
}

// parse reads the format that figures.txt describes. Groups can name the sources of an earlier file; nil = there is
// none. Every error names its line.
func parse(r io.Reader, earlier map[string]Source) (table, error) {
	p := parser{table: table{sources: map[string]Source{}}}
	maps.Copy(p.sources, earlier)
	lines, n := bufio.NewScanner(r), 1
	for ; lines.Scan(); n++ {
		if err := p.line(strings.TrimSpace(lines.Text()), n); err != nil {
			return table{}, fmt.Errorf("published figures: line %d: %w", n, err)
		}
	}
	if err := cmp.Or(lines.Err(), p.ended()); err != nil {
		return table{}, fmt.Errorf("published figures: line %d: %w", n, err)
	}
	return p.table, nil
}

func (p *parser) line(text string, n int) error {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "" || text[0] == '#':
		return nil
	case word == "source":
		return p.source(rest)
	case word == "figures":
		if err := p.ended(); err != nil {
			return err
		}
		p.where = fmt.Sprintf("line %d", n)
		return p.header(rest)
	case p.group == nil:
		return fmt.Errorf("%.40q is before the first group", text)
	}
	return p.figure(strings.Fields(text))
}

// ended reports a group without figures.
func (p *parser) ended() error {
	if p.empty {
		return fmt.Errorf("the group of %s has no figure", p.where)
	}
	return nil
}

func (p *parser) source(text string) error {
	f, least := strings.Split(text, " | "), 0.
	if len(f) == 5 {
		value, _ := strings.CutPrefix(strings.TrimSpace(f[4]), "least_length=")
		var err error
		if least, err = positive(value); err != nil || least > 1 {
			return fmt.Errorf("%.40q is not like least_length=0.8", f[4])
		}
		f = f[:4]
	}
	if len(f) != 4 {
		return errors.New("a source has 4 fields, key | name | licence | what it is, or a fifth with least_length=0.8")
	}
	for i := range f {
		if f[i] = strings.TrimSpace(f[i]); f[i] == "" {
			return fmt.Errorf("field %d of the source is empty", i+1)
		}
	}
	if _, again := p.sources[f[0]]; again {
		return fmt.Errorf("source %q again", f[0])
	}
	p.sources[f[0]] = Source{Key: f[0], Name: f[1], License: f[2], About: f[3], LeastLength: least}
	return nil
}

var date = regexp.MustCompile(`^20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$`)

// header starts a group.
func (p *parser) header(text string) error {
	g := Figure{ExpertParallel: 1}
	texts := map[string]*string{"source": &g.Source, "model": &g.Model, "measured": &g.Measured, "precision": &g.Precision, "gpu": &g.GPU,
		"scenario": &g.Scenario, "submitter": &g.Submitter, "engine": &g.Engine, "version": &g.Version, "date": &g.Date}
	numbers := map[string]*int{"gpus": &g.GPUs, "expert_parallel": &g.ExpertParallel, "input": &g.Input, "output": &g.Output}
	seen := map[string]bool{}
	for _, field := range strings.Fields(text) {
		key, value, _ := strings.Cut(field, "=")
		if seen[key] {
			return fmt.Errorf("%s again", key)
		}
		seen[key] = true
		switch {
		case texts[key] != nil && value != "":
			*texts[key] = value
		case numbers[key] != nil:
			n, err := count(value)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			*numbers[key] = n
		default:
			return fmt.Errorf("%.40q is no key=value of a group", field)
		}
	}
	g.LeastLength = p.sources[g.Source].LeastLength
	p.group, p.empty = &g, true
	return p.check(g)
}

// check reports what a group lacks or contradicts.
func (p *parser) check(g Figure) error {
	for _, f := range []struct{ key, value string }{{"source", g.Source}, {"model", g.Model}, {"precision", g.Precision}, {"gpu", g.GPU}, {"engine", g.Engine}} {
		if f.value == "" {
			return fmt.Errorf("%s is missing", f.key)
		}
	}
	switch _, known := p.sources[g.Source]; {
	case !known:
		return fmt.Errorf("source %q has no source line", g.Source)
	case g.GPUs == 0:
		return errors.New("gpus is missing")
	case g.ExpertParallel > g.GPUs:
		return fmt.Errorf("expert_parallel is %d on %d GPUs", g.ExpertParallel, g.GPUs)
	case (g.Input == 0) != (g.Output == 0) || (g.Input == 0) == (g.Scenario == ""):
		return errors.New("a group has either input and output or scenario")
	case g.Date != "" && !date.MatchString(g.Date):
		return fmt.Errorf("date is %.40q, not like 2026-03-25 or 2026-03", g.Date)
	}
	return nil
}

// figure adds one line of the present group.
func (p *parser) figure(f []string) error {
	x := *p.group
	var err error
	switch {
	case len(f) == 2 && f[0] == "max" && x.Input > 0:
		x.OutputPerGPU, err = positive(f[1])
	case len(f) == 2 && f[0] == "total" && x.Scenario != "":
		x.OutputPerGPU, err = positive(f[1])
		x.OutputPerGPU /= float64(x.GPUs)
	case len(f) == 3 && x.Input > 0:
		var errs [3]error
		x.Concurrency, errs[0] = count(f[0])
		x.TTFTMs, errs[1] = positive(f[1])
		x.TPOTMs, errs[2] = positive(f[2])
		err = cmp.Or(errs[0], errs[1], errs[2])
	case x.Scenario != "":
		return errors.New(`a figure of a scenario is "total TOKENS_PER_S"`)
	default:
		return errors.New(`a figure is "CONCURRENCY TTFT_MS TPOT_MS" or "max TOKENS_PER_S"`)
	}
	p.figures, p.empty = append(p.figures, x), false
	return err
}

// mostCount bounds counts, to find slips.
const mostCount = 10_000_000

func count(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > mostCount {
		return 0, fmt.Errorf("%.40q is no number from 1 to %d", s, mostCount)
	}
	return n, nil
}

func positive(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%.40q is no number above 0", s)
	}
	return x, nil
}
