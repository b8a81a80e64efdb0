package collect

import (
	"bench/experiment/telemetry"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// exposed is a histogram as a server writes it, its lines in any order.
func exposed(name, labels string, edges []float64, values []float64, shuffle *rand.Rand) string {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	var lines []string
	for _, edge := range edges {
		n := 0
		for _, v := range values {
			if v <= edge {
				n++
			}
		}
		lines = append(lines, fmt.Sprintf("%s_bucket{le=\"%g\"%s} %d.0\n", name, edge, labels, n))
	}
	lines = append(lines, fmt.Sprintf("%s_bucket{le=\"+Inf\"%s} %d.0\n", name, labels, len(values)), fmt.Sprintf("%s_sum{x=\"y\"%s} %g\n", name, labels, sum),
		fmt.Sprintf("%s_count{x=\"y\"%s} %d\n", name, labels, len(values)), fmt.Sprintf("%s_created{x=\"y\"%s} 1.7e9\n", name, labels))
	shuffle.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return "# HELP " + name + " Of requests.\n# TYPE " + name + " histogram\n" + strings.Join(lines, "")
}

// Histograms of several engines are summed, those of other ranks left out, in any order of the lines: as if one
// engine had counted all values.
func TestReadHistograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.75, 1, 2, 64}), 0, 30)
		edges := []float64{0.25, 1, 2.5}
		name := rapid.SampledFrom([]string{"vllm:time_to_first_token_seconds", "ray_vllm_time_to_first_token_seconds", "vllm_time_to_first_token_seconds"}).Draw(t, "name")
		one, two := values.Draw(t, "engine 0"), values.Draw(t, "engine 1")
		text := exposed(name, `,engine="0"`, edges, one, shuffle) + "vllm:num_requests_running 1\n" + exposed(name, `,engine="1"`, edges, two, shuffle) +
			exposed(name, `,engine="1",tp_rank="1"`, edges, two, shuffle)
		p, err := readText(text, serverNames)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readServer(p)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(one, two)
		want := &telemetry.Histogram{Count: float64(len(all))}
		for _, v := range all { // sums of these values are exact
			want.Sum += v
		}
		for _, edge := range edges {
			n := 0.0
			for _, v := range all {
				if v <= edge {
					n++
				}
			}
			want.Buckets = append(want.Buckets, [2]float64{edge, n})
		}
		if diff := cmp.Diff(want, got.Times.TTFT); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Each engine's histograms are found by their own names.
func TestHistogramNames(t *testing.T) {
	one := &telemetry.Histogram{Count: 2, Sum: 3}
	for name, c := range map[string]struct {
		series []string
		want   telemetry.TimeReading
	}{
		"vllm": {[]string{"vllm:num_requests_running", "vllm:time_to_first_token_seconds", "vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
			"vllm:request_decode_time_seconds", "vllm:e2e_request_latency_seconds"}, telemetry.TimeReading{TTFT: one, Queue: one, Prefill: one, Decode: one, E2E: one}},
		"sglang":  {[]string{"sglang:num_running_reqs", "sglang:time_to_first_token_seconds", "sglang:queue_time_seconds", "sglang:e2e_request_latency_seconds"}, telemetry.TimeReading{TTFT: one, Queue: one, E2E: one}},
		"tgi":     {[]string{"tgi_queue_size", "tgi_request_queue_duration", "tgi_request_duration"}, telemetry.TimeReading{Queue: one, E2E: one}},
		"another": {[]string{"vllm:num_requests_running", "sglang:queue_time_seconds"}, telemetry.TimeReading{}},
	} {
		text := c.series[0] + " 1\n"
		for _, s := range c.series[1:] {
			text += s + "_sum 3\n" + s + "_count 2\n"
		}
		p, err := readText(text, serverNames)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readServer(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Times); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, text := range []string{"_sum 3\n", "_count 3\n", "_bucket{le=\"1\"} 3\n", "_sum -3\n", "_bucket{le=\"x\"} 3\n"} {
		p, err := readText("vllm:num_requests_running 1\nvllm:request_queue_time_seconds"+text, serverNames)
		if err != nil {
			t.Fatal(err)
		}
		if got := readTimes(p, "vllm"); got != (telemetry.TimeReading{}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
