package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Session makes each arrival a conversation: its first turn is the row's (or the class's) request,
// and each later turn is the whole conversation so far, the server's answers in it, and a new
// question. In an open loop the rate is that of conversations; in a closed loop the slots are the
// users, each with one conversation at a time.
type Session struct {
	Turns Turns  `toml:"turns" json:"turns"`          // of a conversation, drawn once for each
	User  Length `toml:"user" json:"user"`            // prompt tokens that each later turn adds
	Think Think  `toml:"think" json:"think,omitzero"` // before each later turn; none = at once
}

// Think is the time from the end of one turn to the next: fixed, or drawn for each turn.
type Think struct {
	Dist string  `json:"dist"`             // fixed, exponential, lognormal; empty = no time
	Mean Seconds `json:"mean_s,omitempty"` // fixed: the value; exponential
	P50  Seconds `json:"p50_s,omitempty"`  // lognormal
	P95  Seconds `json:"p95_s,omitempty"`  // lognormal
	Max  Seconds `json:"max_s,omitempty"`  // a bound of a drawn time; 0 = none
}

// Turns is how many turns a conversation has, written as a length is.
type Turns struct{ Length }

// maxTurns bounds a conversation: its context grows with each turn.
const maxTurns = 10_000

// thinkKeys are the keys of each distribution of a table.
var thinkKeys = map[string]keyList{
	"exponential": {[]string{"mean"}, []string{"max"}},
	"lognormal":   {[]string{"p50", "p95"}, []string{"max"}},
}

// DecodeTOML takes a whole number, or a table { dist = "uniform", min = 2, max = 8 }.
func (n *Turns) DecodeTOML(v any, bad func(key, problem, hint string)) {
	const hint = `write turns = 5, or { dist = "uniform", min = 2, max = 8 }`
	if x, ok := v.(int64); ok && (x < 1 || x > maxTurns) {
		bad("", fmt.Sprintf("%d turns are not between 1 and %d", x, maxTurns), hint)
		return
	}
	n.Length.DecodeTOML(v, func(key, problem, said string) {
		if said == lengthHint {
			said = hint
		}
		bad(key, strings.ReplaceAll(problem, "token", "turn"), said)
	})
}

// DecodeTOML takes a duration, or a table { dist = "exponential", mean = "5s" }.
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
		bad("dist", fmt.Sprintf("unknown distribution %q", dist), `use "exponential" or "lognormal", or write think = "2s"`)
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

// draw gives one time.
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

// check judges the conversations of one class; key is the path of its table with a dot, or empty.
func (s *Session) check(key string, bad func(key, problem, hint string)) {
	if !s.Turns.set() {
		bad(key+"session.turns", "a conversation has no number of turns", "write turns = 5")
	} else if s.Turns.most() > maxTurns {
		bad(key+"session.turns", fmt.Sprintf("a conversation may have %d turns, more than %d", s.Turns.most(), maxTurns), "write turns = 5, or a max of turns")
	}
	if !s.User.set() {
		bad(key+"session.user", "no length of the later turns", "write user = 100 (prompt tokens that each later turn adds)")
	}
}

// Following gives the turn after r in its conversation, false after the last one. The turn is a
// function of the plan's seeds, the conversation and the number of the turn: its prompt is r's, an
// answer of the length that r asks for, and new blocks. What the server really answered takes that
// answer's place when the turn is sent. Any goroutine may call it.
func (p *Plan) Following(r *Request) (Request, bool) {
	if r.Turn+1 >= r.Turns {
		return Request{}, false
	}
	class, turn := p.class(r.Session), r.Turn+1
	c := &p.classes[class]
	next := Request{
		Index: r.Index + 1, Class: r.Class,
		Session: r.Session, Turn: turn, Turns: r.Turns, Context: r.Input + r.Output,
		Output: c.Output.Draw(p.turn(streamOutput, r.Session, turn)),
		Think:  c.Session.Think.draw(p.turn(streamThink, r.Session, turn)),
	}
	added := c.Session.User.Draw(p.turn(streamUser, r.Session, turn))
	next.Input = next.Context + added
	if turn == r.Turns-1 {
		next.Own = added
	}
	next.Blocks = append(make([]Block, 0, len(r.Blocks)+(r.Output+added)/BlockTokens+2), r.Blocks...)
	next.Blocks = append(next.Blocks, p.Answer(r)...)
	next.Blocks = p.fill(next.Blocks, added, blockUser, uint64(class), uint64(r.Session), uint64(turn))
	return next, true
}

// turn is the stream of one dimension of one later turn.
func (p *Plan) turn(stream uint64, session, turn int) *rand.Rand {
	return p.rand(mix(stream, uint64(turn)), uint64(session))
}

// Added is what the request adds to its conversation, without the context: the words of the user.
// Of a first turn, and of a request outside of conversations, it is the whole prompt.
func (r *Request) Added() Request {
	own, skip := *r, 0
	for i := 0; skip < r.Context; i++ {
		skip += r.Blocks[i].Tokens
		own.Blocks = r.Blocks[i+1:]
	}
	own.Input, own.Context = r.Input-r.Context, 0
	return own
}
