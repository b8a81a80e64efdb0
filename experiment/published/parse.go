package published

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
)

// parse reads lines of figures.csv, in the order of its columns. An empty value is one that the source does not state;
// throughput is stated for each GPU or for all of them.
func parse(text string) ([]Figure, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("published figures: %w", err)
	}
	var figures []Figure
	for i, line := range lines[1:] {
		f, total := Figure{ExpertParallel: 1}, 0.0
		columns := []any{&f.Source, &f.Model, &f.Measured, &f.Precision, &f.GPU, &f.GPUs, &f.ExpertParallel, &f.Input,
			&f.Output, &f.Scenario, &f.Submitter, &f.Engine, &f.Version, &f.Date, &f.Concurrency, &f.TTFTMs, &f.TPOTMs,
			&f.OutputPerGPU, &total}
		for k, value := range line {
			if name, ok := columns[k].(*string); ok {
				*name = value
			} else if value != "" {
				if err := json.Unmarshal([]byte(value), columns[k]); err != nil {
					return nil, fmt.Errorf("published figures: line %d: %s: %w", i+2, lines[0][k], err)
				}
			}
		}
		if f.LeastLength = SourceOf(f.Source).LeastLength; total > 0 {
			f.OutputPerGPU = total / float64(f.GPUs)
		}
		figures = append(figures, f)
	}
	return figures, nil
}
