package diagnosis

import (
	"slices"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func checkIdleStart(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	at := slices.IndexFunc(v.p.Rows, func(r *record.Row) bool { return !r.Server.Settle.Idle() })
	if at < 0 {
		return nil
	}
	s := v.p.Rows[at].Server.Settle
	d := &Diagnosis{
		Bottleneck: UnknownBottleneck,
		Observation: "the server still had " + unit.Brief(s.Running+s.Waiting, 3) +
			" other requests when the row began",
		Evidence: collected(fact("requests running at the start", s.Running, ""),
			fact("requests waiting at the start", s.Waiting, ""),
			fact("wait for an idle server", s.WaitedS, "s")),
		Missing:  []string{"a row that begins with an idle server"},
		Confirm:  "run the row alone: bench sweep MATRIX --only ROW",
		Response: "make settle longer, or find the other client; then run the row again",
	}
	return d
}
