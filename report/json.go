package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// runData is a run in the data that the page carries, and that JSON writes.
type runData struct {
	Run     string  `json:"run"`
	Matrix  string  `json:"matrix"`
	Outcome Outcome `json:"outcome"`
}

func newRunData(r *Run, o Outcome) runData { return runData{r.Manifest.Run, r.Manifest.Matrix, o} }

// pageData is what the runs say, without a renderer.
func pageData(runs []runData) map[string]any {
	return map[string]any{"schema": SchemaPage, "runs": runs}
}

// JSON writes verdicts, accepted point, doubts and series of runs: the data that the page carries under bench-data.
func JSON(w io.Writer, runs ...*Run) error {
	var data []runData
	for _, r := range runs {
		data = append(data, newRunData(r, r.Outcome()))
	}
	b, err := json.MarshalIndent(pageData(data), "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
