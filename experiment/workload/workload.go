// Package workload defines what is sent and when, as data. A Workload (the keys of a row) and two seeds make
// a Plan. A Plan is a pure function from an index to a Request: its lengths, class, intended arrival, and
// prompt, which is a list of block numbers. A Vocabulary turns blocks into token ids or text. This package
// never waits, sends, or depends on the server's answers.
package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"bench/experiment/prompts"
)

// Workload defines the requests of a row. With a Mix, the classes define input, output and prefix; the row's
// Prefix then has only a state, which applies to classes without one.
type Workload struct {
	Input  Length  `toml:"input" json:"input,omitzero"`   // prompt tokens, including the prefix
	Output Length  `toml:"output" json:"output,omitzero"` // requested output tokens
	Pairs  *Pairs  `toml:"pairs" json:"pairs,omitempty"`  // replaces Input and Output
	Prefix *Prefix `toml:"prefix" json:"prefix,omitempty"`
	Mix    []Class `toml:"mix" json:"mix,omitempty"`

	// synthetic, trace or tiling; empty = trace if Trace is set, else synthetic
	Generator string `toml:"workload" json:"workload,omitempty"`
	// for the workload tiling; replaces pairs, prefix, mix and session
	Tile *Tile `toml:"tile" json:"tile,omitempty"`

	// real prompts; replaces input, pairs and prefix
	Prompts *prompts.Source `toml:"prompts" json:"prompts,omitempty"`
	// in each prompt of classes without their own; nil = none
	Images  *Images  `toml:"images" json:"images,omitempty"`
	Session *Session `toml:"session" json:"session,omitempty"` // nil = each arrival is one request
	// of requests whose class has no model of its own; nil = the target's model
	Adapters *Adapters `toml:"adapters" json:"adapters,omitempty"`
	// users who leave, of classes without their own; nil = none
	Leave *Leave `toml:"leave" json:"leave,omitempty"`
	// limits on the answers, of classes without their own; nil = none
	Answers *Answers `toml:"answers" json:"answers,omitempty"`

	Trace *Trace `toml:"trace" json:"trace,omitempty"` // replaces all of these

	// mean requests (with sessions: conversations) per second; 0 = closed loop
	Rate Rate `toml:"rate" json:"rate,omitzero"`
	// arrival process of the open loop; zero = Poisson
	Arrival Arrival `toml:"arrival" json:"arrival,omitzero"`
	// shape of gamma arrivals, as in vLLM: 1 = Poisson, below 1 burstier; 0 = 1
	Burstiness float64 `toml:"burstiness" json:"burstiness,omitempty"`
	Seed       uint64  `toml:"seed" json:"seed" compare:"size"` // 0 = the matrix's seed
}

func (w Workload) Check(bad func(key, problem, hint string)) {
	only := w.only()
	only.checkModel("", bad)
	checkArrival(&w, bad)
	checkGenerator(&w, bad)
	switch {
	case w.Trace != nil:
		checkTrace(&w, bad)
	case w.Tile != nil:
		checkTile(&w, bad)
	case len(w.Mix) > 0:
		checkMix(&w, bad)
	default:
		only.check("", bad)
	}
}

// Longest is the largest possible number of prompt and output tokens of a request. An unbounded distribution
// counts with its 95th percentile, or with its mean plus two standard deviations; a real prompt, whose tokens the
// server counts, with one token.
func (w Workload) Longest() int {
	if t := w.Trace; t != nil { // of the first requests
		return int(t.Head.InputMax + t.Head.OutputMax)
	}
	longest := 0
	for _, c := range w.Classes() {
		longest = max(longest, c.longest())
	}
	return longest
}

// Closed: no rate is set, and a request waits for a worker, who waits for the response before.
func (w *Workload) Closed() bool { return w.Rate == 0 }

// Open: requests arrive whether the server keeps up or not.
func (w *Workload) Open() bool { return w.Rate > 0 }

// Timed: they arrive at a finite rate, not all at once.
func (w *Workload) Timed() bool { return w.Rate > 0 && !w.Rate.IsInf() }

// Class is one kind of request in a mix.
type Class struct {
	Name   string  `toml:"name" json:"name"`
	Weight float64 `toml:"weight" json:"weight"` // share of the arrivals, as a fraction of the sum of weights
	Input  Length  `toml:"input" json:"input,omitzero"`
	Output Length  `toml:"output" json:"output,omitzero"`
	Pairs  *Pairs  `toml:"pairs" json:"pairs,omitempty"` // instead of input and output
	Prefix *Prefix `toml:"prefix" json:"prefix,omitempty"`
	// real prompts; instead of input, pairs and prefix
	Prompts *prompts.Source `toml:"prompts" json:"prompts,omitempty"`
	Images  *Images         `toml:"images" json:"images,omitempty"`   // in each prompt; nil = the row's
	Texts   int             `toml:"-" json:"-"`                       // the row's
	Session *Session        `toml:"session" json:"session,omitempty"` // nil = each arrival is one request
	// as the server lists it; empty = the target's
	Model string `toml:"model" json:"model,omitempty"`
	// URL of the class's own server; empty = the target's
	Endpoint string `toml:"endpoint" json:"endpoint,omitempty"`
	// instead of Model: one of several for each request; nil = the row's
	Adapters *Adapters `toml:"adapters" json:"adapters,omitempty"`
	Leave    *Leave    `toml:"leave" json:"leave,omitempty"`     // users who leave; nil = the row's
	Answers  *Answers  `toml:"answers" json:"answers,omitempty"` // limits on the answers; nil = the row's
	API      string    `toml:"api" json:"api,omitempty"`         // as [target] api; empty = the row's
	// of its requests alone, over the target's: who the tenant is. None is a secret: they are stored.
	Headers map[string]string `toml:"headers" json:"headers,omitempty"`
	// variable of the environment with its API key; empty = the target's key
	APIKeyEnv string `toml:"api_key_env" json:"api_key_env,omitempty"`
	// forced (ignore_eos) or natural (EOS); empty = the row's
	Stop string `toml:"stop" json:"stop,omitempty"`
	// request body fields that override the target's: tools, response_format, …
	Extra map[string]any `toml:"extra_body" json:"extra_body,omitempty"`
	// limits of this class, in the form of [slo]; decoded by package experiment
	SLO map[string]any `toml:"slo" json:"slo,omitempty"`
}

