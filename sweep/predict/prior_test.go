package predict

import (
	"testing"

	"bench/experiment/mock"
	"bench/experiment/tune"
	"bench/sweep/matrix"
)

// More sequences a step are more throughput: a race begins with them. Without hardware it has no prior.
func TestPrior(t *testing.T) {
	text := []byte(`name = "m"
[target]
endpoint = "http://127.0.0.1:1"
model = "llama-3.1-8b"
hardware = "h100-sxm"
[server]
command = ["vllm", "serve", "--max-num-seqs", "{seqs}"]
knobs = { seqs = [8, 64, 16] }
[tune]
order = "all"
[slo]
ttft_p95 = "1s"
[[row]]
name = "r"
input = 256
output = 64
rate = { search = "slo" }
`)
	base := tables(t)
	models, hardware := base.Models, base.Devices
	m, err := matrix.ParseSet("m.toml", text, nil, matrix.Extension{Table: "mock", Into: &mock.Config{Models: models, Devices: hardware}})
	if err != nil {
		t.Fatal(err)
	}
	if x := Prior(t.Context(), m, models, hardware); len(x) != 3 || !(x[1] > x[2] && x[2] > x[0]) {
		t.Errorf("%v", x)
	}
	if m.Points[0].Search == nil || m.Tune.Order != tune.All {
		t.Error("the matrix is changed")
	}
	if m.Target.Hardware = ""; Prior(t.Context(), m, models, hardware) != nil {
		t.Error("a prior without hardware")
	}
}
