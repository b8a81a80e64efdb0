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
	"bench/report"
	"bench/report/compare"
)

// read takes a made-up file in the format of a tool.
func read(t *testing.T, name string) *report.Run {
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
	if r.Manifest.Matrix != "vllm bench serve" || r.Manifest.Target.Model != "llama" || row.Spec.Label() != "vllm input=256 output=32 rate=4" {
		t.Errorf("%s, model %s, %s", r.Manifest.Matrix, r.Manifest.Target.Model, row.Spec.Label())
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

// What each tool wrote of the same loads against bench mock: 24 requests of 16 tokens, 4 at once and 20/s, TTFT 50 ms,
// ITL 10 ms. Paths and single answers are left out of the files, and figures rounded.
func TestCurrentVersions(t *testing.T) {
	type row struct{ ttft, e2e, outputS, duration, prompt float64 } // p50, ms; e2e 0: not reported
	for _, x := range []struct {
		file, tool, version, model string
		rows                       [2]row
	}{
		{"aiperf.json", "aiperf", "0.13.0", "bench-mock",
			[2]row{{53.8206, 205.5315, 292.8218, 1.3051, 63}, {51.9319, 201.4946, 264.5295, 1.3974, 62}}},
		{"guidellm.json", "guidellm", "0.8.1", "bench-mock",
			[2]row{{50.786495, 201.294, 302.801623, 1.268157, 96}, {50.900221, 202.07, 284.680814, 1.348879, 96}}},
		{"vllm-0.32.json", "vllm bench serve", "", "bench-mock",
			[2]row{{52.886773, 0, 313.744620, 1.223925, 27}, {52.7045, 202.7065, 273.759744, 1.40269, 27}}},
		{"sglang-0.5.23.jsonl", "sglang bench_serving", "", "",
			[2]row{{52.265531, 202.625611, 313.123892, 1.226352, 240}, {52.0925, 201.7865, 229.430637, 1.673708, 240}}},
	} {
		r := read(t, x.file)
		c, model := r.Manifest.Client, r.Manifest.Target.Model
		if c.Tool != x.tool || c.Version != x.version || model != x.model || len(r.Rows) != 2 {
			t.Fatalf("%s: %+v, model %q, %d rows", x.file, c, model, len(r.Rows))
		}
		a, b := r.Rows[0].Spec, r.Rows[1].Spec
		constant := x.tool != "sglang bench_serving" // its arrivals are Poisson
		if a.Concurrency != 4 || a.Rate != 0 || b.Concurrency != 0 || b.Rate != 20 || (b.Arrival.Process == "constant") != constant {
			t.Errorf("%s: loads %+v, %+v", x.file, a, b)
		}
		for i, want := range x.rows {
			s := r.Rows[i].Summary
			if s.Requests.Completed != 24 || s.Tokens.Output != 384 || (s.E2E == nil) != (want.e2e == 0) {
				t.Errorf("%s: %+v, %+v, e2e %v", x.file, s.Requests, s.Tokens, s.E2E)
			}
			near(t, x.file+": tpot p50", math.Round(s.TPOT.P50), 10)
			near(t, x.file+": ttft p50", s.TTFT.P50, want.ttft)
			if s.E2E != nil {
				near(t, x.file+": e2e p50", s.E2E.P50, want.e2e)
			}
			near(t, x.file+": output tok/s", s.Throughput.OutputTokensPerS, want.outputS)
			near(t, x.file+": duration", s.DurationS, want.duration)
			near(t, x.file+": prompt tokens", float64(s.Tokens.Prompt), want.prompt)
		}
	}
}

func TestGuideLLMErrors(t *testing.T) {
	text := `{"benchmarks": [{"metrics": {"request_totals": {"successful": 80, "errored": 20, "incomplete": 3}}}]}`
	r, err := Read("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "error rate", r.Rows[0].Summary.FailedShare(), 0.2)
}

// Keys that moved leave model and load out: the file is read, and no other one is like it.
func TestMovedKeys(t *testing.T) {
	text, err := os.ReadFile("testdata/aiperf.json")
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.NewReplacer(`"models"`, `"model"`, `"phases"`, `"stages"`, "0.13.0", "0.99.0").Replace(string(text))
	first, second, _ := strings.Cut(moved, "\n")
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.json"), first)
	put(t, filepath.Join(dir, "b.json"), strings.Replace(second, "bench-mock", "another", 1))
	var sides [2]compare.Side
	for i, name := range []string{"a.json", "b.json"} {
		if sides[i], err = LoadSide(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if m := sides[0].Runs[0].Manifest; fmt.Sprint(m.Unspecified) != "[hardware gpus precision model load]" {
		t.Errorf("not reported: %v", m.Unspecified)
	}
	for allow, refused := range map[string]string{"": "model", "model": "load", "model workload": ""} {
		c, err := compare.Compare(sides[0], sides[1], compare.Options{Allow: strings.Fields(allow)})
		if err != nil {
			t.Fatal(err)
		}
		of := c.Differences
		if !c.Refused {
			of = c.Points[0].Differences
		}
		got := ""
		for _, d := range compare.Refusing(of) {
			got += d.What + ": " + d.Base + " → " + d.New
		}
		if want := refused + ": not reported → not reported"; refused != "" && got != want || refused == "" && got != "" {
			t.Errorf("--allow %s: %s", allow, got)
		}
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

func TestGenaiBench(t *testing.T) {
	r := read(t, "genai-bench.json")
	s := r.Rows[0].Summary
	near(t, "ttft p99", s.TTFT.P99, 190)
	near(t, "tpot p50", s.TPOT.P50, 9.5)
	near(t, "e2e p50", s.E2E.P50, 380)
	near(t, "output tokens/s", s.Throughput.OutputTokensPerS, 128)
	if s.Requests.Completed != 10 || s.Requests.Failed != 2 || s.Tokens.Output != 320 || r.Rows[0].Spec.Concurrency != 8 || s.ITL != nil {
		t.Errorf("%+v, %+v", s.Requests, r.Rows[0].Spec)
	}
}
