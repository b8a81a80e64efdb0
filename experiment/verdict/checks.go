package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// finding is what came of one check.
type checkResult struct {
	possible bool   // there were data to decide it
	problem  string // empty = passed
	hint     string
	silent   bool // what the row rests on can't be checked, since the server does not tell: neither passed nor failed
}

func passed() checkResult { return checkResult{possible: true} }

func failed(hint, problem string, args ...any) checkResult {
	return checkResult{possible: true, problem: fmt.Sprintf(problem, args...), hint: hint}
}

// unverified says that the row rests on what nobody could check.
func unverified(hint, problem string) checkResult {
	return checkResult{silent: true, problem: problem, hint: hint}
}

// noData says that a check could not be made.
var noData = checkResult{}

// checks in the order in which they are shown. A code is stable: others match on it.
var checks = []struct {
	code string
	make func(*Measured) checkResult
}{
	{"errors", checkErrors},
	{"unfinished", checkUnfinished},
	{"short", checkShort},
	{"few_samples", checkSamples},
	{"client_bound", checkLag},
	{"client_cpu", checkClient},
	{"network", checkNetwork},
	{"connections", checkConnections},
	{"stamps", checkStamps},
	{"arrivals", checkArrivals},
	{"rate_not_achieved", checkRate},
	{"concurrency", checkConcurrency},
	{"warmup", checkWarmup},
	{"unsteady", checkSteady},
	{"heterogeneous", checkHeterogeneous},
	{"prompt_length", checkPromptLength},
	{"output_length", checkOutputLength},
	{"token_counts", checkTokenCounts},
	{"tokens_per_event", checkTokensPerEvent},
	{"buffered", checkBuffered},
	{"prefix_cache", checkPrefix},
	{"faster_than_bound", checkRoofline},
	{"server_restarted", checkRestarted},
	{"shared_server", checkShared},
	{"server_logs", checkLogs},
	{"gpu_throttled", checkThrottled},
	{"gpu_processes", checkGPUProcesses},
	{"host_load", checkHost},
}

// needLoad are the checks of a load: a cold start skips them.
var needLoad = []string{"few_samples", "warmup", "rate_not_achieved", "concurrency"}

// finding makes every check and fills the row's findings, notes and validity.
func (e *Measured) runChecks() {
	e.Steady, e.Arrivals, e.Notes = e.steadiness(), e.observeArrivals(), e.noteRow()
	e.Findings = []record.Finding{}
	e.Checks = record.Checks{Passed: []string{}, Failed: []string{}, NotPossible: []string{}}
	for _, c := range checks {
		f := c.make(e)
		if e.Spec.Cold() && slices.Contains(needLoad, c.code) {
			f = noData
		}
		switch {
		case f.silent:
			e.Checks.Unverified = append(e.Checks.Unverified, c.code)
			e.Findings = append(e.Findings, record.Finding{Code: c.code, Text: f.problem, Hint: f.hint})
		case !f.possible:
			e.Checks.NotPossible = append(e.Checks.NotPossible, c.code)
		case f.problem == "":
			e.Checks.Passed = append(e.Checks.Passed, c.code)
		default:
			e.Checks.Failed = append(e.Checks.Failed, c.code)
			e.Findings = append(e.Findings, record.Finding{Code: c.code, Text: f.problem, Hint: f.hint})
		}
	}
}

// tolerated is the share of requests that may go wrong before a row is doubted.
const tolerated = 0.01

func checkErrors(e *Measured) checkResult {
	f := e.checkOutcomes()
	if command := e.scarce(); f.problem != "" && command != "" {
		f.hint = "this machine's limit was reached: " + command + ", then run again"
	}
	return f
}

func (e *Measured) checkOutcomes() checkResult {
	q := e.Summary.Requests
	switch {
	case q.Planned == 0 && e.Window.Cut:
		return failed("make max_duration longer, or the warm-up shorter", "no request fell into the window: max_duration ended the row")
	case q.Planned == 0 && e.AllFailed():
		return failed("look at the server's log; if it is only slow, make duration longer",
			"no request fell into the window, and no token came: the %d of the warm-up had no answer", q.Warmup)
	case q.Planned == 0:
		return failed("make duration longer or the rate higher", "no request fell into the window")
	}
	if e.Summary.ErrorRate <= tolerated {
		return passed()
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(q.Errors)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", q.Errors[k], k))
	}
	text := fmt.Sprintf("%d of %d requests failed (%s): percentiles are over the others", q.Failed, q.Planned, strings.Join(kinds, ", "))
	if first := e.firstError(); first != "" {
		text += "; first: " + first
	}
	return failed("look at the server's log, then run again", "%s", text)
}

func (e *Measured) firstError() string {
	for _, r := range e.Records {
		if r.Phase == record.PhaseWindow && r.Error != "" {
			return r.Error
		}
	}
	return ""
}

func checkUnfinished(e *Measured) checkResult {
	if n := e.Summary.Requests.Unfinished; n > 0 && e.Window.Cut {
		return failed("make max_duration longer, or lower the load", "%d requests of the window were not over when max_duration ended the row; they count as failed", n)
	} else if n > 0 {
		return failed("lower the load, or give grace more time",
			"%d requests of the window were not over %g s after its end; they count as failed", n, e.Spec.GraceTime().Seconds())
	}
	return passed()
}

func checkShort(e *Measured) checkResult {
	if !e.Spec.Forced() || e.Summary.Requests.Completed == 0 {
		return noData
	}
	if n, of := e.Summary.Requests.Short, e.Summary.Requests.Completed; float64(n) > tolerated*float64(of) {
		return failed(`the server does not obey ignore_eos or min_tokens: set what it takes in [target.extra_body], or stop = "natural"`,
			"%d of %d answers ended before the tokens that were forced: rows of different servers can't be compared", n, of)
	}
	return passed()
}

