package verdict

import (
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func (e *Measured) notes() []record.Finding {
	var out []record.Finding
	var keys []string // latencies of a user, limited in a closed loop
	for _, l := range e.Spec.SLO.Limits {
		if e.Spec.Closed() && (l.Metric == "ttft" || l.Metric == "e2e") {
			keys = append(keys, l.Key)
		}
	}
	if len(keys) > 0 {
		out = append(out, record.Finding{Code: "closed_loop", Severity: record.Note,
			Text: fmt.Sprintf("closed loop: %s count from a free worker; users who arrive independently queue first and wait longer", strings.Join(keys, ", ")),
			Hint: "limit users' latency in a row with a rate"})
	}
	if g := e.Server.Gateway; g != nil {
		out = append(out, e.gatewayNote(g))
	}
	out = append(out, e.leaverNotes()...)
	return append(out, e.replicaNotes()...)
}

func (e *Measured) gatewayNote(g *record.Gateway) record.Finding {
	text := fmt.Sprintf("%s %s answers in the server's place: latencies contain it", g.Name, g.Version)
	if o, ttft := g.Overhead, e.Summary.TTFT; o != nil {
		text += fmt.Sprintf("; it reports %s ms of its own at p50", unit.Brief(o.P50, 3))
		if ttft != nil && ttft.P50 > 0 {
			text += fmt.Sprintf(", beside ttft p50 %s ms", unit.Brief(ttft.P50, 3))
		}
	}
	return record.Finding{Code: "gateway", Severity: record.Note, Text: text,
		Hint: "to separate the two, measure the server itself as well (bench compare), and set [telemetry] server to its metrics page"}
}
