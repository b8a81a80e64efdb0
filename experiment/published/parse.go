package published

import (
	"encoding/csv"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// row is a line of figures.csv: a Figure whose throughput is stated for each GPU or for all of them. An absent value is
// one that the source does not state.
type row struct {
	Source, Model, Measured, Precision, GPU string
	GPUs, ExpertParallel, Input, Output     int
	Scenario, Submitter                     string
	Engine, Version, Date                   string
	Concurrency                             int
	TTFTMs, TPOTMs                          float64
	OutputPerGPU, OutputTotal               float64
}

func parse(text string) ([]Figure, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("published figures: %w", err)
	}
	var figures []Figure
	for i, line := range lines[1:] {
		r := row{ExpertParallel: 1}
		fields := reflect.ValueOf(&r).Elem()
		for k, value := range line {
			if err := set(fields.Field(k), value); err != nil {
				return nil, fmt.Errorf("published figures: line %d: %s: %w", i+2, lines[0][k], err)
			}
		}
		f := Figure{
			Source: r.Source, Model: r.Model, Measured: r.Measured, Precision: r.Precision, GPU: r.GPU, GPUs: r.GPUs,
			ExpertParallel: r.ExpertParallel, Input: r.Input, Output: r.Output,
			LeastLength: SourceOf(r.Source).LeastLength,
			Scenario:    r.Scenario, Submitter: r.Submitter, Concurrency: r.Concurrency, TTFTMs: r.TTFTMs,
			TPOTMs:       r.TPOTMs,
			OutputPerGPU: r.OutputPerGPU, Engine: r.Engine, Version: r.Version, Date: r.Date,
		}
		if r.OutputTotal > 0 {
			f.OutputPerGPU = r.OutputTotal / float64(r.GPUs)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func set(field reflect.Value, value string) (err error) {
	switch {
	case value == "":
	case field.Kind() == reflect.String:
		field.SetString(value)
	case field.CanInt():
		var n int
		n, err = strconv.Atoi(value)
		field.SetInt(int64(n))
	default:
		var x float64
		x, err = strconv.ParseFloat(value, 64)
		field.SetFloat(x)
	}
	return err
}
