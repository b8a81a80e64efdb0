package verdict

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
)

// notes lists how the row's figures can be misread, whatever the checks find.
func (e *Measured) notes() []record.Finding {
	var out []record.Finding
	var keys []string // latencies of a user, limited in a closed loop
	for _, l := range e.Spec.SLO.Limits {
		if e.Spec.Rate == 0 && (l.Metric == "ttft" || l.Metric == "e2e") {
			keys = append(keys, l.Key)
		}
	}
	if len(keys) > 0 {
		out = append(out, record.Finding{Code: "closed_loop", Severity: record.Note,
			Text: fmt.Sprintf("closed loop: %s count from a free worker; users who arrive independently queue first and wait longer", strings.Join(keys, ", ")),
			Hint: "limit users' latency in a row with a rate"})
	}
	if len(e.Spec.Mix) < 2 {
		return out
	}
	var names []string
	for _, c := range e.Spec.Mix {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return append(out, record.Finding{Code: "pooled_classes", Severity: record.Note,
		Text: fmt.Sprintf("percentiles of the row pool %d classes (%s): they describe no class, and depend on the weights", len(names), strings.Join(names, ", ")),
		Hint: "read each class separately, and limit each in [row.mix.slo]"})
}
