package foreign

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

func about(x, y float64) bool { return math.Abs(x-y) < 1e-9*y }

// A report of inference-perf, made by llm-d's own package: times in seconds, percentiles under the schema's names.
func TestBenchmarkReport(t *testing.T) {
	text, err := os.ReadFile("testdata/inference-perf.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run, err := Read("stage_0.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	row := &run.Rows[0]
	s := &row.Summary
	if run.Manifest.Client.Tool != "inference-perf" || row.Spec.Rate != 4 || s.Requests.Completed != 198 || s.Requests.Failed != 2 ||
		!about(s.TTFT.P50, 54.1) || !about(s.TPOT.Mean, 10.2) || s.ITL.P50 != 0 || s.E2E.P50 != 1400 || s.Tokens.Output != 128*198 ||
		s.Throughput.OutputTokensPerS != 509.9 || run.Definitions["itl"] == "" {
		t.Errorf("%+v, TTFT %+v, %+v", row.Spec, s.TTFT, run.Manifest.Client)
	}
	of := func(tool, name string) *float64 {
		run, err := Read("x.yaml", []byte(strings.Replace(string(text), "tool: inference-perf", "tool: "+tool, 1)))
		if err != nil || run.Manifest.Client.Tool != name {
			t.Fatal(tool, err, run.Manifest.Client.Tool)
		}
		return &run.Rows[0].Summary.TPOT.P50
	}
	if got := *of("guidellm", "guidellm"); got != 0 { // its time per output token contains the TTFT
		t.Errorf("TPOT of guidellm %v, want its inter-token latency", got)
	}
	if got := *of("vllm-benchmark", "vllm bench serve"); !about(got, 10.1) {
		t.Errorf("TPOT of vLLM %v", got)
	}
	if _, err := Read("config.yaml", []byte("load:\n  type: poisson\n")); !errors.Is(err, ErrUnknown) {
		t.Errorf("another YAML file: %v", err)
	}
}
