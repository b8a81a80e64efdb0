package experiment

import (
	"math"
	"testing"
)

func TestConfidence(t *testing.T) {
	for _, c := range []struct {
		v    any
		want float64 // 0: an error
	}{{0.95, 0.95}, {0.5, 0.5}, {0.9999, 0.9999}, {0.0, 0}, {1.0, 0}, {-1.0, 0}, {95.0, 0}, {math.NaN(), 0}, {math.Inf(1), 0}, {"95%", 0}, {int64(1), 0}} {
		var slo SLO
		bad := 0
		slo.DecodeTOML(map[string]any{"confidence": c.v, "ttft_p95": "1s"}, func(key, _, hint string) {
			if bad++; key != "confidence" || hint == "" {
				t.Errorf("%v: error at %q, hint %q", c.v, key, hint)
			}
		})
		if slo.Confidence != c.want || (bad == 0) != (c.want > 0) {
			t.Errorf("%v: confidence %v, %d errors", c.v, slo.Confidence, bad)
		}
	}
	if at := (SLO{}).At(); at != DefaultConfidence {
		t.Errorf("default %v", at)
	}
	var preset SLO
	preset.DecodeTOML(map[string]any{"mlperf": "llama2-70b/server"}, func(key, problem, _ string) { t.Error(key, problem) })
	if preset.At() != 0.99 {
		t.Errorf("MLPerf's: %v", preset.At())
	}
}
