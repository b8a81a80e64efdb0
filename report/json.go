package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// SchemaPage is of the JSON that the page carries under the id bench-data, for others to use.
const SchemaPage = "bench/report/v1"

// Page is what runs say, without a renderer: the page carries it, and JSON writes it.
type Page struct {
	Schema string    `json:"schema"`
	Runs   []PageRun `json:"runs"` // as they were named
}

// PageRun is a run in a Page.
type PageRun struct {
	Run     string  `json:"run"`    // when it began, in UTC
	Matrix  string  `json:"matrix"` // the matrix's name
	Outcome Outcome `json:"outcome"`
}

func newPage() Page { return Page{Schema: SchemaPage, Runs: []PageRun{}} }

func (p *Page) add(r *Run, o Outcome) {
	p.Runs = append(p.Runs, PageRun{r.Manifest.Run, r.Manifest.Matrix, o})
}

// JSON writes verdicts, accepted point, findings and series of runs: the data that the page carries under bench-data.
func JSON(w io.Writer, runs ...*Run) error {
	data := newPage()
	for _, r := range runs {
		data.add(r, r.Outcome())
	}
	b, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
