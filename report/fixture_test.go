package report

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// hostile is what a server could call itself.
const hostile = `</script><script>window.__xss=1</script>`

var began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// sample is n latencies around ms with an exponential tail, without a random number.
func sample(n int, ms float64) *stats.Summary {
	values := make([]float64, n)
	for i := range values {
		u := (float64(i) + 0.5) / float64(n)
		values[i] = math.Round(ms*(0.9+0.15*-math.Log(1-u))*1000) / 1000 // µs, as records have them
	}
	return stats.Summarize(values)
}

// shape is what a fixture's row is made from.
type shape struct {
	name        string
	axes        []experiment.Axis
	rate        float64
	concurrency int
	repeat, n   int
	failed      int
	ttft, tpot  float64 // ms; ttft 0: not streamed
	output      float64 // tok/s
	verdict     string
	need        int
	mix, bound  bool
	prefix      string
	expect      string
	findings    []record.Finding
}

func (s shape) row() record.Row {
	stream := s.ttft > 0
	spec := experiment.Spec{Name: s.name, Point: s.axes, Repeat: max(1, s.repeat), Expect: s.expect, Stream: &stream,
		Workload: workload.Workload{Input: workload.Fixed(2048), Output: workload.Fixed(128), Rate: workload.Rate(s.rate)},
		Load:     workload.Load{Concurrency: s.concurrency}}
	id := s.name
	for _, a := range s.axes {
		id += "," + a.Key + "=" + a.Value
	}
	r := record.Row{Schema: record.SchemaRow, ID: fmt.Sprintf("%s-r%d", fileName(id), spec.Repeat), Spec: spec, Simulated: true,
		PromptForm: "token_ids", Clock: record.Clock{Stamps: "kernel"}, StartedAt: began, EndedAt: began.Add(time.Minute)}
	r.Client = &telemetry.Usage{CPUMean: new(0.62), SchedP99: new(0.3), GCs: 3, GCPauses: 1.2, Files: new(1012)}
	r.Checks.Passed = []string{"lag", "stamps", "concurrency", "warmup", "prompt_length", "token_counts", "bound", "outcomes", "clock"}
	r.Checks.NotPossible = []string{"prefix", "rate"}
	for _, d := range s.findings {
		r.Findings = append(r.Findings, d)
		r.Checks.Failed = append(r.Checks.Failed, d.Code)
		r.Checks.Passed = r.Checks.Passed[1:]
	}
	r.Summary = s.summary()
	if s.verdict != "" {
		limit := record.Verdict{Metric: "ttft_p99", Limit: 1000, Unit: "ms", Verdict: s.verdict, Need: s.need, Observed: s.n, Why: "12 of 1200 over the limit, 1 % allowed"}
		if t := r.Summary.TTFT; t != nil {
			limit.Value = &t.P99
		}
		r.SLO = []record.Verdict{limit, {Metric: "min_output_tokens_per_s", Limit: 50, Unit: "tokens/s", Value: &s.output, Verdict: "PASS", Why: "over a window of 60 s"}}
	}
	if s.prefix != "" {
		r.Spec.Prefix = &workload.Prefix{Tokens: 1024, Groups: 4, State: s.prefix}
		cached := map[string]int{"warm": s.n * 1024}[s.prefix]
		r.Summary.Tokens.Cached = &cached
	}
	if s.mix {
		r.Classes = map[string]record.Summary{
			"chat": {TTFT: sample(s.n*4/5, s.ttft/2), TPOT: sample(s.n*4/5, s.tpot), E2E: sample(s.n*4/5, s.ttft+100*s.tpot)},
			"rag":  {TTFT: sample(s.n/5, s.ttft*3), TPOT: sample(s.n/5, s.tpot), E2E: sample(s.n/5, 3*s.ttft+100*s.tpot)},
		}
	}
	r.NoRoofline = "hardware is not stated in [target]"
	if s.bound {
		ttft, tpot := s.ttft/30, s.tpot/6
		r.NoRoofline, r.Roofline = "", &record.Roofline{Model: "llama-3.1-8b", Hardware: "h100-sxm", GPUs: 1, Batch: float64(max(1, s.concurrency)), Context: 2112, Input: 2048,
			TTFT: roofline.Bound{FloorMs: 30, ExpectedMs: 45}, TPOT: roofline.Bound{FloorMs: 6, ExpectedMs: 8.5}, TTFTRatio: &ttft, TPOTRatio: &tpot}
	}
	return r
}

