package report

import (
	"bytes"
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/reporttest"
)

// TestEnergy: every row had two GPUs of 350 W each. The answer has users per kW, the table J/token.
func TestEnergy(t *testing.T) {
	run := fixtureRun()
	for i := range run.Rows {
		if tokens := run.Rows[i].Summary.Throughput.OutputTokensPerS; tokens > 0 {
			run.Rows[i].Energy = &record.Energy{GPUs: 2, PowerW: 700, Joules: 7000, PerToken: 700 / tokens, TokensPerJoule: tokens / 700}
		}
	}
	var b bytes.Buffer
	if err := Brief(&b, run, Screen{}); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	if err := Text(&b, run, Screen{Width: 160}); err != nil {
		t.Fatal(err)
	}
	fixture.Golden(t, *update, "energy.golden", b.Bytes())
}
