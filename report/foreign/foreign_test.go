package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bench/experiment/stats"
)

// read takes a made-up file in the format of a tool.
func read(t *testing.T, name string) *Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func absent(t *testing.T, what string, s *stats.Summary, stat string) {
	t.Helper()
	if x, ok := s.Get(stat); ok && !math.IsNaN(x) {
		t.Errorf("%s %s is %v: the file does not have it", what, stat, x)
	}
}

func TestVLLMTotals(t *testing.T) {
	r := read(t, "vllm.json")
	row := r.Rows[0]
	s := row.Summary
	if r.Tool != "vllm bench serve" || r.Manifest.Target.Model != "llama" || row.Spec.Label() != "vllm input=256 output=32 rate=4" {
		t.Errorf("%s, model %s, %s", r.Tool, r.Manifest.Target.Model, row.Spec.Label())
	}
	near(t, "ttft p50", s.TTFT.P50, 81.5)
	near(t, "ttft p99", s.TTFT.P99, 190.25)
	absent(t, "ttft", s.TTFT, "p95")
	near(t, "ttfe, which means what vLLM's TTFT does,", s.TTFE.P50, 81.5)
	if s.E2E != nil || s.TTFTFromSend != nil {
		t.Error("a latency that the file does not have")
	}
	near(t, "requests/s", s.Throughput.RequestsPerS, 3.92)
	near(t, "error rate", s.FailedShare(), 0.02)
	if d := r.Definitions; d["ttft"] == "" || d["ttfe"] != "" {
		t.Errorf("definitions %v", d)
	}
	if len(r.Rows) != 2 || !r.Rows[1].Spec.Rate.IsInf() || r.Rows[1].Spec.Concurrency != 0 {
		t.Errorf("%d rows; the second of an appended file is %+v", len(r.Rows), r.Rows[1].Spec)
	}
	if text := fmt.Sprint(row.Findings, r.Manifest.Notes); !strings.Contains(text, "vllm bench serve") || !strings.Contains(text, "even an empty one") {
		t.Errorf("not marked as another tool's: %s", text)
	}
}

func TestSGLang(t *testing.T) {
	r := read(t, "sglang.jsonl")
	if len(r.Rows) != 2 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	plain, detailed := r.Rows[0], r.Rows[1]
	if !plain.Spec.Rate.IsInf() {
		t.Errorf("a rate of Infinity is %v", plain.Spec.Rate)
	}
	near(t, "e2e p90", plain.Summary.E2E.P90, 912.5)
	if detailed.Summary.Requests.Failed != 2 || detailed.Summary.TTFT.N != 2 {
		t.Errorf("a failed request and one with a TTFT of 0 leave %+v, %d TTFTs", detailed.Summary.Requests, detailed.Summary.TTFT.N)
	}
	if text := fmt.Sprint(detailed.Findings); !strings.Contains(text, "TTFT of 0") {
		t.Errorf("findings %s", text)
	}
	if text := fmt.Sprint(plain.Findings); !strings.Contains(text, "number of failed requests") {
		t.Errorf("findings %s", text)
	}
}

func TestGuideLLM(t *testing.T) {
	r := read(t, "guidellm.json")
	if len(r.Rows) != 2 || r.Rows[0].Spec.Concurrency != 8 || r.Rows[1].Spec.Rate != 2.5 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	s := r.Rows[0].Summary
	near(t, "ttft p50", s.TTFT.P50, 90)
	near(t, "e2e p99, from seconds,", s.E2E.P99, 1500)
	near(t, "tpot, from what guidellm calls ITL,", s.TPOT.P50, 11)
	near(t, "p99.9", s.TTFT.P999, 240)
	near(t, "output tok/s", s.Throughput.OutputTokensPerS, 512)
	near(t, "error rate", s.FailedShare(), 0.2)
	if s.ITL != nil || r.Definitions["tpot"] == "" {
		t.Error("guidellm has no gaps between events, and its TPOT is no TPOT")
	}
}

func TestAIPerf(t *testing.T) {
	for _, name := range []string{"aiperf.json", "aiperf-old.json"} {
		s := read(t, name).Rows[0].Summary
		near(t, "ttft p99", s.TTFT.P99, 120)
		near(t, "e2e mean, from seconds,", s.E2E.Mean, 1800)
		near(t, "tpot", s.TPOT.P50, 12.5)
		near(t, "requests/s", s.Throughput.RequestsPerS, 42.5)
		absent(t, "ttft", s.TTFT, "p999")
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "not JSON": "x", "an array": "[1]", "an empty array": "[]", "nothing in an array": "[null]", "another JSON": `{"a": 1}`, "cut": `{"completed": 1, "request_thr`,
		"arrays of different lengths": `{"completed": 2, "request_throughput": 1, "total_token_throughput": 1, "output_lens": [1, 2], "ttfts": [0.1], "itls": [[], []]}`,
		"two models":                  `{"completed": 2, "request_throughput": 1, "total_token_throughput": 1, "model_id": "a"} {"completed": 2, "request_throughput": 1, "total_token_throughput": 1, "model_id": "b"}`,
	} {
		if r, err := Read("x.json", []byte(text)); err == nil || !strings.Contains(err.Error(), "reading x.json") {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if _, err := Read("x.json", []byte(`{"a": 1}`)); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json*")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"completed": -1, "request_throughput": NaN, "total_token_throughput": Infinity, "request_rate": -Infinity, "output_lens": [1], "ttfts": [null], "itls": [[1e300]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read("x", text)
		if err == nil && len(r.Rows) == 0 && !bytes.Contains(text, []byte("benchmarks")) {
			t.Error("read without an error, and without a row")
		}
	})
}