// Classes are the classes of the mix; without a mix, the row as one class without a name. Pairs are also
// given as Input and Output, one Length each. A prefix without a state gets the state of the row's prefix.
func (w Workload) Classes() []Class {
	classes := []Class{w.only()}
	if len(w.Mix) > 0 {
		classes = append([]Class{}, w.Mix...)
	}
	for i := range classes {
		c := &classes[i]
		if c.Pairs != nil {
			c.Input, c.Output = c.Pairs.lengths()
		}
		if c.Prefix != nil && c.Prefix.State == "" && w.Prefix != nil {
			own := *c.Prefix
			own.State = w.Prefix.State
			c.Prefix = &own
		}
		c.Leave, c.Images, c.Answers = cmp.Or(c.Leave, w.Leave), cmp.Or(c.Images, w.Images), cmp.Or(c.Answers, w.Answers)
		if c.Adapters == nil && c.Model == "" && c.Endpoint == "" {
			c.Adapters = w.Adapters
		}
	}
	return classes
}

func (w Workload) only() Class {
	return Class{
		Weight: 1, Input: w.Input, Output: w.Output, Pairs: w.Pairs, Prefix: w.Prefix, Prompts: w.Prompts,
		Session: w.Session, Images: w.Images, Adapters: w.Adapters, Leave: w.Leave, Answers: w.Answers,
	}
}

func checkMix(w *Workload, bad mistakes) {
	bad.unless(!w.Input.set() && !w.Output.set() && w.Pairs == nil && w.Session == nil && w.Prompts == nil, "mix",
		"move input, output, pairs, prompts and session of the row into its [[row.mix]] tables",
		"with a mix, lengths and conversations belong in its classes")
	bad.unless(w.Prefix == nil || *w.Prefix == Prefix{State: w.Prefix.State}, "prefix",
		`move prefix into the [[row.mix]] tables; prefix = { state = "warm" } applies to all classes`,
		"with a mix, prefixes belong in its classes")
	seen := map[string]bool{}
	for i := range w.Mix {
		c, key := &w.Mix[i], fmt.Sprintf("mix[%d].", i)
		bad.unless(c.Name != "", key+"name", `write name = "chat"`, "a class has no name")
		bad.unless(c.Name == "" || !seen[c.Name], key+"name", "give each class its own name",
			"two classes are named %q", c.Name)
		seen[c.Name] = true
		bad.unless(c.Weight > 0 && !math.IsInf(c.Weight, 0), key+"weight", "write weight = 0.5",
			"weight must be above 0")
		c.check(key, bad)
		c.checkModel(key, bad)
	}
}

func (c *Class) check(key string, bad mistakes) {
	input := c.Input
	switch {
	case c.Prompts != nil:
		c.checkPrompts(key, bad)
	case c.Pairs != nil:
		bad.unless(!c.Input.set() && !c.Output.set(), key+"pairs", "remove input and output, or pairs",
			"pairs replaces input and output")
		input, _ = c.Pairs.lengths()
	default:
		bad.unless(c.Input.set(), key+"input", "write input = 256 (prompt tokens)", "the input length is missing")
		bad.unless(c.Output.set(), key+"output", "write output = 128 (tokens to write)",
			"the output length is missing")
	}
	if c.Images != nil {
		c.Images.check(key+"images", bad)
	}
	if c.Session != nil && c.Prompts == nil {
		c.Session.check(key, bad)
	}
	if c.Prefix != nil && c.Prompts == nil {
		c.Prefix.check(key, input, bad)
	}
	bad.unless(slices.Contains([]string{"", "forced", "natural"}, c.Stop), key+"stop", `write "forced" or "natural"`,
		"unknown stop %q", c.Stop)
}

func (c *Class) longest() int {
	if c.Prompts != nil {
		return c.longestAnswer() + 1 // how long the prompt is, the server decides
	}
	most := c.Input.most() + c.Output.most()
	if c.Pairs != nil {
		most = c.Pairs.longest()
	}
	if s := c.Session; s != nil { // the context of the last turn contains all earlier turns
		most += (s.Turns.most() - 1) * (s.User.most() + c.Output.most())
	}
	return most
}

// Answers are the least shares of good answers that make the figures of a row worth something.
type Answers struct {
	// share of answers that have the form that the request asks for; 0 = any
	MinValid float64 `toml:"min_valid" json:"min_valid,omitempty"`
	// share of answers that are as the prompt's line expects; 0 = any
	MinCorrect float64 `toml:"min_correct" json:"min_correct,omitempty"`
}

func (a *Answers) check(key string, bad mistakes) {
	key += "answers."
	share := func(name string, x float64) {
		bad.unless(x >= 0 && x <= 1, key+name, "write "+name+" = 0.95", "%s %v is not a share of the answers", name, x)
	}
	share("min_valid", a.MinValid)
	share("min_correct", a.MinCorrect)
	bad.unless(*a != (Answers{}), key+"min_valid",
		"write answers = { min_valid = 0.95 }, or leave it out: answers are checked all the same",
		"answers has no limit")
}

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
func (p *drawn) leaves(class, i, turn int) time.Duration {
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
