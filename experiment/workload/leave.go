package workload

import (
	"fmt"
	"time"
)

// Leave makes a share of the users leave before their answer has ended: the client closes the connection, as a
// browser does. Exactly one of After and AfterTokens is set.
type Leave struct {
	Share       float64 `toml:"share" json:"share"`                        // of the requests, from 0 to 1
	After       Think   `toml:"after" json:"after,omitzero"`               // from sending the request; zero = AfterTokens applies
	AfterTokens Length  `toml:"after_tokens" json:"after_tokens,omitzero"` // tokens of the answer; zero = After applies
}

func (c *Class) checkLeave(key string, bad func(key, problem, hint string)) {
	c.Leave.check(key, bad)
	if after := c.Leave.AfterTokens; after.set() && c.Prompts == nil && (c.Output.Dist == "fixed" || c.Output.Max > 0) && after.Least() >= c.Output.most() {
		bad(key+"leave.after_tokens", fmt.Sprintf("no user can leave after %d tokens or more: answers have at most %d", after.Least(), c.Output.most()),
			"make after_tokens smaller than output")
	}
}

const leaveHint = `write leave = { share = 0.1, after = "2s" }, or after_tokens = 20`

func (l *Leave) check(key string, bad func(key, problem, hint string)) {
	key += "leave."
	if !(l.Share >= 0 && l.Share <= 1) {
		bad(key+"share", fmt.Sprintf("share %v is not a part of the requests", l.Share), "write share = 0.1")
	}
	timed, counted := l.After != Think{}, l.AfterTokens.set()
	switch {
	case timed == counted:
		bad(key+"after", "a user leaves either after a time or after a number of tokens", leaveHint)
	case timed && l.After.Dist == "fixed" && l.After.Mean == 0:
		bad(key+"after", "a user who leaves at once sends no request", leaveHint)
	}
}

// leaves draws when the user of a request leaves: after a time, or after a number of tokens of the answer; both 0 =
// the user stays. turn counts within the conversation.
func (p *Plan) leaves(class, i, turn int) (after time.Duration, tokens int) {
	l := p.classes[class].Leave
	if l == nil {
		return 0, 0
	}
	src := p.turn(streamLeave, i, turn)
	if src.Float64() >= l.Share {
		return 0, 0
	}
	if l.AfterTokens.set() {
		return 0, l.AfterTokens.Draw(src)
	}
	return max(l.After.draw(src), time.Nanosecond), 0
}

func (w Workload) HasLeavers() bool {
	for _, c := range w.Classes() {
		if c.Leave != nil && c.Leave.Share > 0 {
			return true
		}
	}
	return false
}

// LeavesByTokens reports whether some users leave after a number of tokens, which only a stream shows.
func (w Workload) LeavesByTokens() bool {
	for _, c := range w.Classes() {
		if c.Leave != nil && c.Leave.AfterTokens.set() {
			return true
		}
	}
	return false
}
