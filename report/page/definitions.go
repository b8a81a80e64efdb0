package page

// definition explains a word that the heads of columns link to.
type definition struct{ ID, Word, Text string }

var definitions = []definition{
	{"ttft", "TTFT", "Time to first token: intended arrival to first token-bearing event. In a closed loop the intended arrival is the moment the worker was free; such rows are marked \"closed loop\"."},
	{"tpot", "TPOT", "Time per output token of a request with two output tokens or more: (last token − first token) / (output tokens − 1)."},
	{"e2e", "E2E", "Intended arrival to last token-bearing event; without streaming to the last byte."},
	{"throughput", "Throughput", "Requests and tokens received in the measurement window, of any request, divided by its length. Offered: intended arrivals in the window divided by its length."},
	{"percentile", "Percentiles", "Exact order statistics with linear interpolation (Hyndman–Fan type 7) over the completed requests of the window. 95 % intervals are from order statistics, without assuming a distribution. ~ thin: few independent requests beyond it. ≥ n too small for an upper bound: the lower end of the interval. With repeats: the median of their percentiles, the range spanned by their intervals, and n of the smallest repeat."},
	{"failures", "n, failed", "n: completed requests (ok and short). Failed: all other requests of the window, unfinished ones included. Shown percentiles are over completed requests; under an SLO failed requests rank as infinitely slow."},
	{"slo", "SLO", "PASS and FAIL hold with 99 % confidence; UNDECIDED needs more requests, about as many as stated if the share over the limit stays the same. The verdict of a point is the worst of its limits and repeats."},
	{"validity", "Validity", "Checks of the measurement itself. Invalid: a figure is wrong, the row is left out of answers. Caution: the row was disturbed, verdicts account for the effect. A check that was not possible is not a passed one: VALID, 9 of 11 checks passed."},
	{"roofline", "Roofline (floor, typical range)", "Floor: time at the peak bandwidth and compute of the hardware. Only a cache or speculation can beat it. Typical: time at usual efficiencies. Both at the observed batch and context. MBU, MFU: shares of peak memory bandwidth and compute."},
	{"lag", "Client lag", "From the moment a request was ready to its first byte in the kernel. Read lag: mean time from the kernel's receipt of a token to the return of the read; kernel timestamps do not contain it."},
	{"steady", "Steadiness", "Trends of a metric through the window, as a share of its median, with p-values. MSER-5: requests to truncate at the start for the most precise mean. Little's law: concurrency = rate of completions × time in the system; a difference means that a queue grows or drains."},
	{"reuse", "Prefix-cache hits", "Possible: prompt tokens that an unbounded cache would hold, from the plan alone. Reported: cached tokens in the server's usage."},
	{"cost", "Cost", "Price of the GPUs over the window divided by its output tokens. At a utilization: if the GPUs carry this load only in that share of their hours."},
	{"peruser", "Interactivity", "Output tok/s/user: 1 / TPOT p50. Against output tok/s/GPU it shows the throughput cost of faster answers."},
	{"knee", "Max load within SLO, saturation, knee, frontier", "Max load within SLO: the highest valid load that meets the SLO. Saturation: the first load with less than 95 % of the offered requests/s, beyond chance; in a closed loop, the concurrency above which an added request gains less than a tenth of the first ones, beyond noise. Knee: where throughput bends by more than its noise (Kneedle). Frontier: points that no other point of the series beats in both output throughput and p99 latency, as drawn: a p99 without an upper bound is ranked by the lower end of its interval, so more requests can take it off the frontier."},
}