func (s shape) summary() record.Summary {
	perGPU := s.output
	duration := float64(s.n+s.failed) / s.rate
	if s.rate == 0 || math.IsInf(s.rate, 1) {
		duration = float64(128*s.n) / max(1, s.output)
	}
	sum := record.Summary{DurationS: duration,
		Requests:    record.Requests{Planned: s.n + s.failed, Sent: s.n + s.failed, Completed: s.n, Failed: s.failed, Warmup: 20, Errors: map[string]int{}},
		Tokens:      record.Tokens{Prompt: 2048 * s.n, Output: 128 * s.n},
		Throughput:  record.Throughput{RequestsPerS: s.output / 128, PromptTokensPerS: 16 * s.output, OutputTokensPerS: s.output, OutputTokensPerSPerGPU: &perGPU},
		Concurrency: record.Concurrency{Mean: float64(s.concurrency), Max: s.concurrency}}
	if s.failed > 0 {
		sum.ErrorRate = float64(s.failed) / float64(s.n+s.failed)
		sum.Requests.Errors = map[string]int{"timeout": s.failed - 1, "status": 1}
	}
	if s.n == 0 {
		return sum
	}
	e2e := 4000.0
	if s.ttft > 0 {
		sum.TTFT, sum.TPOT, sum.ITL = sample(s.n, s.ttft), sample(s.n, s.tpot), sample(2*s.n, s.tpot)
		e2e = s.ttft + 127*s.tpot
	}
	sum.E2E, sum.Lag = sample(s.n, e2e), sample(s.n, 0.05)
	return sum
}

// fileName stands in for the escaping of sweep.
func fileName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c == '/' || c == '<' || c == '>' {
			b[i] = '_'
		}
	}
	return string(b)
}

func axis(key, value string) []experiment.Axis { return []experiment.Axis{{Key: key, Value: value}} }

