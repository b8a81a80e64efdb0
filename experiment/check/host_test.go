package check

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
)

// A stall on a machine without free cores is the machine's.
func TestStalledOnABusyHost(t *testing.T) {
	e := (&stage{workers: 8, prefill: func(int) int64 { return 50_000 }, server: span{6_000_000, 9_000_000}, seconds: 12}).measured()
	e.Host, e.Client.CPUWait, e.Client.ServerRunDelay = crowd(30, 31), waitsFor(0.5), new(0.5)
	e.checked()
	i := slices.IndexFunc(e.Findings, func(f record.Finding) bool { return f.Code == "server_stalled" })
	if i < 0 || !strings.HasSuffix(e.Findings[i].Text, "; its machine was short of CPU (client_machine)") || strings.Contains(e.Findings[i].Hint, "garbage") {
		t.Errorf("%+v", e.Findings)
	}
}
