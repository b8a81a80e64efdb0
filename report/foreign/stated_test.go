package foreign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestLoadStated: what a file states stands before its lists; what it does not state is of the lists.
func TestLoadStated(t *testing.T) {
	const file = `{"completed": 2, "failed": 1, "request_throughput": 1, "total_token_throughput": 1, "duration": 1,
		"output_lens": [2, 2], "ttfts": [0.05, 0.05], "itls": [[0.01], [0.01]], "median_ttft_ms": %s}`
	name := filepath.Join(t.TempDir(), "r.json")
	for text, want := range map[string]float64{"0.05": 0.05, `null, "p50_ttft_ms": 50`: math.Inf(1),
		`50, "p50_ttft_ms": null`: math.Inf(1), "51": 51, "NaN": math.Inf(1), `"50"`: math.Inf(1),
		"Infinity": math.Inf(1)} {
		if err := os.WriteFile(name, fmt.Appendf(nil, file, text), 0o644); err != nil {
			t.Fatal(err)
		}
		run, err := LoadStated(name)
		if err != nil {
			t.Fatal(err)
		}
		s := run.Rows[0].Summary
		if s.TTFT.P50 != want || s.TTFT.P99 != 50 || s.ITL.P50 != 10 || s.Requests.Failed != 1 {
			t.Errorf("%s: %+v, %+v, %+v", text, s.TTFT, s.ITL, s.Requests)
		}
		if plain, err := Load(name); err != nil || plain.Rows[0].Summary.TTFT.P50 != 50 {
			t.Errorf("%v", err)
		}
	}
}
