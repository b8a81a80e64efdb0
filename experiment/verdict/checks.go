package verdict

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/unit"
)

// checkResult is the result of one check. The zero value: the check was not possible.
type checkResult struct {
	possible   bool            // the row has the data for the check
	severity   record.Severity // empty = passed
	problem    string
	hint       string
	effects    []effect
	unverified bool // the row depends on a figure that the server does not report: neither passed nor failed
	unasked    bool // the row asks for nothing of the kind: the check is in no list
}

func passed() checkResult { return checkResult{possible: true} }

func invalid(hint, problem string, args ...any) checkResult {
	return found(record.Invalid, hint, problem, args...)
}

func caution(hint, problem string, args ...any) checkResult {
	return found(record.Caution, hint, problem, args...)
}

func note(hint, problem string, args ...any) checkResult {
	return found(record.Note, hint, problem, args...)
}

func found(s record.Severity, hint, problem string, args ...any) checkResult {
	return checkResult{possible: true, severity: s, problem: fmt.Sprintf(problem, args...), hint: hint}
}

func unverified(hint, problem string) checkResult {
	return checkResult{unverified: true, severity: record.Caution, problem: problem, hint: hint}
}

func (c checkResult) touching(effects ...[]effect) checkResult {
	c.effects = append(c.effects, slices.Concat(effects...)...)
	return c
}

// and adds what another check found to c, whose hint and severity stand if it found something, too.
func (c checkResult) and(other checkResult) checkResult {
	switch {
	case other.severity == "":
		return c
	case c.severity == "":
		return other
	}
	c.problem += "; " + other.problem
	return c.touching(other.effects)
}

func (c checkResult) as(code string) record.Finding {
	return record.Finding{Code: code, Severity: c.severity, Text: c.problem, Hint: c.hint}
}

var noData = checkResult{}

// unasked is the result of a check of what the row does not ask for.
var unasked = checkResult{unasked: true}

// kind is what a check is for, beside rows of a load that bench asked for.
type kind int

const (
	// live: it holds for live traffic too, which nothing asked for: it is of what the answers themselves show.
	live kind = 1 << iota
	// ofLoad: it is skipped for a cold start, which is no load.
	ofLoad
)

// checks in the order of display. Users match on the codes; docs/findings.md describes each.
var checks = []struct {
	code  string
	check func(*Measured) checkResult
	kind  kind
}{
	{"errors", checkErrors, live},
	{"errors", checkUnfinished, 0},
	{"output_length", checkShort, 0},
	{"client_bound", perWorker(checkLag), 0},
	{"client_bound", perWorker(checkClient), 0},
	{"client_bound", perWorker(checkPaused), 0},
	{"client_machine", perWorker(checkNetwork), 0},
	{"client_machine", checkConnections, 0},
	{"client_machine", perWorker(checkStamps), 0},
	{"workers", checkWorkers, 0},
	{"workers", checkStart, 0},
	{"workers", checkParts, 0},
	{"workers", checkCap, 0},
	{"arrivals", checkArrivals, 0},
	{"rate_not_achieved", checkRate, ofLoad},
	{"concurrency", checkConcurrency, ofLoad},
	{"unsteady", checkWarmup, ofLoad},
	{"unsteady", checkSteady, 0},
	{"heterogeneous", checkHeterogeneous, 0},
	{"prompts", checkPromptLength, 0},
	{"output_length", checkOutputLength, 0},
	{"token_counts", checkTokenCounts, 0},
	{"token_times", checkTokenTimes, live},
	{"sessions_cut", checkSessions, 0},
	{"buffered", checkTokensPerEvent, live},
	{"buffered", checkBuffered, live},
	{"reasoning", checkUnanswered, live},
	{"reasoning", checkThinkTags, live},
	{"reasoning", checkReasoningKnown, 0},
	{"synthetic_speculation", checkSpeculation, 0},
	{"prefix_cache", checkPrefix, 0},
	{"prompts", checkRefusedPrompts, 0},
	{"prompts", checkWarmPrompts, 0},
	{"prompts", checkRepeatedPrompts, 0},
	{"faster_than_bound", checkRoofline, 0},
	{"accuracy", checkAccuracy, 0},
	{"answers", checkAnswerLimits, 0},
	{"answers", checkAnswers, 0},
	{"answers", checkUnchecked, 0},
	{"server_stalled", checkRestarted, 0},
	{"server_stalled", checkStalled, live},
	{"shared_server", checkIdle, 0},
	{"shared_server", checkShared, 0},
	{"server_logs", checkLogs, 0},
	{"gpu_throttled", checkThrottled, 0},
	{"gpu_power", checkPower, live},
	{"shared_server", checkGPUProcesses, 0},
	{"client_machine", perWorker(checkHost), 0},
}

