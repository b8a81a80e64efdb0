package verdict

import (
	"fmt"

	"bench/experiment/record"
	"bench/experiment/unit"
)

// checkIdle finds requests that the row did not send: given up by earlier rows, or another client's. A row gives up
// as many as its concurrency; a server that does not report its requests needs more for a note.
func checkIdle(e *Measured) checkResult {
	s, abandoned := e.Server.Settle, e.Server.Abandoned
	switch {
	case s == nil && abandoned <= e.Summary.Concurrency.Max:
		return noData
	case s == nil:
		return note("collect the server's metrics ([telemetry] server), so that the row waits until the server is idle",
			"the row before gave up %s, and the server does not report whether it still computes them",
			unit.Plural(abandoned, "request"))
	case s.Idle():
		return passed()
	case abandoned > 0 && s.Running+s.Waiting <= float64(abandoned):
		return caution(`write a longer settle (settle = "5m"), or lower the load of the row before`,
			"the row began behind requests that earlier rows gave up: %s", inServer(s)).touching(slowed(nil))
	}
	others := "another client's requests"
	if abandoned > 0 {
		others += fmt.Sprintf(" and at most %d that earlier rows gave up", abandoned)
	}
	return caution("find the other client, or start a server for this run alone ([server]); after an interrupted run, wait until its requests have ended",
		"the row began behind %s: %s", others, inServer(s)).touching(slowed(nil))
}

func inServer(s *record.Settle) string {
	return unit.Brief(s.Running, 3) + " running and " + unit.Brief(s.Waiting, 3) + " waiting after " +
		unit.Brief(s.WaitedS, 3) + " s"
}
