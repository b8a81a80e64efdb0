package diagnosis

import (
	"fmt"
	"maps"
	"slices"

	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/unit"
)

const (
	mostlyTouched = 0.5  // share of the requests from which on a stall is in the medians, too
	manyFailed    = 0.1  // share of the requests whose failure leaves the other figures to chance
	longStall     = 0.05 // share of the window that stalls take, from which on they matter
)

// checkFailing: time-outs of requests that wait, or of a client that is too slow, are no failure of the server.
func checkFailing(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	r := v.failing
	if r == nil {
		return nil
	}
	counts, n := serverFailures(r)
	if counts["timeout"] == n && n > 0 && (v.waiting >= waitingSome || v.clientLimits() != nil) {
		return nil
	}
	d := &Diagnosis{Bottleneck: serverFailing, Observation: failureText(r, counts), Evidence: []Evidence{}}
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		d.Evidence = append(d.Evidence, fact("requests failed ("+outcome+")", float64(counts[outcome]), ""))
	}
	if planned := r.Summary.Requests.Planned; planned > 0 && n > 0 {
		d.Evidence = append(d.Evidence, atLeast("share of the requests", float64(n)/float64(planned), "share",
			check.ToleratedErrors(&r.Spec)))
	}
	f := r.Failure
	if f == nil { // a row of another tool
		d.Confirm, d.Response = "the server's log of that time", "read the server's log, and fix the errors first"
		return d
	}
	d.Evidence = append(d.Evidence, fact("first failure, after", f.AtS, "s"),
		fact("requests completed after it", float64(f.Later), ""))
	d.Confirm, d.Response = "the server's log of second "+unit.Brief(f.AtS, 3)+" of the row", responseTo(f)
	if f.RateLimited() && 2*counts["status"] >= n {
		d.setRateLimited(v.requestsS)
	}
	if f.ClientLimit {
		d.Bottleneck = clientLimited
		d.Confirm = "repeat the row with a higher limit: every request connects"
		d.Response = "raise this machine's limit on open files or ports (see the row's findings), and run again"
	}
	return d
}

func (d *Diagnosis) setRateLimited(requestsS float64) {
	d.Bottleneck, d.Response = rateLimited, "lower the load, or raise the rate limit of the server or its gateway"
	if requestsS > 0 {
		d.Response = "keep the rate below " + unit.Brief(requestsS, 2) +
			"/s, which it answered; or raise the rate limit of the server or its gateway"
		d.Evidence = append(d.Evidence, fact("requests/s completed", requestsS, ""))
	}
	d.Confirm = "repeat the row at half of this rate: no HTTP 429"
}

func failureText(r *record.Row, counts map[string]int) string {
	text := "no request completed"
	if len(counts) > 0 {
		text = fmt.Sprintf("requests failed: %s of %d", unit.Counts(counts), r.Summary.Requests.Planned)
	}
	if f := r.Failure; f != nil {
		text += "; first: " + f.Error
	}
	return text
}

func responseTo(f *record.Failure) string {
	gone := f.Later == 0
	switch {
	case f.Outcome == "connect" && gone:
		return "restart the server, and find in its log why it ended; then run the same command with --resume"
	case f.Outcome == "connect":
		return "find in the server's log why it refused connections; check its limit on connections"
	case f.Outcome == "timeout":
		return "check that the server still works on requests; else make timeout in [target] longer"
	case f.RefusesLoad():
		return "the server refuses this load: lower it, or raise the server's limit on queued requests"
	case f.Status >= 400 && f.Status < 500:
		return "the server refuses the request: correct the row by the error's text"
	case gone:
		return "find in the server's log why it ended; restart it, then run the same command with --resume"
	}
	return "find the error in the server's log of that time; check the gateway's time-outs"
}

func serverFailures(r *record.Row) (counts map[string]int, n int) {
	counts = map[string]int{}
	for _, outcome := range record.ServerFailures {
		if x := r.Summary.Requests.Errors[outcome]; x > 0 {
			counts[outcome], n = x, n+x
		}
	}
	return counts, n
}

func failingRow(rows []*record.Row) *record.Row {
	var worst *record.Row
	most := 0.0
	for _, r := range rows {
		if share := failedShare(r); share > check.ToleratedErrors(&r.Spec) && share > most {
			worst, most = r, share
		}
	}
	return worst
}

func failedShare(r *record.Row) float64 {
	_, n := serverFailures(r)
	if r.AllFailed() && (n > 0 || r.Failure != nil) {
		return 1
	}
	return float64(n) / float64(max(1, r.Summary.Requests.Planned))
}

func checkStalled(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	r := v.stalling
	if r == nil {
		return nil
	}
	longest := slices.MaxFunc(r.Stalls,
		func(a, b record.Stall) int { return int((a.ToUs - a.FromUs) - (b.ToUs - b.FromUs)) })
	return &Diagnosis{
		Bottleneck: serverStalled,
		Observation: "the server sent nothing for " + unit.Format(longest.Seconds(), "s") +
			" while requests were in flight",
		Evidence: collected(fact("longest stall", longest.Seconds(), "s"),
			fact("from second", float64(longest.FromUs)/1e6, "s"),
			fact("requests in flight", float64(longest.InFlight), ""), fact("stalls", float64(len(r.Stalls)), ""),
			fact("requests touched", float64(r.Stalled)/float64(max(1, r.Summary.Requests.Planned)), "share")),
		Confirm: "the server's and the machine's log of second " + unit.Brief(float64(longest.FromUs)/1e6, 3) +
			" of the row; repeat the row",
		Response: "look for a suspended process, other work on the machine (top), a checkpoint, garbage collection, " +
			"a GPU reset or a lost network; then repeat the row",
	}
}

func stallingRow(rows []*record.Row) *record.Row {
	var worst *record.Row
	most := 0.0
	for _, r := range rows {
		seconds := 0.0
		for _, s := range r.Stalls {
			seconds += s.Seconds()
		}
		beyondTail := map[string]float64{"p99": 0.01, "p95": 0.05, "p90": 0.1}[supportedTail(r)]
		share := stalledShare(r)
		if (share > beyondTail || seconds/max(1e-6, r.Window.Seconds()) > longStall) && share >= most &&
			len(r.Stalls) > 0 {
			worst, most = r, share
		}
	}
	return worst
}

func stalledShare(r *record.Row) float64 {
	return float64(r.Stalled) / float64(max(1, r.Summary.Requests.Planned))
}
