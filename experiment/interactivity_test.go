package experiment

import "testing"

// A minimum of E2E interactivity is a maximum of E2E per output token at p90.
func TestMinInteractivity(t *testing.T) {
	var slo SLO
	slo.DecodeTOML(map[string]any{"min_e2e_interactivity": int64(50)}, func(key, problem, _ string) { t.Error(key, problem) })
	if want := (Limit{Key: "e2e_per_token_p90", Metric: "e2e_per_token", Stat: "p90", Value: 20, Unit: "ms"}); len(slo.Limits) != 1 || slo.Limits[0] != want {
		t.Errorf("%+v, want %+v", slo.Limits, want)
	}
	for _, wrong := range []any{int64(0), "50", -1.0} {
		said := false
		new(SLO).DecodeTOML(map[string]any{"min_e2e_interactivity": wrong}, func(string, string, string) { said = true })
		if !said {
			t.Errorf("%v is no error", wrong)
		}
	}
}
