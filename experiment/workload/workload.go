// Package workload says what is sent and when, as data. A Workload (the keys of a row) and two
// seeds make a Plan; a Plan is a pure function from an index to a Request: its lengths, its class,
// its intended arrival and its prompt, which is a list of block numbers. A Vocabulary turns blocks
// into token ids or text. Nothing here waits, sends or looks at what the server answers.
package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Workload is what a row says of its requests. With a Mix the shape (input, output, prefix) is the
// classes' own.
type Workload struct {
	Input  Length  `toml:"input" json:"input,omitzero"`   // prompt tokens, the prefix included
	Output Length  `toml:"output" json:"output,omitzero"` // tokens to write
	Prefix *Prefix `toml:"prefix" json:"prefix,omitempty"`
	Mix    []Class `toml:"mix" json:"mix,omitempty"`

	Session *Session `toml:"session" json:"session,omitempty"` // nil = each arrival is one request

	Rate       Rate    `toml:"rate" json:"rate,omitzero"`              // requests per second of the open loop; 0 = closed loop
	Arrival    string  `toml:"arrival" json:"arrival,omitempty"`       // poisson (default), constant, gamma
	Burstiness float64 `toml:"burstiness" json:"burstiness,omitempty"` // shape of gamma arrivals as in vLLM: 1 = Poisson, below 1 burstier; 0 = 1
	Seed       uint64  `toml:"seed" json:"seed"`                       // 0 = the matrix's
}

// Class is one kind of request in a mix.
type Class struct {
	Name     string         `toml:"name" json:"name"`
	Weight   float64        `toml:"weight" json:"weight"` // share of the requests, relative to the sum of weights
	Input    Length         `toml:"input" json:"input"`
	Output   Length         `toml:"output" json:"output"`
	Prefix   *Prefix        `toml:"prefix" json:"prefix,omitempty"`
	Session  *Session       `toml:"session" json:"session,omitempty"`       // nil = each arrival is one request
	API      string         `toml:"api" json:"api,omitempty"`               // completions or chat; empty = the row's
	Stop     string         `toml:"stop" json:"stop,omitempty"`             // forced or natural; empty = the row's
	Extra    map[string]any `toml:"extra_body" json:"extra_body,omitempty"` // fields of the request body over those of the target: tools, response_format, …
	Contract map[string]any `toml:"contract" json:"contract,omitempty"`     // limits of this class, in the form of [contract]; read by its owner
}

// States of a prefix.
const (
	Cold   = "cold"   // no two requests share a block
	Shared = "shared" // groups repeat, and warm up as they come
	Warm   = "warm"   // every group is primed with other suffixes before the window
)

// Prefix says how much of the prompts is common, and whether the server has met it.
type Prefix struct {
	Tokens int    `toml:"tokens" json:"tokens"` // of the input
	Groups int    `toml:"groups" json:"groups"` // how many different prefixes; 0 = 1
	State  string `toml:"state" json:"state"`   // cold, shared (default) or warm
}

// Rate is requests per second; +Inf sends all at once ("inf" in the file).
type Rate float64

// IsInf says that all requests are sent at once.
func (r Rate) IsInf() bool { return math.IsInf(float64(r), 1) }

// MarshalJSON writes "inf" for +Inf, which JSON has no number for.
func (r Rate) MarshalJSON() ([]byte, error) {
	if r.IsInf() {
		return []byte(`"inf"`), nil
	}
	return strconv.AppendFloat(nil, float64(r), 'g', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Rate) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil {
		return fmt.Errorf("reading a rate: %w", err)
	}
	*r = Rate(x)
	return nil
}

// DecodeTOML takes a number or "inf".
func (r *Rate) DecodeTOML(v any, bad func(key, problem, hint string)) {
	const hint = `write rate = 4 (requests per second) or rate = "inf"`
	switch x := v.(type) {
	case int64:
		*r = Rate(x)
	case float64:
		*r = Rate(x)
	case string:
		if x != "inf" {
			bad("", fmt.Sprintf("rate %q is not a number", x), hint)
			return
		}
		*r = Rate(math.Inf(1))
	default:
		bad("", "rate is a number", hint)
		return
	}
	if v != "inf" && !(*r >= minRate && *r <= maxRate) {
		bad("", fmt.Sprintf("rate %v is not between %v and %.0f requests per second", v, minRate, maxRate), hint)
	}
}

// Bounds of a finite rate: far outside every use, and safe from an overflow of its arrivals.
const minRate, maxRate = 1e-4, 1e6

// Check reports what is wrong or impossible.
func (w Workload) Check(bad func(key, problem, hint string)) {
	w.checkArrival(bad)
	if len(w.Mix) == 0 {
		w.shapes()[0].check("", bad)
		return
	}
	if w.Input.set() || w.Output.set() || w.Prefix != nil || w.Session != nil {
		bad("mix", "a row with a mix has its lengths, prefixes and conversations in the classes",
			"move input, output, prefix and session of the row into its [[row.mix]] tables")
	}
	shapes := w.shapes()
	seen := map[string]bool{}
	for i, c := range w.Mix {
		key := fmt.Sprintf("mix[%d].", i)
		if c.Name == "" {
			bad(key+"name", "a class has no name", `write name = "chat"`)
		} else if seen[c.Name] {
			bad(key+"name", fmt.Sprintf("two classes are named %q", c.Name), "give each class a name of its own")
		}
		seen[c.Name] = true
		if !(c.Weight > 0) || math.IsInf(c.Weight, 0) {
			bad(key+"weight", "the weight of a class is not above 0", "write weight = 0.5")
		}
		shapes[i].check(key, bad)
		c.checkRequest(key, bad)
	}
}