func (e *Measured) runChecks() {
	e.disturbed = e.findDisturbances()
	e.storeStalls()
	e.ordered = record.CompletedByArrival(e.disturbed.without(e.Records))
	defer func() { e.ordered = nil }()
	e.Steady, e.Arrivals = e.steadiness(), e.observeArrivals()
	e.Findings, e.effects = []record.Finding{}, nil
	e.Checks = record.Checks{Passed: []string{}, Failed: []string{}, NotPossible: []string{}}
	results := map[string]outcome{}
	for _, c := range checks {
		f := c.check(e)
		if e.Spec.IsColdStart() && c.kind&ofLoad != 0 || e.Observed && c.kind&live == 0 {
			f = noData
		}
		if !f.unasked {
			results[c.code] = max(results[c.code], f.outcome())
		}
		if f.severity != "" {
			e.addFinding(c.code, f)
		}
	}
	e.listChecks(results)
	e.Findings = append(e.Findings, e.notes()...)
	record.SortFindings(e.Findings)
}

// outcome is the result of the checks of one code: the gravest of them. 0: the row asks for none.
type outcome int

const (
	impossible outcome = iota + 1
	good
	open
	bad
)

func (c checkResult) outcome() outcome {
	switch {
	case c.unverified:
		return open
	case !c.possible:
		return impossible
	case c.severity == "":
		return good
	}
	return bad
}

func (e *Measured) listChecks(results map[string]outcome) {
	for _, c := range checks {
		lists := map[outcome]*[]string{impossible: &e.Checks.NotPossible, good: &e.Checks.Passed,
			open: &e.Checks.Unverified, bad: &e.Checks.Failed}
		if list := lists[results[c.code]]; list != nil {
			*list = append(*list, c.code)
		}
		delete(results, c.code)
	}
}

func (e *Measured) addFinding(code string, f checkResult) {
	finding := f.as(code)
	for _, x := range e.withFirstAnswer(f.effects) {
		if metric.IsLatency(x.Metric) && e.Summary.Latency(x.Metric) == nil {
			continue
		}
		x.code, x.cause = code, code+": "+f.problem
		e.effects = append(e.effects, x)
		finding.Effects = append(finding.Effects, x.Effect)
	}
	e.Findings = append(e.Findings, finding)
}

// tolerated is the largest share of requests with a problem that is no finding.
const tolerated = 0.01

func (e *Measured) notes() []record.Finding {
	var out []record.Finding
	var keys []string // latencies of a user, limited in a closed loop
	for _, l := range e.Spec.SLO.Limits {
		if e.Spec.Closed() && (l.Metric == "ttft" || l.Metric == "e2e") {
			keys = append(keys, l.Key)
		}
	}
	if len(keys) > 0 {
		out = append(out, note("limit users' latency in a row with a rate",
			"closed loop: %s count from a free worker; users who arrive independently queue first and wait longer",
			strings.Join(keys, ", ")).as("closed_loop"))
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
	return note("to separate the two, measure the server itself as well (bench compare), and set [telemetry] server "+
		"to its metrics page",
		"%s", text).as("gateway")
}

// longKept, s: a step of the engine, and what the readings of its metrics page resolve.
const longKept = 1.0

func (e *Measured) leaverNotes() []record.Finding {
	if e.Left == nil {
		return nil
	}
	l := e.Left
	out := []record.Finding{e.usersLeft()}
	f := l.FreedAfter
	if f == nil || !(f.CI95.Lo > longKept) {
		return out
	}
	text := fmt.Sprintf("the server keeps a request for %s s after its user left (95 %% interval %s to %s s): on average it had %s requests more than the client",
		unit.Brief(f.Mean, 3), unit.Brief(f.CI95.Lo, 3), unit.Brief(f.CI95.Hi, 3), unit.Brief(*l.Kept, 3))
	if l.Aborted != nil && *l.Aborted > 0 { // vLLM 0.32 counts none, also where it stops at once
		text += fmt.Sprintf("; it counted %s aborted requests, %s users left", unit.Brief(*l.Aborted, 4),
			unit.Count(l.LeftInRow))
	}
	return append(out, note("let the server, and each gateway before it, notice closed connections: "+
		"abandoned answers take compute from the others",
		"%s", text).as("users_left"))
}

func (e *Measured) usersLeft() record.Finding {
	q, l := &e.Summary.Requests, e.Left
	if q.Left > 0 && q.Stayed() == 0 {
		return caution("let fewer users leave, or later",
			"all %s users left (%d before the first token): no answer was completed, so that there is no latency "+
				"and no error rate; throughput counts the %s tokens that they received",
			unit.Count(q.Left), l.BeforeFirst, unit.Count(l.Tokens)).as("users_left")
	}
	return note("a user whose answer ended first is counted as one who stayed: compare latencies with a row without leave",
		"%s of %s users left (%d before the first token): percentiles, SLO and error rate cover the others, "+
			"throughput counts the %s tokens that they received",
		unit.Count(q.Left), unit.Count(q.Planned), l.BeforeFirst, unit.Count(l.Tokens)).as("users_left")
}
