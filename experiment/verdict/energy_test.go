package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	fixture "bench/internal/fixturetest"
)

// Two GPUs of 300 and 100 W for 10 s, and 1,000 tokens/s: 4 kJ over 10,000 tokens.
func TestEnergy(t *testing.T) {
	row := record.Row{Window: record.Window{EndUs: 10e6}, GPU: &telemetry.GPUUsage{Devices: []telemetry.GPUDevice{
		{GPU: "0", EnergyJ: new(3000.)}, {GPU: "1", EnergyJ: new(1000.)}}}}
	row.Summary.Throughput.OutputTokensPerS = 1000
	target := experiment.Target{GPUs: 2}
	e := Measured{Row: &row}
	state, found := power(&e, target.GPUs)
	want := &record.Energy{GPUs: 2, Joules: 4000, PowerW: 400, PerToken: 0.4, TokensPerJoule: 2.5}
	if d := cmp.Diff(want, e.Energy, cmpopts.EquateApprox(1e-12, 0)); d != "" || state != "passed" {
		t.Error(d, state, found)
	}
	if x, ok := row.Figure("energy_j_per_output_token"); !ok || x != 0.4 {
		t.Error(x, ok)
	}
	e.Spec.Rate = 1 // its throughput has no interval
	judge := func(limit string) record.Verdict {
		l := fixture.SLO(t, limit).Limits[0]
		v := record.Verdict{Metric: l.Key, Limit: l.Value, Unit: l.Unit}
		e.judgeFigure(&v, question{limit: l}, &row.Summary, target)
		return v
	}
	for limit, want := range map[string]string{
		"energy_j_per_output_token = 0.5": "PASS energy per output token ≤ 0.5 J",
		"energy_j_per_output_token = 0.3": "FAIL energy per output token 0.400 J > 0.3 J",
		"min_output_tokens_per_j = 2":     "PASS output tok/s per W ≥ 2",
		"min_output_tokens_per_j = 3":     "FAIL output tok/s per W 2.50 < 3",
	} {
		v := judge(limit)
		text := LimitText(&v)
		if v.Verdict == "FAIL" {
			text = MissText(&v)
		}
		if got := string(v.Verdict) + " " + text; got != want {
			t.Errorf("%s: %q, want %q", limit, got, want)
		}
	}
	e.effects = []check.Effect{{Effect: record.Effect{Metric: "output_tokens_per_s", Direction: record.Lowered, Bound: new(2.), Unit: "x"}}}
	if v := judge("energy_j_per_output_token = 0.3"); v.Verdict != "UNDECIDED" { // with twice the tokens it was 0.2
		t.Errorf("a lowered throughput: %+v", v)
	}
}

func TestNoEnergyIsAbsent(t *testing.T) {
	e := Measured{Row: &record.Row{Window: record.Window{EndUs: 10e6}}}
	e.Summary.Throughput.OutputTokensPerS = 1000
	l := fixture.SLO(t, "energy_j_per_output_token = 1").Limits[0]
	var state string
	var found record.Finding
	verdict := func(gpus int) (v record.Verdict) {
		state, found = power(&e, gpus)
		e.judgeFigure(&v, question{limit: l}, &e.Summary, experiment.Target{GPUs: gpus})
		return v
	}
	if v := verdict(1); v.Verdict != "UNDECIDED" || v.Why != noPower || state != "" {
		t.Errorf("%+v", v)
	}
	e.GPU = &telemetry.GPUUsage{Devices: []telemetry.GPUDevice{{GPU: "0", EnergyJ: new(1000.)}}}
	v := verdict(4)
	if e.Energy != nil || v.Verdict != "UNDECIDED" || !strings.Contains(v.Why, "1 of 4 GPUs") ||
		found.Severity != record.Caution || found.Text != "no energy per token: the power of 1 of 4 GPUs was read" {
		t.Errorf("%+v, %+v", v, found)
	}
	e.GPU.Devices = append(e.GPU.Devices, telemetry.GPUDevice{GPU: "1", EnergyJ: new(1000.)})
	if v := verdict(1); v.Verdict != "UNDECIDED" || found.Severity != record.Note {
		t.Errorf("%+v, %+v", v, found)
	}
	if v := verdict(0); v.Verdict != "UNDECIDED" || state != "" {
		t.Errorf("%+v", v)
	}
	e.Summary.Throughput.OutputTokensPerS = 0
	if v := verdict(1); v.Verdict != "FAIL" || e.Energy != nil {
		t.Errorf("%+v", v)
	}
}

// power is how the check of the GPUs' power ended: passed, failed, or empty if the row does not ask; and its finding.
func power(e *Measured, gpus int) (state string, f record.Finding) {
	const code = "gpu_power"
	e.Energy, _ = check.EnergyOver(e.Row, &e.Summary, gpus)
	check.Run(e.Row, e.Records, gpus)
	for name, codes := range map[string][]string{"passed": e.Checks.Passed, "failed": e.Checks.Failed,
		"not possible": e.Checks.NotPossible} {
		if slices.Contains(codes, code) {
			state = name
		}
	}
	if i := slices.IndexFunc(e.Findings, func(f record.Finding) bool { return f.Code == code }); i >= 0 {
		f = e.Findings[i]
	}
	return state, f
}
