package workload

import (
	"fmt"
	"time"
)

// Leave makes a share of the users leave before their answer has ended: the client closes the connection, as a
// browser does.
type Leave struct {
	Share float64 `toml:"share" json:"share"`          // of the requests, from 0 to 1
	After Think   `toml:"after" json:"after,omitzero"` // from sending the request
}

func (l *Leave) check(key string, bad func(key, problem, hint string)) {
	const hint = `write leave = { share = 0.1, after = "2s" }`
	if !(l.Share >= 0 && l.Share <= 1) {
		bad(key+"leave.share", fmt.Sprintf("share %v is not a part of the requests", l.Share), "write share = 0.1")
	}
	switch {
	case l.After == Think{}:
		bad(key+"leave.after", "after what time do users leave?", hint)
	case l.After.Dist == "fixed" && l.After.Mean == 0:
		bad(key+"leave.after", "a user who leaves at once sends no request", hint)
	}
}

// leaves draws after what time the user of a request leaves; 0: the user stays. turn counts within the conversation.
func (p *Plan) leaves(class, i, turn int) time.Duration {
	l := p.classes[class].Leave
	if l == nil {
		return 0
	}
	src := p.turn(streamLeave, i, turn)
	if src.Float64() >= l.Share {
		return 0
	}
	return max(l.After.draw(src), time.Nanosecond)
}

func (w Workload) HasLeavers() bool {
	for _, c := range w.Classes() {
		if c.Leave != nil && c.Leave.Share > 0 {
			return true
		}
	}
	return false
}
