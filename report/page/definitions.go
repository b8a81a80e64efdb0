package page

import (
	"slices"

	"bench/experiment/record"
	"bench/report"
)

type definition struct{ ID, Word, Text string }

// onlyWith are the definitions of figures that few runs have: a page has them if a row has the figure.
var onlyWith = map[string]func(record.Row) bool{
	"ttfo":              func(r record.Row) bool { return r.Summary.TTFO != nil },
	"speculation":       func(r record.Row) bool { return r.Speculation != nil },
	"energy":            func(r record.Row) bool { return r.Energy != nil },
	"sessions":          func(r record.Row) bool { return r.Sessions != nil },
	"e2e_interactivity": func(r record.Row) bool { return r.Sessions != nil },
}

func definitionsFor(runs []*report.Run) []definition {
	return slices.DeleteFunc(slices.Clone(definitions), func(d definition) bool {
		has := onlyWith[d.ID]
		return has != nil && !slices.ContainsFunc(runs,
			func(r *report.Run) bool { return slices.ContainsFunc(r.Live(), has) })
	})
}

var definitions = []definition{
	{"slo", "SLO",
		"PASS: the whole interval of the estimate (95 %, or the SLO's confidence) is within the limit; FAIL: it is beyond; UNDECIDED leans. The worst limit and repeat count."},
	{"answers", "SHIP, LIKELY, BASELINE",
		"SHIP: a measured load passes. LIKELY: only the estimate does. BASELINE: a single user."},
	{"twin", "Twin, likely", "A model fitted to measured loads. Likely: should pass, not measured."},
	{"users", "Users", "One request a minute each."},
	{"marks", "Marks in charts",
		"At the estimate. c: concurrency; /s: requests/s. Faint, dashed: n too small or thin. Bars: 95 % interval. ★: operating point."},
	{"ttft", "TTFT",
		"Intended arrival to first token-bearing event. In a closed loop a request arrives when its worker is free. From send, as many tools count: beside it."},
	{"ttfo", "TTFO",
		"Intended arrival to first answer token (content or tool call), behind the reasoning. Without reasoning: TTFT."},
	{"ttftparts", "TTFT by part", "Frontend: until the engine takes the request. Queue: until it is scheduled."},
	{"tpot", "TPOT", "(last token − first token) / (output tokens − 1)."},
	{"itl", "ITL",
		"Gap between token-bearing events, pooled over requests; n counts gaps. A high p99 is stutter that TPOT averages out."},
	{"e2e", "E2E", "Intended arrival to last token-bearing event."},
	{"peruser", "tok/s/user", "Interactivity: 1 / TPOT p50."},
	{"throughput", "Throughput", "Received in the window, of any request, per second."},
	{"percentile", "Percentiles",
		"Hyndman–Fan type 7. ~ thin: few independent requests beyond it. ≥ lower bound, n= none: n too small. Of repeats: the median."},
	{"failures", "n, failed",
		"n: completed requests. Under an SLO, failed and unfinished ones rank as infinitely slow."},
	{"validity", "Findings",
		"invalid: a figure is wrong, the row is left out. caution: disturbed; verdicts account for it. note: how figures can be misread."},
	{"roofline", "Roofline",
		"Floor: time at peak bandwidth and compute; only a cache or unreported speculation beats it. Typical: at usual efficiencies. MBU, MFU: shares of the peaks."},
	{"speculation", "Speculative decoding",
		"Acceptance length: 1 + accepted / drafts. Tokens per step: of all decode steps of a request. TPOT is per token, ITL per event."},
	{"knee", "Saturation, knee, frontier",
		"Saturation: below 95 % of the offered requests/s; in a closed loop, an added request gains under a tenth of the first ones. Knee: throughput bends (Kneedle). Frontier: no other point has more of both."},
	{"cost", "USD/M out", "Price of the GPUs over the window per million output tokens."},
	{"energy", "J/token, users per kW",
		"Energy of the row's GPUs in the window ÷ output tokens; users who ask once a minute ÷ their mean power."},
	{"reuse", "Prefix-cache hits",
		"Possible: in an unbounded cache, in blocks of the server. Reported: in its usage, else by its counters over the whole row."},
	{"sessions", "Sessions",
		"Conversations or agent runs that began in the window and completed; cut: went on at the row's end. Tool time: share without a request in flight. Per turn: session time ÷ requests of the main agent."},
	{"e2e_interactivity", "E2E interactivity",
		"1 / p90 of E2E ÷ output tokens: nine of ten requests had at least this many tokens/s, waiting included."},
	{"lag", "Client lag",
		"From a ready request to its first byte in the kernel. Read lag: from a token in the kernel to its read."},
	{"steady", "Steadiness",
		"Lowest p of the trends through the window. Little's law: concurrency = completions/s × time in the system (✓: holds)."},
}
