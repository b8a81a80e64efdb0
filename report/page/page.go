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

// The common build of ECharts has every chart type of the page and is two thirds of the full build.
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

// The template escapes HTML; visible escapes control and bidi characters.
var page = template.Must(template.New("page").Funcs(template.FuncMap{"visible": safetext.EscapeLines}).Parse(pageHTML))

// HTML writes one self-contained page of one or several runs. Several runs follow a comparison of all of them. A
// Content-Security-Policy allows only the page's own two scripts, by their hashes, and no request.
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
	if err := page.Execute(w, v); err != nil {
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

// inline is v as JSON for a script element. json.Marshal escapes <, >, & and the line ends of JavaScript, so no string
// can end the element or begin a comment.
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
