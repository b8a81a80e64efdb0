package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"bench/experiment/record"
	"bench/experiment/text"
	"bench/report"
	"bench/report/export"
	"bench/report/foreign"
	"bench/sweep"
)

// output is where a command writes its document: --format, else the ending of the name of -o, and -o.
type output struct{ format, file string }

var textOrJSON = []string{"text", "json"}

func (o *output) register(fl *pflag.FlagSet, otherwise string, formats ...string) {
	formatFlag(fl, &o.format, formats)
	fl.StringVarP(&o.file, "output", "o", "",
		strings.TrimSpace("`FILE` to write, its ending sets the format; - for stdout "+otherwise))
}

func formatFlag(fl *pflag.FlagSet, into *string, formats []string) {
	*into = formats[0]
	fl.Var(choice{into, "format", formats}, "format", strings.Join(formats, ", "))
}

// formatByName sets the format that the ending of -o asks for, unless --format does.
func formatByName(fl *pflag.FlagSet) error {
	file, format := fl.Lookup("output"), fl.Lookup("format")
	if file == nil || file.Shorthand != "o" || format == nil || format.Changed {
		return nil
	}
	known := format.Value.(choice).known
	switch end := strings.TrimPrefix(filepath.Ext(file.Value.String()), "."); {
	case end == "txt":
		return fl.Set("format", "text")
	case slices.Contains(known, end):
		return fl.Set("format", end)
	case end != "":
		return usage("-o %s: no format has this ending: use .txt, .%s, or --format", file.Value,
			strings.Join(known, ", ."))
	}
	return nil
}

// choice is a flag that has one of some values.
type choice struct {
	into  *string
	what  string
	known []string
}

func (x choice) Set(value string) error {
	if !slices.Contains(x.known, value) {
		return fmt.Errorf("unknown %s %q\nhint: use %s", x.what, value, strings.Join(x.known, ", "))
	}
	*x.into = value
	return nil
}

func (x choice) String() string { return *x.into }

func (x choice) Type() string { return "string" }

// screenFor is the screen of a document: that of stdout, and none of a file.
func (c *cli) screenFor(file string) report.Screen {
	if file != "" {
		return report.Screen{}
	}
	return screenOf(c.stdout)
}

func (c *cli) write(o output, what string, document any, text func(w io.Writer, s report.Screen) error) error {
	return c.deliver(o.file, what, func(w io.Writer) error {
		if o.format == "json" {
			return export.WriteJSON(w, document)
		}
		return text(w, c.screenFor(o.file))
	})
}

func (c *cli) deliver(file, what string, render func(io.Writer) error) error {
	if file == "" || file == "-" {
		var b bytes.Buffer
		if err := render(&b); err != nil {
			return err
		}
		_, err := b.WriteTo(c.stdout)
		return err
	}
	if isEvidence(file) {
		return usage("%s is a file of a run\nhint: name another file", file)
	}
	if err := writeWhole(file, render); err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	_, err := fmt.Fprintln(c.stdout, what+": "+file)
	return err
}

// evidenceFile are the names of a run's files that no output may replace.
var evidenceFile = text.Lazy(`^(run\.json(\.sig)?|.*-r\d+\.json|.*\.zst|.*\.log|notes\.md)$`)

func isEvidence(name string) bool {
	if !evidenceFile().MatchString(filepath.Base(name)) {
		return false
	}
	_, noRun := os.Stat(filepath.Join(filepath.Dir(name), "run.json"))
	_, isNew := os.Lstat(name)
	return noRun == nil && isNew == nil
}

// writeWhole writes a file after it is rendered without an error.
func writeWhole(name string, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	return sweep.WriteWhole(name, func(w io.Writer) error {
		_, err := b.WriteTo(w)
		return err
	})
}

// load reads a run, or a result of another tool, for a twin, and notes what a reader must know of it.
func (c *cli) load(path string) (*report.Run, error) {
	run, err := foreign.Load(path)
	if err != nil {
		return nil, usage("%w", err)
	}
	c.notices(run)
	for _, row := range run.WithoutRecords {
		fmt.Fprintln(c.stderr, safe("note: left out: "+row+": "+row+record.RequestsSuffix+" is missing"))
	}
	return run, nil
}

// judgeBy puts the limits of --slo in the place of the run's own.
func judgeBy(slo string, run *report.Run) error {
	limits, err := limitsFor(slo, []*report.Run{run})
	if err != nil {
		return err
	}
	for i := range run.Rows {
		limits.Apply(&run.Rows[i].Spec)
	}
	return nil
}

// mistakes are those of a command line.
type mistakes []string

func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Sprintf(format, args...)) }

// inFlags is how checks of package experiment report them.
func (m *mistakes) inFlags(lead string) func(key, problem, hint string) {
	return func(key, problem, hint string) { m.add("%s%s: %s\nhint: %s", lead, key, problem, hint) }
}

// err is nil without mistakes.
func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return usage("%s", strings.Join(m, "\nerror: "))
}
