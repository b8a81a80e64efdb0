// Package export writes results in the forms that other programs read: CSV, JSON, JUnit XML, and the JSON of
// vllm bench serve. Each writer is one function of a run, of a comparison or of any data. It derives no figure:
// what a run has not measured is left out, never written as 0.
package export

import (
	"encoding/json"
	"fmt"
	"io"

	"bench/experiment/text"
	"bench/report"
)

// JSON writes the outcomes of runs, the same document that the page carries.
func JSON(w io.Writer, runs ...*report.Run) error {
	d := report.NewDocument()
	d.Systems = report.SystemsOf(runs)
	for _, r := range runs {
		d.Add(r, r.Analyze())
	}
	return WriteJSON(w, d)
}

// WriteJSON writes v indented: a comparison, a history. It can go to a terminal.
func WriteJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	return writeJSON(w, text, err)
}

func writeJSON(w io.Writer, s []byte, err error) error {
	if err != nil {
		return fmt.Errorf("encoding JSON: %w", err)
	}
	if _, err := w.Write(append(text.JSON(s), '\n')); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
