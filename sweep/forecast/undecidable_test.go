package forecast

import (
	"slices"
	"strings"
	"testing"

	"bench/sweep/matrix"
)

// The dry run names limits that can't be decided, with the line of the matrix and what to write there.
func TestUndecidable(t *testing.T) {
	const head = "name = \"m\"\n[slo]\n"
	const row = "\n[[row]]\nname = \"A\"\ninput = 16\noutput = 10\n"
	for _, c := range []struct {
		slo, load string
		want      []string
	}{
		{`ttft_p95 = "1s"`, "concurrency = 4\nrequests = 72", nil},
		{`itl_p95 = "1s"`, "concurrency = 4\nrequests = 40", nil},
		{`ttft_p95 = "1s"`, "concurrency = 4\nrequests = 71",
			[]string{"m.toml:9: A: ttft_p95 can't pass with 71 requests, a PASS takes at least 72, more under queues: write requests = 72"}},
		{"ttft_p999 = \"1s\"\ntpot_p99 = \"1s\"\nttft_mean = \"1s\"", "concurrency = 4\nrequests = 360",
			[]string{"m.toml:11: A: tpot_p99, ttft_p999 can't pass with 360 requests, a PASS takes at least 3,688, more under queues: write requests = 3688"}},
		{`ttft_p95 = "1s"`, "rate = [1, 2]\nduration = \"60s\"",
			[]string{`m.toml:9: A rate=1: ttft_p95 can't pass with 60 requests, a PASS takes at least 72, more under queues: write duration = "1m12s"`}},
		{`ttft_p95 = "1s"`, "concurrency = 1\nduration = \"4s\"", nil},
		{"error_rate = 0.001", "rate = { search = \"slo\", min = 4, max = 60, budget = \"1m\" }",
			[]string{"m.toml:8: A: error_rate can't pass with 3,600 requests, a PASS takes at least 3,688, more under queues: write budget = \"1m2s\""}},
		{"ttft_p95 = \"1s\"\nconfidence = 0.99", "concurrency = 4\nrequests = 100",
			[]string{"m.toml:10: A: ttft_p95 can't pass with 100 requests, a PASS takes at least 104, more under queues: write requests = 104"}},
		{"error_rate = 0.01", "concurrency = { search = \"slo\", min = 4, max = 64 }\nrequests = 30", nil},
		{"usd_per_million_output_tokens = 2.0", "rate = 1\nduration = \"1s\"",
			[]string{"m.toml:3: usd_per_million_output_tokens can't be decided: write gpus = 1 and gpu_hour_usd = 2.5 in [target]"}},
		{"min_output_tokens_per_s_per_gpu = 2", "rate = 1\nduration = \"1s\"",
			[]string{"m.toml:3: min_output_tokens_per_s_per_gpu can't be decided: write gpus = 1 in [target]"}},
	} {
		m, err := matrix.ParseSet("m.toml", []byte(head+c.slo+row+c.load+"\n"), nil)
		if err != nil {
			t.Fatalf("%s, %s: %v", c.slo, c.load, err)
		}
		var got []string
		for i := range m.Points {
			got = append(got, undecidable(m, &m.Points[i])...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s:\n%s\nwant\n%s", c.slo, c.load, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// The requests of a class are its share of the row's; a limit of the row counts those of the classes without their own.
func TestUndecidableOfClasses(t *testing.T) {
	const text = `name = "m"
[slo]
ttft_p95 = "1s"
[[row]]
name     = "A"
rate     = 8
duration = "20s"
[[row.mix]]
name   = "chat"
weight = 0.9
input  = 64
output = 32
[[row.mix]]
name   = "summarize"
weight = 0.1
input  = 2048
output = 32
slo    = { ttft_p95 = "5s" }
`
	m, err := matrix.ParseSet("m.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := undecidable(m, &m.Points[0])
	want := []string{`m.toml:7: A: ttft_p95 can't pass with about 16 requests of class summarize, a PASS takes at least 72, more under queues: write duration = "1m30s"`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
