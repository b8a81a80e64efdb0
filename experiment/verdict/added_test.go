package verdict

import (
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

// A repeat that a budget added is the second try: it takes half of the risk, and therefore more requests.
func TestRiskOfAddedRepeats(t *testing.T) {
	for added, want := range map[int]int{0: 0, 1: 6, 2: 19} { // 72, 86 and 99 requests
		e := Measured{Row: &record.Row{Window: record.Window{EndUs: 100e6}}}
		e.Spec.Added, e.Spec.SLO = added, fixture.SLO(t, "error_rate = 0.05")
		for i := range 80 {
			e.Records = append(e.Records, fixture.OKRequest(int64(i)*1e6, int64(i)*1e6+1000))
		}
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		if v := e.SLO[0]; v.Need != want || (v.Verdict == "PASS") != (want == 0) {
			t.Errorf("added %d: %s, needs %d, want %d", added, v.Verdict, v.Need, want)
		}
	}
}
