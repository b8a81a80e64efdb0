package experiment

import (
	"math"
	"strings"
	"testing"

	"bench/experiment/stats"
	"bench/experiment/workload"
)

func TestCheckUntil(t *testing.T) {
	p99 := tableOf(t, `ttft_p99 = "1s"`)
	for _, c := range []struct {
		name string
		spec Spec
		want string
	}{
		{"none", Spec{}, ""},
		{"decided", Spec{Until: "decided", SLO: p99}, ""},
		{"unknown", Spec{Until: "later", SLO: p99}, `unknown until "later"`},
		{"no SLO", Spec{Until: "decided"}, "no limit that more requests could decide"},
		{"only a throughput", Spec{Until: "decided", SLO: tableOf(t, `min_requests_per_s = 3`)}, "no limit"},
		{"all at once", Spec{Until: "decided", SLO: p99, Workload: workload.Workload{Rate: workload.Rate(math.Inf(1))}}, "sends all requests at once"},
		{"conversations", Spec{Until: "decided", SLO: p99, Workload: workload.Workload{Session: &workload.Session{}}}, "do not depend on the answers"},
	} {
		got := ""
		c.spec.checkUntil(func(key, problem, hint string) { got = key + ": " + problem + hint })
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if (stats.Looks{}).At(1) != 64 {
		t.Error("the figures above are for a first look after 64")
	}
}
