// Package page writes results as one HTML file that needs nothing else: the report of one or several runs, a
// comparison, a history. It takes tables from report, reduces the records of each row to what a file can
// carry (requests.go, timeline_bins.go), describes charts with go-echarts (chart.go and one file for each
// kind), and puts both into a template. page.js draws the charts in the reader's browser.
//
// A page never loads, sends or runs anything but its own two scripts, which a Content-Security-Policy allows
// by their hashes. Every string of a result is untrusted: the template escapes it, and JSON in the page is
// escaped in the same way.
//
// Its size is one file for each kind of chart; they share scales, colours and the data that page.js expects.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"bench/experiment/safetext"
	"bench/report"
)

// echarts is the common build of ECharts: it has every chart type of the page and is two thirds of the full
// build.
//
//go:embed assets/echarts.common.min.js
var echarts string

//go:embed assets/NOTICE.echarts
var notice string

//go:embed page.js
var script string

//go:embed page.css
var style string

//go:embed page.html
var pageHTML string

// runsTemplate escapes HTML; its function visible escapes control and bidi characters.
var runsTemplate = template.Must(template.New("runs").Funcs(template.FuncMap{"visible": safetext.EscapeLines}).Parse(pageHTML))

// Runs writes one self-contained page of one or several runs. Several runs follow a comparison of all of
// them. A Content-Security-Policy allows only the page's own two scripts, by their hashes, and no request.
func Runs(w io.Writer, runs ...*report.Run) error {
	v := pageView{
		Definitions: definitions,
		Style:       template.CSS(style), ECharts: template.JS(echarts), Script: template.JS(script), Notice: notice,
		Policy: policy(echarts, script),
	}
	data := report.NewDocument()
	var outcomes []*report.Outcome
	for i, run := range runs {
		o := run.Outcome()
		view, err := newRunView(i, run, &o)
		if err != nil {
			return err
		}
		v.Runs = append(v.Runs, view)
		data.Add(run, o)
		outcomes = append(outcomes, &o)
	}
	var err error
	if len(runs) > 1 {
		if v.Compared, err = newMultiRun(runs, outcomes).view(); err != nil {
			return err
		}
	}
	if v.Data, err = inline(data); err != nil {
		return err
	}
	if err := runsTemplate.Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// policy allows the style sheet and the scripts by their hashes, and nothing else.
func policy(scripts ...string) string {
	hashes := ""
	for _, s := range scripts {
		hashes += " " + hash(s)
	}
	return fmt.Sprintf("default-src 'none'; script-src%s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", hashes, hash(style))
}

// hash is a Content-Security-Policy source: the hash of an element's text.
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
	Policy          string
	Style           template.CSS
	ECharts, Script template.JS
	Data            template.JS
	Notice          string
	Compared        *multiRunView // nil: one run
	Runs            []runView
	Definitions     []definition
}
