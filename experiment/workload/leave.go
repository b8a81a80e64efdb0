package workload

import (
	"slices"
	"time"
)

// Leave makes a share of the users leave before their answer has ended: the client closes the connection, as a
// browser does.
type Leave struct {
	Share float64 `toml:"share" json:"share"`          // of the requests, from 0 to 1
	After Think   `toml:"after" json:"after,omitzero"` // from sending the request
}

func (l *Leave) check(key string, bad mistakes) {
	const hint = `write leave = { share = 0.1, after = "2s" }`
	bad.unless(l.Share >= 0 && l.Share <= 1, key+"leave.share", "write share = 0.1",
		"share %v is not a part of the requests", l.Share)
	bad.unless(l.After != Think{}, key+"leave.after", hint, "after what time do users leave?")
	bad.unless(l.After.Dist != "fixed" || l.After.Mean > 0, key+"leave.after", hint,
		"a user who leaves at once sends no request")
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
	return slices.ContainsFunc(w.Classes(), func(c Class) bool { return c.Leave != nil && c.Leave.Share > 0 })
}
