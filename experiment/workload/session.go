package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Session makes each arrival a conversation. Its first turn is the row's (or the class's) request; each later
// turn contains the whole conversation so far, with the server's answers, and a new question. In an open loop
// the rate counts conversations. In a closed loop each worker has one conversation at a time.
type Session struct {
	Turns Turns  `toml:"turns" json:"turns"`          // drawn once for each conversation
	User  Length `toml:"user" json:"user"`            // prompt tokens that each later turn adds
	Think Think  `toml:"think" json:"think,omitzero"` // before each later turn; zero = no wait
}

// Think is the time from the end of one turn to the next: fixed, or drawn for each turn.
type Think struct {
	Dist string  `json:"dist"`             // fixed, exponential, lognormal; empty = no time
	Mean Seconds `json:"mean_s,omitempty"` // fixed: the value; exponential
	P50  Seconds `json:"p50_s,omitempty"`  // lognormal
	P95  Seconds `json:"p95_s,omitempty"`  // lognormal
	Max  Seconds `json:"max_s,omitempty"`  // bound of a drawn time; 0 = none
}

// Turns is the number of turns of a conversation, in the form of a Length.
type Turns struct{ Length }

// maxTurns bounds a conversation, whose context grows with each turn.
const maxTurns = 10_000

var thinkKeys = map[string]keyList{
	"exponential": {[]string{"mean"}, []string{"max"}},
	"lognormal":   {[]string{"p50", "p95"}, []string{"max"}},
}

// DecodeTOML reads an integer, or a table { dist = "uniform", min = 2, max = 8 }.
func (n *Turns) DecodeTOML(v any, bad func(key, problem, hint string)) {
	const hint = `write turns = 5, or { dist = "uniform", min = 2, max = 8 }`
	if x, ok := v.(int64); ok && (x < 1 || x > maxTurns) {
		bad("", fmt.Sprintf("%d turns is not between 1 and %d", x, maxTurns), hint)
		return
	}
	n.Length.DecodeTOML(v, func(key, problem, inner string) {
		if inner == lengthHint {
			inner = hint
		}
		bad(key, strings.ReplaceAll(problem, "token", "turn"), inner)
	})
}

// DecodeTOML reads a duration, or a table { dist = "exponential", mean = "5s" }.
func (k *Think) DecodeTOML(v any, bad func(key, problem, hint string)) {
	t, ok := v.(map[string]any)
	if !ok {
		*k = Think{Dist: "fixed"}
		k.Mean.DecodeTOML(v, bad)
		return
	}
	dist, _ := t["dist"].(string)
	keys, ok := thinkKeys[dist]
	if !ok {
		bad("dist", fmt.Sprintf("unknown distribution %q", dist),
			`use "exponential" or "lognormal", or write think = "2s"`)
		return
	}
	*k = Think{Dist: dist}
	f := fields{t: t, of: dist, keys: keys, bad: bad}
	f.seconds("mean", &k.Mean)
	f.seconds("p50", &k.P50)
	f.seconds("p95", &k.P95)
	f.seconds("max", &k.Max)
	if f.done("dist") && dist == "lognormal" && !(k.P50 > 0 && k.P95 >= k.P50) {
		bad("p95", fmt.Sprintf("p95 %v is below p50 %v, or p50 is 0", k.P95, k.P50), `write p50 = "5s", p95 = "30s"`)
	}
}

func (k Think) draw(r *rand.Rand) time.Duration {
	s := float64(k.Mean)
	switch k.Dist {
	case "exponential":
		s *= r.ExpFloat64()
	case "lognormal":
		s = float64(k.P50) * math.Exp(math.Log(float64(k.P95/k.P50))/z95*r.NormFloat64())
	}
	if k.Max > 0 && k.Dist != "fixed" {
		s = math.Min(s, float64(k.Max))
	}
	return Seconds(math.Min(s, float64(maxSeconds))).Duration()
}

func (s *Session) check(key string, bad mistakes) {
	bad.unless(s.Turns.set(), key+"session.turns", "write turns = 5", "the number of turns is missing")
	bad.unless(s.Turns.most() <= maxTurns, key+"session.turns", "write turns = 5, or a max of turns",
		"a conversation can have %d turns, more than the limit of %d", s.Turns.most(), maxTurns)
	bad.unless(s.User.set(), key+"session.user", "write user = 100 (prompt tokens that each later turn adds)",
		"the length of the later turns is missing")
}

// Following returns the turn after r in its conversation; false after the last one. The turn is a function of
// the plan's seeds, the conversation and the turn's number: its prompt is r's prompt, an answer of the length
// that r requests, without its reasoning, and new blocks. When the turn is sent, the server's real answer replaces
// that answer. It is safe for concurrent use.
func (p *Plan) Following(r *Request) (Request, bool) {
	if r.Turn+1 >= r.Turns {
		return Request{}, false
	}
	class, turn := p.class(r.Session), r.Turn+1
	c := &p.classes[class]
	next := Request{
		Index: r.Index + 1, Class: r.Class, Model: r.Model, Session: r.Session, Turn: turn, Turns: r.Turns,
		LeaveAfter: p.leaves(class, r.Session, turn),
	}
	if c.Session != nil {
		next.Think = c.Session.Think.draw(p.turn(streamThink, r.Session, turn))
	}
	if c.Prompts != nil {
		p.nextPrompt(&next, r, class)
		return next, true
	}
	next.Output = c.Output.Draw(p.turn(streamOutput, r.Session, turn))
	added := c.Session.User.Draw(p.turn(streamUser, r.Session, turn))
	next.Context = r.Input + r.sentBack()
	next.Input = next.Context + added
	if turn == r.Turns-1 {
		next.Own = added
	}
	next.Blocks = append(make([]Block, 0, len(r.Blocks)+(r.Output+added)/BlockTokens+2), r.Blocks...)
	next.Blocks = append(next.Blocks, p.Answer(r)...)
	next.Blocks = p.fill(next.Blocks, added, blockUser, uint64(class), uint64(r.Session), uint64(turn))
	return next, true
}

// Added is what the request adds to its conversation: the user's text without the context. For a first turn,
// and for a request outside of conversations, it is the whole prompt.
func (r *Request) Added() Request {
	own, skip := *r, 0
	for i := 0; skip < r.Context; i++ {
		skip += r.Blocks[i].Tokens
		own.Blocks = r.Blocks[i+1:]
	}
	own.Input, own.Context = r.Input-r.Context, 0
	return own
}
