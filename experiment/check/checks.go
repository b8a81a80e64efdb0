// Package check finds whether the figures of a measured row can be trusted.
//
// Run makes the checks of one table: of the client and its load workers, of the load that was asked for, of the answers,
// the server and its machine. What fails is a finding with effects on figures; package verdict takes these into each
// limit. All is a function of the row's spec, records and samples: nothing here judges a limit, sends or reads a file.
package check

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// evidence is a row with its records, or the part of a load worker.
type evidence struct {
	*record.Row
	records []*record.Record
	gpus    int // of the target; 0 = not specified

	disturbed disturbance
	ordered   []*record.Record // completed and undisturbed, by arrival
	views     []*evidence      // of each load worker; nil: it sent nothing
	whole     *evidence        // of a view; nil: this is the row
}

// Run makes the checks of a row, and fills in what they find beside their findings: its steadiness, arrivals, stalls and
// workers. gpus are the target's; 0 = not specified.
func Run(row *record.Row, records []*record.Record, gpus int) []Effect {
	return (&evidence{Row: row, records: records, gpus: gpus}).run()
}

// result is the result of one check. The zero value: the check was not possible.
type result struct {
	outcome  outcome
	severity record.Severity // empty: it found nothing
	problem  string
	hint     string
	effects  []Effect
}

// outcome is how a check ended. Of the checks of one code the gravest counts, of those that the row asks for.
type outcome int

const (
	impossible outcome = iota // the row lacks the data for the check
	good
	open // the row depends on a figure that the server does not report: neither passed nor failed
	bad
	notAsked // the row asks for nothing of the kind: the check is in no list
)

func passed() result { return result{outcome: good} }

func invalid(hint, problem string, args ...any) result {
	return found(record.Invalid, hint, problem, args...)
}

func caution(hint, problem string, args ...any) result {
	return found(record.Caution, hint, problem, args...)
}

func note(hint, problem string, args ...any) result {
	return found(record.Note, hint, problem, args...)
}

func found(s record.Severity, hint, problem string, args ...any) result {
	return result{outcome: bad, severity: s, problem: fmt.Sprintf(problem, args...), hint: hint}
}

func unverified(hint, problem string) result {
	return result{outcome: open, severity: record.Caution, problem: problem, hint: hint}
}

func (c result) touching(effects ...[]Effect) result {
	c.effects = append(c.effects, slices.Concat(effects...)...)
	return c
}

// and adds what another check found to c, whose hint and severity stand if it found something, too.
func (c result) and(other result) result {
	switch {
	case other.severity == "":
		return c
	case c.severity == "":
		return other
	}
	c.problem += "; " + other.problem
	return c.touching(other.effects)
}

func (c result) as(code string) record.Finding {
	return record.Finding{Code: code, Severity: c.severity, Text: c.problem, Hint: c.hint}
}

var noData, unasked = result{}, result{outcome: notAsked}

// kind is what a check is for, beside rows of a load that bench asked for.
type kind int

const (
	// live: it holds for live traffic too, which nothing asked for: it is of what the answers themselves show.
	live kind = 1 << iota
	// ofLoad: it is skipped for a cold start, which is no load.
	ofLoad
	// ofClient: it is made for every load worker; the worst decides and is named.
	ofClient
)

// checks in the order of display. Users match on the codes; docs/findings.md describes each.
var checks = []struct {
	code  string
	check func(*evidence) result
	kind  kind
}{
	{"errors", checkErrors, live},
	{"errors", checkUnfinished, 0},
	{"output_length", checkShort, 0},
	{"client_bound", checkLag, ofClient},
	{"client_bound", checkClient, ofClient},
	{"client_bound", checkPaused, ofClient},
	{"client_machine", checkNetwork, ofClient},
	{"client_machine", checkConnections, 0},
	{"client_machine", checkStamps, ofClient},
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
	{"client_machine", checkHost, ofClient},
}

// IsCode reports whether a check has the code.
func IsCode(code string) bool {
	for _, c := range checks {
		if c.code == code {
			return true
		}
	}
	return false
}

