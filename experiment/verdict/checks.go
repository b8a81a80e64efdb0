package verdict

import (
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
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

// invalid is for figures that are wrong, or of another load than the row's.
func invalid(hint, problem string, args ...any) checkResult {
	return found(record.Invalid, hint, problem, args...)
}

// caution is for a disturbance whose effects can be stated.
func caution(hint, problem string, args ...any) checkResult {
	return found(record.Caution, hint, problem, args...)
}

// note is for figures that can be misread.
func note(hint, problem string, args ...any) checkResult {
	return found(record.Note, hint, problem, args...)
}

func found(s record.Severity, hint, problem string, args ...any) checkResult {
	return checkResult{possible: true, severity: s, problem: fmt.Sprintf(problem, args...), hint: hint}
}

func unverified(hint, problem string) checkResult {
	return checkResult{unverified: true, severity: record.Caution, problem: problem, hint: hint}
}

// touching adds effects to a finding.
func (c checkResult) touching(effects ...[]effect) checkResult {
	c.effects = append(c.effects, slices.Concat(effects...)...)
	return c
}

// noData is the result of a check that was not possible.
var noData = checkResult{}

// unasked is the result of a check of what the row does not ask for.
var unasked = checkResult{unasked: true}

// checks in the order of display. Codes are stable: users match on them. docs/findings.md describes each.
var checks = []struct {
	code  string
	check func(*Measured) checkResult
}{
	{"errors", checkErrors},
	{"unfinished", checkUnfinished},
	{"short", checkShort},
	{"client_bound", perWorker(checkLag)},
	{"client_cpu", perWorker(checkClient)},
	{"client_paused", perWorker(checkPaused)},
	{"network", perWorker(checkNetwork)},
	{"connections", checkConnections},
	{"stamps", perWorker(checkStamps)},
	{"workers_differ", checkWorkers},
	{"start_skew", checkStart},
	{"uneven_workers", checkParts},
	{"split_cap", checkCap},
	{"arrivals", checkArrivals},
	{"rate_not_achieved", checkRate},
	{"concurrency", checkConcurrency},
	{"warmup", checkWarmup},
	{"unsteady", checkSteady},
	{"heterogeneous", checkHeterogeneous},
	{"prompt_length", checkPromptLength},
	{"output_length", checkOutputLength},
	{"token_counts", checkTokenCounts},
	{"token_times", checkTokenTimes},
	{"sessions_cut", checkSessions},
	{"tokens_per_event", checkTokensPerEvent},
	{"buffered", checkBuffered},
	{"unanswered", checkUnanswered},
	{"unparsed_reasoning", checkThinkTags},
	{"reasoning_unknown", checkReasoningKnown},
	{"synthetic_speculation", checkSpeculation},
	{"prefix_cache", checkPrefix},
	{"refused_prompts", checkRefusedPrompts},
	{"warm_prompts", checkWarmPrompts},
	{"repeated_prompts", checkRepeatedPrompts},
	{"faster_than_bound", checkRoofline},
	{"accuracy", checkAccuracy},
	{"answers_wrong", checkAnswerLimits},
	{"answers_invalid", checkAnswers},
	{"answers_unchecked", checkUnchecked},
	{"server_restarted", checkRestarted},
	{"server_stalled", checkStalled},
	{"not_idle", checkIdle},
	{"shared_server", checkShared},
	{"server_logs", checkLogs},
	{"gpu_throttled", checkThrottled},
	{"gpu_processes", checkGPUProcesses},
	{"host_load", perWorker(checkHost)},
}

// loadChecks are skipped for a cold start, which is no load.
var loadChecks = []string{"warmup", "rate_not_achieved", "concurrency"}

// observedChecks are those of live traffic, which nothing asked for: what the answers themselves show.
var observedChecks = []string{"errors", "token_times", "tokens_per_event", "buffered", "unanswered", "unparsed_reasoning", "server_stalled"}

// runChecks makes every check and fills the row's findings and checks, which the verdicts then account for.
func (e *Measured) runChecks() {
	e.disturbed = e.findDisturbances()
	e.storeStalls()
	e.Steady, e.Arrivals = e.steadiness(), e.observeArrivals()
	e.Findings, e.effects = []record.Finding{}, nil
	e.Checks = record.Checks{Passed: []string{}, Failed: []string{}, NotPossible: []string{}}
	for _, c := range checks {
		f := c.check(e)
		if e.Spec.IsColdStart() && slices.Contains(loadChecks, c.code) {
			f = noData
		}
		if e.Observed && !slices.Contains(observedChecks, c.code) {
			f = noData
		}
		switch {
		case f.unasked:
		case f.unverified:
			e.Checks.Unverified = append(e.Checks.Unverified, c.code)
		case !f.possible:
			e.Checks.NotPossible = append(e.Checks.NotPossible, c.code)
		case f.severity == "":
			e.Checks.Passed = append(e.Checks.Passed, c.code)
		default:
			e.Checks.Failed = append(e.Checks.Failed, c.code)
		}
		if f.severity != "" {
			e.addFinding(c.code, f)
		}
	}
	e.Findings = append(e.Findings, e.notes()...)
	record.SortFindings(e.Findings)
}

// addFinding keeps the effects on what the row measured.
func (e *Measured) addFinding(code string, f checkResult) {
	finding := record.Finding{Code: code, Severity: f.severity, Text: f.problem, Hint: f.hint}
	for _, x := range e.withFirstAnswer(f.effects) {
		if slices.Contains(experiment.Latencies, x.Metric) && e.Summary.Latency(x.Metric) == nil {
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
