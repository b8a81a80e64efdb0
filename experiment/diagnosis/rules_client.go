package diagnosis

import (
	"cmp"
	"slices"

	"bench/experiment/check"
	"bench/experiment/record"
)

// clientMatters is the share of a figure that the client must be able to explain: check.MinTrend.
const clientMatters = check.MinTrend

// Codes of findings.
const (
	clientBound   = "client_bound"
	clientMachine = "client_machine"
)

func checkClient(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	limits := v.clientLimits()
	if limits == nil {
		return nil
	}
	return &Diagnosis{
		Observation: "the client sent requests late, or was short of CPU", Bottleneck: ClientLimited,
		Evidence: append(limits, collected(fact("client lag p99", v.lag, "ms"),
			fact("client CPU usage", v.cpu, "share"), fact("CPU steal", v.steal, "share"))...),
		Confirm:  "repeat the row from a larger client machine; or find this one's limit with bench selftest --save",
		Response: "measure again from a larger or idle machine, or at a lower load",
	}
}

func (v *pointMetrics) clientLimits() []Evidence {
	moved, _ := v.movedBy(clientBound)
	return append(moved, v.longLag()...)
}

// movedBy is what findings of a code left undecided, and what they moved by much; by is the first of these findings.
func (v *pointMetrics) movedBy(code string) (out []Evidence, by *record.Finding) {
	add := func(f *record.Finding, e Evidence) {
		by = cmp.Or(by, f)
		if !slices.ContainsFunc(out, func(x Evidence) bool { return x.Figure == e.Figure }) {
			out = append(out, e)
		}
	}
	for _, r := range v.p.Rows {
		for _, f := range r.Findings {
			if f.Severity == record.Note || f.Code != code {
				continue
			}
			for _, x := range r.SLO {
				if x.WasOpenedBy(&f) {
					add(&f, fact("limits undecided by "+f.Code, 1, ""))
				}
			}
			for _, x := range f.Effects {
				if e, ok := large(r, &f, &x); ok {
					add(&f, e)
				}
			}
		}
	}
	return out, by
}

func (v *pointMetrics) longLag() []Evidence {
	for _, r := range v.p.Rows {
		latency := cmp.Or(r.Summary.TTFT, r.Summary.E2E)
		found := slices.ContainsFunc(r.Findings, func(f record.Finding) bool { return f.Code == clientBound })
		for _, name := range []string{"p50", supportedTail(r)} {
			lag, whole := percentile(r.Summary.Lag, name), percentile(latency, name)
			if found && lag != nil && whole != nil && *lag >= clientMatters**whole && *lag > 0 {
				return []Evidence{atLeast("client lag "+name, *lag, "ms", clientMatters**whole)}
			}
		}
	}
	return nil
}

func large(r *record.Row, f *record.Finding, x *record.Effect) (Evidence, bool) {
	switch {
	case x.Bound == nil && x.Unit == record.UnitFactor:
		return fact(x.Metric+" moved by the client, unbounded", 1, ""), true
	case x.Bound == nil:
		return Evidence{}, false
	case x.Unit == record.UnitFactor:
		return atLeast(x.Metric+" moved by the client, factor", *x.Bound, "", 1+clientMatters), *x.Bound >= 1+
			clientMatters
	case x.Unit == record.UnitRequests:
		share := *x.Bound / float64(max(1, r.Summary.Requests.Completed))
		return atLeast("requests moved by the client", share, "share", clientMatters), share >= clientMatters
	case !f.Touches("e2e_from_send") || x.Metric == "itl":
		return Evidence{}, false
	}
	whole := percentile(r.Summary.Latency(x.Metric), supportedTail(r))
	if whole == nil {
		return Evidence{}, false
	}
	return atLeast(x.Metric+" moved by the client", *x.Bound, "ms",
		clientMatters**whole), *x.Bound >= clientMatters**whole
}