func (e *evidence) run() (effects []Effect) {
	e.viewWorkers()
	e.disturbed = e.findDisturbances()
	e.storeStalls()
	e.ordered = record.CompletedByArrival(e.disturbed.without(e.records))
	e.Steady, e.Arrivals, e.Findings = e.steadiness(), e.observeArrivals(), []record.Finding{}
	e.Checks = record.Checks{Passed: []string{}, Failed: []string{}, NotPossible: []string{}}
	results := map[string]outcome{}
	for _, c := range checks {
		check := c.check
		if len(e.Workers) > 0 && c.kind&ofClient != 0 {
			check = worst(check)
		}
		f := check(e)
		if e.Spec.IsColdStart() && c.kind&ofLoad != 0 || e.Observed && c.kind&live == 0 {
			f = noData
		}
		if f.outcome != notAsked {
			results[c.code] = max(results[c.code], f.outcome)
		}
		if f.severity == "" {
			continue
		}
		finding := f.as(c.code)
		for _, x := range withFirstAnswer(e.Row, f.effects) {
			if metric.IsLatency(x.Metric) && e.Summary.Latency(x.Metric) == nil {
				continue
			}
			x.Code, x.Cause = c.code, c.code+": "+f.problem
			effects, finding.Effects = append(effects, x), append(finding.Effects, x.Effect)
		}
		e.Findings = append(e.Findings, finding)
	}
	lists := map[outcome]*[]string{impossible: &e.Checks.NotPossible, good: &e.Checks.Passed, open: &e.Checks.Unverified,
		bad: &e.Checks.Failed}
	for _, c := range checks {
		if ended, ok := results[c.code]; ok {
			*lists[ended] = append(*lists[ended], c.code)
		}
		delete(results, c.code)
	}
	e.Findings = append(e.Findings, notes(e)...)
	record.SortFindings(e.Findings)
	return effects
}

// tolerated is the largest share of requests with a problem that is no finding.
const tolerated = 0.01

func notes(e *evidence) (out []record.Finding) {
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
		out = append(out, gatewayNote(g, e.Summary.TTFT))
	}
	if e.Left != nil {
		out = append(out, usersLeft(&e.Summary.Requests, e.Left))
		out = append(out, keptAfter(e.Left)...)
	}
	for i, r := range e.Server.Replicas {
		if len(r.Differs) > 0 {
			out = append(out, caution(
				"give all replicas the same model, version and flags, or measure each alone: [target] endpoints",
				"replica %d (%s) is not the same server as the first: %s", i, r.Endpoint,
				unit.ClipBytes(strings.Join(r.Differs, "; "), 300)).as("replicas"))
		}
	}
	return append(out, slowReplicas(e)...)
}

func gatewayNote(g *record.Gateway, ttft *stats.Summary) record.Finding {
	text := fmt.Sprintf("%s %s answers in the server's place: latencies contain it", g.Name, g.Version)
	if o := g.Overhead; o != nil {
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

func keptAfter(l *record.Leavers) []record.Finding {
	f := l.FreedAfter
	if f == nil || !(f.CI95.Lo > longKept) {
		return nil
	}
	text := fmt.Sprintf("the server keeps a request for %s s after its user left (95 %% interval %s to %s s): "+
		"on average it had %s requests more than the client",
		unit.Brief(f.Mean, 3), unit.Brief(f.CI95.Lo, 3), unit.Brief(f.CI95.Hi, 3), unit.Brief(*l.Kept, 3))
	if l.Aborted != nil && *l.Aborted > 0 { // vLLM 0.32 counts none, also where it stops at once
		text += fmt.Sprintf("; it counted %s aborted requests, %s users left", unit.Brief(*l.Aborted, 4),
			unit.Count(l.LeftInRow))
	}
	return []record.Finding{note("let the server, and each gateway before it, notice closed connections: "+
		"abandoned answers take compute from the others",
		"%s", text).as("users_left")}
}

func usersLeft(q *record.Requests, l *record.Leavers) record.Finding {
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
