package verdict

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
)

// notes say how a row is to be read where it is easily read wrong; they are no reason to finding it.
func (e *Measured) noteRow() []record.Finding {
	var out []record.Finding
	for _, note := range []func(*Measured) (record.Finding, bool){noteClosed, notePooled} {
		if d, ok := note(e); ok {
			out = append(out, d)
		}
	}
	return out
}

// noteClosed warns of a limit on what a user would wait for, in a loop that waits for the server.
func noteClosed(e *Measured) (record.Finding, bool) {
	if e.Spec.Rate > 0 {
		return record.Finding{}, false
	}
	var keys []string
	for _, l := range e.Spec.SLO.Limits {
		if l.Metric == "ttft" || l.Metric == "e2e" {
			keys = append(keys, l.Key)
		}
	}
	if len(keys) == 0 {
		return record.Finding{}, false
	}
	return record.Finding{Code: "closed_loop",
		Text: fmt.Sprintf("%s count from the slot: in a closed loop the next request waits for the server, so nobody queues; users who come when they like wait longer", strings.Join(keys, ", ")),
		Hint: "judge users' latency in a row with a rate"}, true
}

// notePooled warns of percentiles over classes: they are of no class, and move with the weights.
func notePooled(e *Measured) (record.Finding, bool) {
	if len(e.Spec.Mix) < 2 {
		return record.Finding{}, false
	}
	names := make([]string, len(e.Spec.Mix))
	for i, c := range e.Spec.Mix {
		names[i] = c.Name
	}
	slices.Sort(names)
	return record.Finding{Code: "pooled_classes",
		Text: fmt.Sprintf("percentiles of the whole row are pooled over %d classes (%s): they are those of no class, and move with its weights", len(names), strings.Join(names, ", ")),
		Hint: "read the classes apart, and limit each in [row.mix.slo]"}, true
}