// fixture has every case that a renderer must meet.
func fixture() *Run {
	lag := record.Finding{Code: "client_lag", Text: "the client itself sent late: lag p99 4.1 ms (limit 1 ms)", Hint: "use a larger client machine, or lower the load"}
	kept := record.Finding{Code: "rate", Text: "the server did not keep up: 5.1 of 8 requests/s", Hint: "take the highest rate that is achieved as the limit"}
	shapes := []shape{
		{name: "A-short-chat", rate: 1, n: 1100, ttft: 62, tpot: 7.1, output: 128, verdict: "PASS", bound: true, expect: "TTFT below 100 ms; the healthy baseline"},
	}
	for i, x := range []struct {
		slots  int
		ttft   float64
		output float64
		v      string
	}{{1, 95, 131, "PASS"}, {2, 103, 255, "PASS"}, {4, 140, 489, "PASS"}, {8, 260, 905, "PASS"}, {16, 540, 1243, "UNDECIDED"}, {32, 2100, 1290, "FAIL"}} {
		for repeat := 1; repeat <= 2; repeat++ {
			s := shape{name: "D-saturation", axes: axis("concurrency", fmt.Sprint(x.slots)), concurrency: x.slots, repeat: repeat, n: 1200,
				ttft: x.ttft * (1 + 0.02*float64(repeat)), tpot: 7 + float64(i), output: x.output, verdict: x.v, bound: true, expect: "saturates between 8 and 32"}
			if x.v == "UNDECIDED" {
				s.need = 1940
			}
			if x.slots == 32 {
				s.findings = []record.Finding{lag}
			}
			shapes = append(shapes, s)
		}
	}
	for _, state := range []string{"cold", "warm"} {
		shapes = append(shapes, shape{name: "E-prefix", axes: axis("prefix.state", state), rate: 4, n: 64, prefix: state,
			ttft: map[string]float64{"cold": 390, "warm": 88}[state], tpot: 7.7, output: 502, verdict: "UNDECIDED", need: 395})
	}
	for _, rate := range []float64{2, 4, 8} {
		s := shape{name: "F-production", axes: axis("rate", fmt.Sprint(rate)), rate: rate, n: int(rate * 60), ttft: 110 * rate, tpot: 7 + rate, mix: true,
			output: math.Min(rate, 5.1) * 128, verdict: "PASS"}
		if rate == 8 {
			s.verdict, s.failed, s.findings = "FAIL", 5, []record.Finding{kept, lag}
		}
		shapes = append(shapes, s)
	}
	shapes = append(shapes,
		shape{name: "G-batch", rate: math.Inf(1), n: 250, output: 1400, verdict: "PASS"},
		shape{name: "H-three", concurrency: 1, n: 3, ttft: 70, tpot: 7, output: 120},
		shape{name: hostile, concurrency: 2, failed: 9, verdict: "FAIL", expect: hostile + " =cmd()",
			findings: []record.Finding{{Code: "failed_requests", Text: "9 of 9 failed: " + hostile + "\x1b[31m|`_x_`", Hint: "read " + hostile}}},
		shape{name: "Z-removed", rate: 1, n: 20, ttft: 50, tpot: 6, output: 99},
	)
	run := &Run{Dir: "results/chat/20261120T120000Z", Notes: "Looked at it.\n\n" + hostile + "\n# not a heading | `x` \x1b[31m\n"}
	m := &run.Manifest
	*m = record.Manifest{Schema: record.SchemaRun, Run: "20261120T120000Z", Matrix: "chat", MatrixFile: "matrices/chat.toml",
		MatrixText: "name = \"chat\"\n# " + hostile + "\n", MatrixHash: "5feceb66", StartedAt: began, EndedAt: began.Add(21 * time.Minute), State: "done",
		Hypothesis: "Long prompts raise TTFT, not TPOT; decode sits at the bandwidth bound.", Notes: []string{"node is shared with the monitoring agent"},
		Command: []string{"bench", "sweep", "matrices/chat.toml"}, Salt: "c0ffee", Seed: 7,
		Facts: map[string]string{"driver": "580.159"}, NotStated: []string{"network", "quantization", "tokenizer"},
		Client:   record.ClientInfo{Version: "0.1.0", Commit: "abc1234", Go: "go1.26", OS: "linux", Kernel: "6.18", Host: "client-1", CPU: "a processor", Cores: 8, MaxProcs: 8, MemoryGiB: 31.3},
		Attempts: []record.Attempt{{StartedAt: began, Command: []string{"bench", "sweep", "matrices/chat.toml"}, Bench: "0.1.0", Ended: "done"}},
		Target: record.TargetInfo{Endpoint: "mock", Simulated: true, Simulator: "llama-3.1-8b on 1 × h100-sxm", API: "completions", Model: hostile, Hardware: "h100-sxm", GPUs: 1,
			PromptForm: "token_ids", Connections: "used again", Models: map[string]any{"data": []any{map[string]any{"id": hostile}}}}}
	for _, s := range shapes {
		row := s.row()
		state := "done"
		if s.name == "Z-removed" {
			state = "removed"
		}
		run.Rows = append(run.Rows, row)
		m.Plan = append(m.Plan, record.Planned{ID: row.ID, Name: s.name, State: state})
	}
	m.Plan = append(m.Plan, record.Planned{ID: "I-lost-r1", Name: "I-lost", State: "failed", Error: "dial: refused <b>"})
	run.Missing = []string{"I-lost-r1"}
	return run
}

// write puts a run on disk as sweep does.
func write(t *testing.T, run *Run) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, v any) {
		b, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("run.json", run.Manifest)
	for _, row := range slices.Backward(run.Rows) {
		put(row.ID+".json", row)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.md"), []byte(run.Notes), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