func checkSamples(e *Measured) checkResult {
	if e.AllFailed() {
		return noData
	}
	need := stats.MinSamples(0.9, 0.95)
	if n := e.Summary.Requests.Completed; n < need {
		return failed("raise requests or duration", "%d completed requests carry no percentile above the median (p90 needs %d)", n, need)
	}
	return passed()
}

// checkLag compares like with like: the client's lateness at the median with the median of TTFT, at
// p99 with its p99 (without streaming, of e2e). The set-up of a connection is not the client's
// lateness; and up to a millisecond is never held against a row. A row that was sent in time is held
// against the self-test of this machine.
func checkLag(e *Measured) checkResult {
	latency := e.Summary.TTFT
	if latency == nil {
		latency = e.Summary.E2E
	}
	var late []float64
	for r := range record.Completed(e.Records) {
		ms, ok := r.Latency("lag", true)
		if !ok {
			continue
		}
		if r.ConnectUs != nil {
			ms -= float64(*r.ConnectUs) / 1e3
		}
		late = append(late, ms)
	}
	lag := stats.Summarize(late)
	if lag == nil || latency == nil {
		return noData
	}
	const share = 0.05
	for _, p := range []string{"p50", "p99"} {
		behind, _ := lag.Get(p)
		all, _ := latency.Get(p)
		if limit := max(1, share*all); behind > limit {
			return failed("use a larger client machine, or lower the load (bench selftest --save tells how much this one takes); a server on the same machine takes the client's cores",
				"the client itself sent late: %s %s ms (limit %s ms)", p, unit.Brief(behind, 3), unit.Brief(limit, 3))
		}
	}
	return e.withinSelftest()
}

// checkConnections asks whether connections were open when they were needed, as an application's are.
func checkConnections(e *Measured) checkResult {
	var setup []float64
	n := 0
	for r := range record.Completed(e.Records) {
		n++
		if r.ConnectUs != nil {
			setup = append(setup, float64(*r.ConnectUs)/1e3)
		}
	}
	if n == 0 {
		return noData
	}
	if e.Spec.Fresh() { // that is what is measured
		return passed()
	}
	if s := stats.Summarize(setup); s != nil && float64(s.N) > tolerated*float64(n) && s.P50 > tolerated*e.Summary.E2E.P50 {
		return failed("compare only with runs that connect as often; the server may close connections: see connections in run.json",
			"%d of %d requests opened a connection: %s ms at the median, inside ttft and e2e", s.N, n, unit.Brief(s.P50, 3))
	}
	return passed()
}

func checkStamps(e *Measured) checkResult {
	c := e.Clock
	switch {
	case c.KernelStamps == 0:
		return noData // user stamps only: what they add can't be known
	case float64(c.UserStamps) > tolerated*float64(c.KernelStamps):
		return failed("run again; if it stays, report the kernel version",
			"%d of %d arrivals have no kernel stamp: two clocks are mixed", c.UserStamps, c.UserStamps+c.KernelStamps)
	}
	return passed()
}

func checkRate(e *Measured) checkResult {
	if e.AllFailed() || e.Spec.Rate == 0 || e.Spec.Rate.IsInf() || e.Summary.Requests.Planned < 20 || e.Summary.DurationS <= 0 {
		return noData
	}
	if e2e := e.Summary.E2E; e2e != nil && float64(e.Window.StartUs-e.firstArrival())/1e3 < e2e.Min {
		return noData // the window began before the first answers were due
	}
	n := float64(e.Summary.Requests.Planned)
	asked := n / e.Summary.DurationS
	chance := 2 / math.Sqrt(n) // what Poisson arrivals and departures differ by
	if got := e.Summary.Throughput.RequestsPerS; got < (1-max(0.1, chance))*asked {
		return failed("take the highest rate that is achieved as the limit; above it latency only tells how long the row ran",
			"the server did not keep up: %s of %s requests/s", unit.Brief(got, 3), unit.Brief(asked, 3))
	}
	return passed()
}

// firstArrival is when the load began, µs; the records stand in the order of their ends.
func (e *Measured) firstArrival() int64 {
	first := e.Window.StartUs
	for _, r := range e.Records {
		if !r.At.IsZero() {
			first = min(first, r.At.Us())
		}
	}
	return first
}

func checkConcurrency(e *Measured) checkResult {
	if e.Spec.Concurrency == 0 {
		return noData
	}
	n, c := e.Spec.Concurrency, e.Summary.Concurrency
	if c.Max <= n && (e.Summary.Requests.Planned == 0 || e.Summary.ErrorRate > tolerated) {
		return noData // requests that fail at once fill no slot, and that is not the client's fault
	}
	if c.Max > n {
		return failed("this is a defect of bench: report it with the request records", "%d requests were in flight, %d were asked for", c.Max, n)
	}
	if e.Spec.Rate == 0 && !e.Spec.Converses() && c.Mean < 0.9*float64(n) { // users think between their turns
		return failed("the client can't fill the slots: give it more cores, or make the answers longer",
			"%s requests in flight on average, %d were asked for", unit.Brief(c.Mean, 3), n)
	}
	return passed()
}

func checkWarmup(e *Measured) checkResult {
	if e.Spec.Rate.IsInf() {
		return noData
	}
	if e.Summary.Requests.Warmup == 0 {
		return failed(`write warmup = "10s"`, "no request was sent before the window: it holds the ramp-up")
	}
	return passed()
}
