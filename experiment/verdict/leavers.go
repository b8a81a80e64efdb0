package verdict

import (
	"fmt"

	"bench/experiment/record"
	"bench/experiment/unit"
)

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
	return append(out, record.Finding{Code: "users_left", Severity: record.Note, Text: text,
		Hint: "let the server, and each gateway before it, notice closed connections: abandoned answers take compute from the others"})
}

func (e *Measured) usersLeft() record.Finding {
	q, l := &e.Summary.Requests, e.Left
	if q.Left > 0 && q.Stayed() == 0 {
		return record.Finding{Code: "users_left", Severity: record.Caution,
			Text: fmt.Sprintf("all %s users left (%d before the first token): no answer was completed, so that there is no latency and no error rate; throughput counts the %s tokens that they received",
				unit.Count(q.Left), l.BeforeFirst, unit.Count(l.Tokens)),
			Hint: "let fewer users leave, or later"}
	}
	return record.Finding{Code: "users_left", Severity: record.Note,
		Text: fmt.Sprintf("%s of %s users left (%d before the first token): percentiles, SLO and error rate cover the others, throughput counts the %s tokens that they received",
			unit.Count(q.Left), unit.Count(q.Planned), l.BeforeFirst, unit.Count(l.Tokens)),
		Hint: "a user whose answer ended first is counted as one who stayed: compare latencies with a row without leave"}
}
