package published

import (
	"slices"
	"strings"
	"testing"

	"bench/internal/packed"
)

func TestParse(t *testing.T) {
	head, _, _ := strings.Cut(packed.Text(figures), "\n")
	got, err := parse(head + `
inferencex,m,,fp8,g,8,,1024,1024,,,vllm,0.1,2026-03-25,4,200.5,10,,
s,m,other,fp8,g,8,,1024,1024,,,vllm,0.1,2026-03-25,,,,1500,
s,m,,fp8,g,4,4,,,offline,X,e,,,,,,,4000
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Figure{
		{Source: "inferencex", Model: "m", Precision: "fp8", GPU: "g", GPUs: 8, ExpertParallel: 1, Input: 1024, Output: 1024,
			LeastLength: 0.8, Concurrency: 4, TTFTMs: 200.5, TPOTMs: 10, Engine: "vllm", Version: "0.1", Date: "2026-03-25"},
		{Source: "s", Model: "m", Measured: "other", Precision: "fp8", GPU: "g", GPUs: 8, ExpertParallel: 1, Input: 1024, Output: 1024,
			OutputPerGPU: 1500, Engine: "vllm", Version: "0.1", Date: "2026-03-25"},
		{Source: "s", Model: "m", Precision: "fp8", GPU: "g", GPUs: 4, ExpertParallel: 4, Scenario: "offline",
			Submitter: "X", OutputPerGPU: 1000, Engine: "e"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

// TestParseErrors: a mistake is an error with its line and column.
func TestParseErrors(t *testing.T) {
	head, _, _ := strings.Cut(packed.Text(figures), "\n")
	for line, want := range map[string]string{
		"s,m,,fp8,g,x,,1024,1024,,,vllm,0.1,,4,200.5,10,,":   `line 2: gpus: `,
		"s,m,,fp8,g,8,,1024,1024,,,vllm,0.1,,4,200.5,ten,,":  `line 2: tpot_ms: `,
		"s,m,,fp8,g,8,,1024,1024,,,vllm,0.1,,4,200.5,10,,,1": `line 2`,
	} {
		if _, err := parse(head + "\n" + line + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}
