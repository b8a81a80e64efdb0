package export

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bench/experiment/record"
	"bench/report/foreign"
)

// A report is read back as the row that it was written of. Other programs read the same figures from the schema's fields,
// without those that are only lower bounds.
func TestLLMDRoundTrip(t *testing.T) {
	s, _ := ours()
	row := &s.Rows[0]
	row.Schema = record.SchemaRow
	s.Manifest.Facts = map[string]string{"driver": "570 # \"x\": 'y'"}
	s.Manifest.Target.Hardware, s.Manifest.Target.GPUs = "h100-sxm", 2
	files, err := LLMD(s, s, s)
	if err != nil || len(files) != 3 || files[0].Name != "A,rate=4-r1.yaml" ||
		files[1].Name != "A,rate=4-r1,20261101T020000Z,2.yaml" || files[2].Name != "A,rate=4-r1,20261101T020000Z,3.yaml" {
		t.Fatal(err, len(files))
	}
	if name := plainName("../../etc/x\\y\x1b"); name != ".._.._etc_x_y_.yaml" {
		t.Errorf("file name %q", name)
	}
	back, err := foreign.Read("a.yaml", files[0].Text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(row.Summary, back.Rows[0].Summary, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("summary:\n%s", diff)
	}
	is := back.Manifest
	if back.Rows[0].ID != row.ID || is.Target.Model != s.Manifest.Target.Model || is.Target.GPUs != 2 ||
		is.Facts["driver"] != s.Manifest.Facts["driver"] || is.Client.Tool != "bench" {
		t.Errorf("%s, %+v", back.Rows[0].ID, is.Target)
	}
	for _, want := range []string{`kind: "generic"`, `rate_qps: 4`, `tool: "bench"`, `version: "0.2.1"`} {
		if !strings.Contains(string(files[0].Text), want) {
			t.Errorf("no %s in\n%s", want, files[0].Text)
		}
	}

	if !strings.Contains(string(files[0].Text), "normalized_time_per_output_token:") {
		t.Error("no E2E per token, which comes from the records")
	}
	other, err := foreign.Read("a.yaml", []byte(strings.Replace(string(files[0].Text), `tool: "bench"`, `tool: "another"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	was, got := &row.Summary, &other.Rows[0].Summary
	near(t, "ttft p50", got.TTFT.P50, was.TTFTFromSend.P50)
	near(t, "itl p95", got.ITL.P95, was.ITL.P95)
	near(t, "tpot std", got.TPOT.Std, was.TPOT.Std)
	near(t, "e2e max", got.E2E.Max, was.E2EFromSend.Max)
	near(t, "output tok/s", got.Throughput.OutputTokensPerS, was.Throughput.OutputTokensPerS)
	if !math.IsNaN(got.TTFT.P99) || got.Requests.Failed != 1 || got.DurationS != was.DurationS || other.Rows[0].Spec.Rate != 4 {
		t.Errorf("TTFT p99 %v of 49 requests, %+v", got.TTFT.P99, got.Requests)
	}
}

// The number of GPUs that share a model is in the server's command, else the report claims nothing of it.
func TestLLMDParallelism(t *testing.T) {
	s, _ := ours()
	s.Manifest.Target.Hardware, s.Manifest.Target.GPUs = "h100-sxm", 2
	s.Manifest.Servers = []record.ServerStart{{Command: []string{"vllm", "serve", "m", "--tensor-parallel-size=2"}}}
	files, err := LLMD(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`kind: "inference_engine"`, `tp: 2`, `count: 2`} {
		if !strings.Contains(string(files[0].Text), want) {
			t.Errorf("no %s in\n%s", want, files[0].Text)
		}
	}
}
