package verdict

import (
	"fmt"
	"slices"

	"bench/experiment/record"
)

// checkResult is the result of one check. The zero value: the check was not possible.
type checkResult struct {
	possible   bool   // the row has the data for the check
	problem    string // empty = passed
	hint       string
	unverified bool // the row depends on a figure that the server does not report: neither passed nor failed
}

func passed() checkResult { return checkResult{possible: true} }

func failed(hint, problem string, args ...any) checkResult {
	return checkResult{possible: true, problem: fmt.Sprintf(problem, args...), hint: hint}
}

func unverified(hint, problem string) checkResult {
	return checkResult{unverified: true, problem: problem, hint: hint}
}

// noData is the result of a check that was not possible.
var noData = checkResult{}

// checks in the order of display. Codes are stable: users match on them. docs/findings.md describes each.
var checks = []struct {
	code  string
	check func(*Measured) checkResult
}{
	{"errors", checkErrors},
	{"unfinished", checkUnfinished},
	{"short", checkShort},
	{"few_samples", checkSamples},
	{"client_bound", checkLag},
	{"client_cpu", checkClient},
	{"client_paused", checkPaused},
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
	{"server_stalled", checkStalled},
	{"shared_server", checkShared},
	{"server_logs", checkLogs},
	{"gpu_throttled", checkThrottled},
	{"gpu_processes", checkGPUProcesses},
	{"host_load", checkHost},
}

// loadChecks are skipped for a cold start, which is no load.
var loadChecks = []string{"few_samples", "warmup", "rate_not_achieved", "concurrency"}

// runChecks makes every check and fills the row's findings, notes and checks.
func (e *Measured) runChecks() {
	e.disturbed = e.findDisturbances()
	e.Steady, e.Arrivals, e.Notes = e.steadiness(), e.observeArrivals(), e.noteRow()
	e.Findings = []record.Finding{}
	e.Checks = record.Checks{Passed: []string{}, Failed: []string{}, NotPossible: []string{}}
	for _, c := range checks {
		f := c.check(e)
		if e.Spec.IsColdStart() && slices.Contains(loadChecks, c.code) {
			f = noData
		}
		switch {
		case f.unverified:
			e.Checks.Unverified = append(e.Checks.Unverified, c.code)
		case !f.possible:
			e.Checks.NotPossible = append(e.Checks.NotPossible, c.code)
		case f.problem == "":
			e.Checks.Passed = append(e.Checks.Passed, c.code)
		default:
			e.Checks.Failed = append(e.Checks.Failed, c.code)
		}
		if f.problem != "" {
			e.Findings = append(e.Findings, record.Finding{Code: c.code, Text: f.problem, Hint: f.hint})
		}
	}
}

// tolerated is the largest share of requests with a problem that is no finding.
const tolerated = 0.01