// checkRequest judges how the requests of a class are made.
func (c *Class) checkRequest(key string, bad func(key, problem, hint string)) {
	if c.API != "" && c.API != "completions" && c.API != "chat" {
		bad(key+"api", fmt.Sprintf("unknown api %q", c.API), `write "completions" or "chat"`)
	}
	if c.Stop != "" && c.Stop != "forced" && c.Stop != "natural" {
		bad(key+"stop", fmt.Sprintf("unknown stop %q", c.Stop), `write "forced" or "natural"`)
	}
}

func (w Workload) checkArrival(bad func(key, problem, hint string)) {
	switch w.Arrival {
	case "", "poisson", "constant", "gamma":
	case "ramp", "step", "trace":
		bad("arrival", fmt.Sprintf("arrival %q is not in this version", w.Arrival), "use constant, poisson or gamma")
	default:
		bad("arrival", fmt.Sprintf("unknown arrival %q", w.Arrival), "use constant, poisson or gamma")
	}
	if w.Arrival != "" && w.Rate == 0 {
		bad("arrival", "an arrival process without a rate", "write rate = 4, or remove arrival: a closed loop has none")
	}
	if w.Burstiness != 0 && w.Arrival != "gamma" {
		bad("burstiness", "burstiness is a parameter of gamma arrivals", `write arrival = "gamma"`)
	}
	if w.Burstiness != 0 && !(w.Burstiness >= minBurstiness && w.Burstiness <= maxBurstiness) {
		bad("burstiness", fmt.Sprintf("burstiness %v is not between %v and %.0f", w.Burstiness, minBurstiness, maxBurstiness),
			"write burstiness = 0.5 (below 1 is burstier than Poisson)")
	}
}

// Bounds of the burstiness: gaps that vary by 30 times their mean, and hardly at all.
const minBurstiness, maxBurstiness = 1e-3, 1e6

// check judges one class of requests; key is the path of its table with a dot, or empty.
func (s *shape) check(key string, bad func(key, problem, hint string)) {
	if !s.input.set() {
		bad(key+"input", "no input length", "write input = 256 (prompt tokens)")
	}
	if !s.output.set() {
		bad(key+"output", "no output length", "write output = 128 (tokens to write)")
	}
	if s.session != nil {
		s.session.check(key, bad)
	}
	if s.prefix != nil {
		s.prefix.check(key, s.input, bad)
	}
}

func (p *Prefix) check(key string, input Length, bad func(key, problem, hint string)) {
	if p.Tokens <= 0 {
		bad(key+"prefix.tokens", "a prefix has at least one token", "write prefix = { tokens = 1024, groups = 4 }")
	}
	if p.Groups < 0 {
		bad(key+"prefix.groups", "the number of groups is negative", "write groups = 4")
	}
	switch p.State {
	case "", Cold, Shared, Warm:
	default:
		bad(key+"prefix.state", fmt.Sprintf("unknown prefix state %q", p.State), "use cold, shared or warm")
	}
	if input.set() && p.Tokens >= input.Least() {
		hint := "input includes the prefix: make input larger or the prefix shorter"
		if input.Dist != "fixed" {
			hint = fmt.Sprintf("input includes the prefix: write min = %d in input, or make the prefix shorter", p.Tokens+1)
		}
		bad(key+"prefix.tokens", fmt.Sprintf("the prefix of %d tokens leaves nothing of the shortest input of %d", p.Tokens, input.Least()), hint)
	}
}

// HasPrefix says whether the row, or any class of it, has a prefix of that state.
func (w Workload) HasPrefix(state string) bool {
	for _, s := range w.shapes() {
		if s.prefix != nil && s.prefix.state() == state {
			return true
		}
	}
	return false
}

// WarmTokens is how many tokens of a class's prompt (class empty: the row's) a warm cache holds for
// certain: the whole blocks of a primed prefix.
func (w Workload) WarmTokens(class string) int {
	for _, s := range w.shapes() {
		if s.name == class && s.prefix != nil && s.prefix.state() == Warm {
			return s.prefix.Tokens / BlockTokens * BlockTokens
		}
	}
	return 0
}

// state is the prefix's state in force.
func (p *Prefix) state() string {
	if p.State == "" {
		return Shared
	}
	return p.State
}

// shape is what a class and a row without classes have in common.
type shape struct {
	name          string
	weight        float64
	input, output Length
	prefix        *Prefix
	session       *Session
}

func (w Workload) shapes() []shape {
	if len(w.Mix) == 0 {
		return []shape{{weight: 1, input: w.Input, output: w.Output, prefix: w.Prefix, session: w.Session}}
	}
	shapes := make([]shape, len(w.Mix))
	for i, c := range w.Mix {
		shapes[i] = shape{c.Name, c.Weight, c.Input, c.Output, c.Prefix, c.Session}
	}
	return shapes
}

// Longest is the most tokens, prompt and output together, that a request may have. A drawn length
// without a max has none: it counts as its 95th percentile, or its mean and two deviations.
func (w Workload) Longest() int {
	longest := 0
	for _, s := range w.shapes() {
		most := s.input.most() + s.output.most()
		if s.session != nil {
			most = s.session.longest(s.input, s.output)
		}
		longest = max(longest, most)
	}
	return longest
}
