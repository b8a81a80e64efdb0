// Package page writes results as one HTML file that needs nothing else: the report of one or several runs, a
// comparison, a history. It takes tables from report, reduces the records of each row to what a file can
// carry (requests.go, timeline_bins.go), describes charts with go-echarts (chart.go and one file for each
// kind), and puts both into a template. charts.js draws them in the reader's browser; curves.js composes those
// of one curve a workload from the figures of curves.go.
//
// A page never loads, sends or runs anything but its own scripts, which a Content-Security-Policy allows
// by their hashes. Every string of a result is untrusted: the template escapes it, and JSON in the page is
// escaped in the same way.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"sync"

	"bench/experiment/text"
	"bench/internal/packed"
	"bench/report"
)

// echarts is a build of ECharts with the page's chart types alone: half of the full build (make echarts). It is
// compressed to a third in the program.
//
//go:embed assets/echarts.min.js.gz
var echarts []byte

var echartsScript = sync.OnceValue(func() string { return packed.Text(echarts) })

//go:embed assets/NOTICE.echarts
var notice string

// The page's own scripts. The first three are in every page; the others draw charts.
var (
	//go:embed page.js
	pageScript string
	//go:embed tables.js
	tablesScript string
	//go:embed tabs.js
	tabsScript string
	//go:embed figure.js
	figureScript string
	//go:embed curves.js
	curvesScript string
	//go:embed charts.js
	chartsScript string
	//go:embed slo.js
	sloScript string
)

//go:embed page.css
var style string

//go:embed page.html
var pageHTML string

// runsTemplate is parsed at its first use, as are those with its definitions: other commands of bench needn't wait.
var runsTemplate = sync.OnceValue(parseRuns)

// parseRuns parses a template that escapes HTML; its function visible escapes control and bidi characters, inline
// writes JSON.
func parseRuns() *template.Template {
	own := template.FuncMap{"visible": text.EscapeLines, "inline": inline}
	return template.Must(template.New("runs").Funcs(own).Parse(pageHTML))
}

// derived is a template with a name and text of its own, and all that runsTemplate defines.
func derived(name, text string) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		return template.Must(parseRuns().New(name).Parse(text))
	})
}

// Runs writes one page; several runs follow a comparison of all of them.
func Runs(w io.Writer, runs ...*report.Run) error {
	v := pageView{Definitions: definitionsFor(runs), frame: newFrame(true), Data: report.NewDocument()}
	var outcomes []*report.Analysis
	for i, run := range runs {
		o := run.Analyze()
		v.Runs = append(v.Runs, newRunView(i, run, &o))
		v.Data.Add(run, o)
		outcomes = append(outcomes, &o)
	}
	if len(runs) > 1 {
		v.Data.Systems = report.NewSystems(runs, outcomes)
		var err error
		if v.Compared, err = newMultiRun(runs, outcomes).view(v.Data.Systems); err != nil {
			return err
		}
	}
	return write(w, runsTemplate(), v)
}

// write writes a whole page, or nothing if its data cannot be written as JSON.
func write(w io.Writer, t *template.Template, v any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if _, err := b.WriteTo(text.Page(w)); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// Shell is what a page consists of beside its text.
type Shell struct {
	Policy  string // allows the style and the scripts by their hashes
	Style   template.CSS
	Scripts []template.JS // in this order; a later one uses an earlier one
}

type frame struct {
	Shell
	Notice string // of the libraries; empty: none
}

func newFrame(charts bool) frame {
	scripts, f := []string{pageScript, tablesScript, tabsScript}, frame{}
	if charts {
		scripts = append(scripts, echartsScript(), figureScript, curvesScript, chartsScript, sloScript)
		f.Notice = notice
	}
	f.Shell = newShell("'none'", style, scripts...)
	return f
}

// NewShell is of a page of a server, which may send forms to it.
func NewShell(css, script string) Shell { return newShell("'self'", style+css, pageScript, script) }

// Policy allows the style and the scripts of all pages, for the header of a server. Each page has its own inside.
func Policy() string { return newFrame(true).Policy }

func newShell(forms, style string, scripts ...string) Shell {
	s, hashes := Shell{Style: template.CSS(style)}, ""
	for _, script := range scripts {
		s.Scripts, hashes = append(s.Scripts, template.JS(script)), hashes+" "+hash(script)
	}
	s.Policy = "default-src 'none'; script-src" + hashes + "; style-src " + hash(style) +
		"; img-src data:; base-uri 'none'; form-action " + forms
	return s
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// inline is v as JSON for a script element. json.Marshal escapes <, >, & and the line ends of JavaScript, so
// no string can end the element or begin a comment.
func inline(v any) (template.JS, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding the page's data: %w", err)
	}
	return template.JS(b), nil
}

type pageView struct {
	frame
	Data        report.Document
	Compared    *multiRunView // nil: one run
	Runs        []runView
	Definitions []definition
}
