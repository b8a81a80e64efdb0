package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/unit"
)

func checkErrors(e *evidence) result {
	f := checkOutcomes(e)
	if command := raiseLimit(e); f.severity != "" && command != "" {
		f.hint = "raise this machine's limit: " + command + ", then run again"
	}
	return f
}

func checkOutcomes(e *evidence) result {
	q := e.Summary.Requests
	switch {
	case q.Planned == 0 && e.Window.Cut:
		return invalid("make max_duration longer, or the warm-up shorter",
			"the window has no request: max_duration ended the row first")
	case q.Planned == 0 && e.RefusedPrompts != nil:
		return invalid(refusedHint, "no request was sent: %s", e.RefusedPrompts)
	case e.EndedInWarmup():
		return invalid(e.Spec.TraceEndHint(), "the window has no request: the trace ended within the warm-up, after %s",
			unit.Plural(q.Warmup, "request"))
	case q.Planned == 0 && e.AllFailed():
		return invalid("read the server's log; if it is only slow, make duration longer",
			"the window has no request: the %d requests of the warm-up got no token", q.Warmup)
	case q.Planned == 0:
		return invalid("make duration longer or the rate higher", "the window has no request")
	}
	if e.Summary.FailedShare() <= tolerated {
		return passed()
	}
	severity := record.Invalid
	// Live traffic is what it is: its users got these errors.
	if q.Completed > 0 && (e.Observed || e.Summary.FailedShare() <= ToleratedErrors(&e.Spec)) {
		severity = record.Note
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(q.Errors)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", q.Errors[k], k))
	}
	text := fmt.Sprintf("%d of %d requests failed (%s): percentiles cover the others", q.Failed, q.Stayed(),
		strings.Join(kinds, ", "))
	i := slices.IndexFunc(e.records, func(r *record.Record) bool {
		return r.Phase == record.PhaseWindow && r.Error != ""
	})
	hint := "read the server's log, then run again"
	if i >= 0 {
		text += "; first error: " + e.records[i].Error
		if e.records[i].RateLimited() {
			hint = "lower the load, or raise the rate limit of the server or its gateway"
		}
	}
	return found(severity, hint, "%s", text)
}

func ToleratedErrors(s *experiment.Spec) float64 {
	most := tolerated
	for _, l := range s.SLO.Limits {
		if l.Metric == "error_rate" {
			most = max(most, l.Value)
		}
	}
	return most
}

func checkUnfinished(e *evidence) result {
	q := e.Summary.Requests
	if q.Unfinished == 0 {
		return passed()
	}
	severity := record.Note
	if float64(q.Unfinished) > ToleratedErrors(&e.Spec)*float64(q.Planned) {
		severity = record.Invalid
	}
	if e.Window.Cut {
		return found(severity, "make max_duration longer, or lower the load",
			"%d requests of the window had not ended when max_duration ended the row: they count as failed",
			q.Unfinished)
	}
	return found(severity, "lower the load, or make grace longer",
		"%d requests of the window had not ended %g s after it: they count as failed", q.Unfinished,
		e.Spec.GraceTime().Seconds())
}

func checkShort(e *evidence) result {
	if !e.Spec.IgnoresEOS() || e.Summary.Requests.Completed == 0 {
		return noData
	}
	if n, of := e.Summary.Requests.Short, e.Summary.Requests.Completed; float64(n) > tolerated*float64(of) {
		return invalid("the server ignores ignore_eos and min_tokens: "+
			`set its own field in [target.extra_body], or stop = "natural"`,
			"%d of %d answers ended early despite ignore_eos: rows of different servers can't be compared", n, of)
	}
	return passed()
}

// RaiseFileLimit is the command that lets a process open n files. A limit above the hard one needs root.
func RaiseFileLimit(n int) string {
	thousands := int(math.Ceil(float64(n)/1000)) * 1000
	return fmt.Sprintf("ulimit -n %d (if refused, as root: prlimit --pid $$ --nofile=%d)", thousands, thousands)
}

const WidenPortRange = `sysctl -w net.ipv4.ip_local_port_range="1024 65535" (as root)`

func raiseLimit(e *evidence) string {
	for _, r := range e.records {
		switch {
		case r.FilesExhausted():
			return RaiseFileLimit(2*e.Summary.Concurrency.Max + 1000)
		case r.PortsExhausted():
			return WidenPortRange
		}
	}
	return ""
}

func checkSessions(e *evidence) result {
	s := e.Sessions
	switch {
	case s == nil:
		return unasked
	case s.Started == 0:
		return noData
	case s.Cut == 0 || !s.LacksLong("p50"):
		return passed()
	}
	hint := "make duration longer, or sessions shorter"
	if s.Time != nil {
		hint = fmt.Sprintf("make duration longer: a completed session took %s s at p50, and ten times that cuts one in ten",
			unit.Brief(s.Time.P50, 3))
	}
	return caution(hint, "the row ended in %s of %s: session times are of the shorter ones",
		unit.Count(s.Cut), unit.Plural(s.Started, "session")).
		touching(unbounded(record.Lowered, []string{metric.SessionTime}))
}

func checkRefusedPrompts(e *evidence) result {
	switch p := e.RefusedPrompts; {
	case !e.Spec.CountsPrompts(), e.Summary.Requests.Planned == 0: // checkErrors reports it
		return noData
	case p == nil:
		return passed()
	default:
		return caution(refusedHint, "%s", p)
	}
}

const refusedHint = "remove these lines (refused_prompts in the row's JSON), or start the server with a longer context"

// tolerableWarm is the share of prompts that may be in the cache at their first use: some begin as others do.
const tolerableWarm = 0.05

// checkWarmPrompts finds real prompts that the server had in its cache before the row used them.
func checkWarmPrompts(e *evidence) result {
	p := e.Prompts
	switch {
	case p == nil || p.Known == 0:
		return noData
	case float64(p.Warm) <= tolerableWarm*float64(p.Known):
		return passed()
	}
	return caution("restart the server, or use prompts that it has not seen; "+
		"cache_salt = true in [row.prompts] (vLLM) keeps rows apart",
		"%s of %s prompts were in the prefix cache at their first use in the row: an earlier row, run or count of their "+
			"tokens sent them, or they share nearly all of their text, or the server ignores cache_salt",
		unit.Count(p.Warm), unit.Count(p.Known)).touching(unbounded(record.Lowered, firstToken, lastToken))
}

func checkRepeatedPrompts(e *evidence) result {
	p := e.Prompts
	switch {
	case p == nil:
		return noData
	case p.Repeated == 0:
		return passed()
	}
	return note("use a longer file, a larger limit, or fewer requests",
		"%s %% of the requests repeat a prompt of the row (%s different prompts): a prefix cache has them",
		unit.Brief(100*float64(p.Repeated)/float64(p.Requests), 2), unit.Count(p.Different))
}
