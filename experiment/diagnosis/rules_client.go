package diagnosis

import (
	"cmp"
	"slices"

	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/unit"
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
		Observation: "the client sent requests late, or was short of CPU", Bottleneck: clientLimited,
		Evidence: append(limits, collected(fact("client lag p99", v.lag, "ms"),
			fact("client CPU usage", v.cpu, "share"), fact("CPU steal", v.steal, "share"))...),
		Confirm:  "repeat the row from a larger client machine; or find this one's limit with bench selftest --save",
		Response: "measure again from a larger or idle machine, or at a lower load",
	}
}

func (v *pointMetrics) clientLimits() []Evidence {
	moved, _ := movedBy(v.p.Rows, clientBound)
	return append(moved, longLag(v.p.Rows)...)
}

// movedBy is what findings of a code left undecided, and what they moved by much; by is the first of these findings.
func movedBy(rows []*record.Row, code string) (out []Evidence, by *record.Finding) {
	add := func(f *record.Finding, e Evidence) {
		by = cmp.Or(by, f)
		if !slices.ContainsFunc(out, func(x Evidence) bool { return x.Figure == e.Figure }) {
			out = append(out, e)
		}
	}
	for _, r := range rows {
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

func longLag(rows []*record.Row) []Evidence {
	for _, r := range rows {
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

func (v *pointMetrics) unreliable() bool {
	return v.failing != nil || v.stalling != nil || v.clientLimits() != nil
}

const mostlyThrottled = 0.2

// checkClocks: the power cap counts only if decode is slow, since many GPUs run at it by design.
func checkClocks(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Observation: "GPU clocks were throttled during the row", Bottleneck: thermalOrPower,
		Confirm:  "lock the clocks below the limit (nvidia-smi -lgc) and repeat: TPOT no longer drifts",
		Response: "check cooling, power supply and power limit (nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER)",
	}
	shown := collected(fact("GPU temperature, max", v.heat, "°C"), fact("GPU power", v.watts, "W"),
		fact("TPOT p50", v.tpot, "ms"))
	least := mostlyThrottled
	if v.drifts() {
		least = check.MaxThrottledShare
	}
	switch {
	case v.throttled > least:
		d.Evidence = append(collected(atLeast("readings throttled by heat or power supply", v.throttled, "share",
			least)), shown...)
	case v.capped >= mostlyThrottled && v.slow():
		d.Evidence = append(collected(atLeast("readings at the power cap", v.capped, "share", mostlyThrottled),
			atLeast("TPOT p50", v.tpot, "ms", v.loadedHigh)), shown...)
		d.Observation = "decode is slow, and the GPU is at its power cap"
	default:
		return nil
	}
	return d
}

func (v *pointMetrics) drifts() bool {
	return check.SignificantTrend(v.tpotTrend) && v.tpotTrend.Change > 0 && !check.SignificantTrend(v.inFlight)
}

func checkDrift(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !v.drifts() {
		return nil
	}
	missing, collect := devices(v.p.Rows[0])
	if known(v.throttled) {
		missing = "what changed on the server: clocks were not throttled; check its log and other processes"
	}
	return &Diagnosis{
		Observation: "TPOT rises during the window at constant load", Bottleneck: unknownBottleneck,
		Evidence: collected(atLeast("rise of TPOT during the window", v.tpotTrend.Change, "share", check.MinTrend),
			fact("TPOT p50", v.tpot, "ms")),
		Missing:  []string{missing},
		Confirm:  "repeat the row for twice as long, and record clocks, temperature and throttle reasons",
		Response: collect + ", and check what else ran on the server at that time",
	}
}

func checkIdleStart(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	at := slices.IndexFunc(v.p.Rows, func(r *record.Row) bool { return !r.Server.Settle.Idle() })
	if at < 0 {
		return nil
	}
	s := v.p.Rows[at].Server.Settle
	return &Diagnosis{
		Bottleneck: unknownBottleneck,
		Observation: "the server still had " + unit.Brief(s.Running+s.Waiting, 3) +
			" other requests when the row began",
		Evidence: collected(fact("requests running at the start", s.Running, ""),
			fact("requests waiting at the start", s.Waiting, ""),
			fact("wait for an idle server", s.WaitedS, "s")),
		Missing:  []string{"a row that begins with an idle server"},
		Confirm:  "run the row alone: bench sweep MATRIX --only ROW",
		Response: "make settle longer, or find the other client; then run the row again",
	}
}
