package workload

import (
	"fmt"
	"math"
)

// Class is one kind of request in a mix.
type Class struct {
	Name    string         `toml:"name" json:"name"`
	Weight  float64        `toml:"weight" json:"weight"` // share of the arrivals, relative to the sum of weights
	Input   Length         `toml:"input" json:"input,omitzero"`
	Output  Length         `toml:"output" json:"output,omitzero"`
	Pairs   *Pairs         `toml:"pairs" json:"pairs,omitempty"` // instead of input and output
	Prefix  *Prefix        `toml:"prefix" json:"prefix,omitempty"`
	Session *Session       `toml:"session" json:"session,omitempty"`       // nil = each arrival is one request
	API     string         `toml:"api" json:"api,omitempty"`               // completions or chat; empty = the row's
	Stop    string         `toml:"stop" json:"stop,omitempty"`             // forced or natural; empty = the row's
	Extra   map[string]any `toml:"extra_body" json:"extra_body,omitempty"` // fields of the request body over those of the target: tools, response_format, …
	SLO     map[string]any `toml:"slo" json:"SLO,omitempty"`               // limits of this class, in the form of [slo]; read by its owner
}

// Classes are the classes of the mix or, without one, the row itself as the only class, without a
// name. Lengths that come in pairs stand in Input and Output too, each side as a length of its own;
// a prefix has the state that the row states for all of them.
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
	}
	return classes
}

// only is the row as a class.
func (w Workload) only() Class {
	return Class{Weight: 1, Input: w.Input, Output: w.Output, Pairs: w.Pairs, Prefix: w.Prefix, Session: w.Session}
}

func (w Workload) checkMix(bad func(key, problem, hint string)) {
	if w.Input.set() || w.Output.set() || w.Pairs != nil || w.Session != nil {
		bad("mix", "a row with a mix has its lengths and conversations in the classes",
			"move input, output, pairs and session of the row into its [[row.mix]] tables")
	}
	if p := w.Prefix; p != nil && (*p != Prefix{State: p.State}) {
		bad("prefix", "a row with a mix has its prefixes in the classes", `move prefix into the [[row.mix]] tables; prefix = { state = "warm" } goes for all of them`)
	}
	seen := map[string]bool{}
	for i := range w.Mix {
		c, key := &w.Mix[i], fmt.Sprintf("mix[%d].", i)
		if c.Name == "" {
			bad(key+"name", "a class has no name", `write name = "chat"`)
		} else if seen[c.Name] {
			bad(key+"name", fmt.Sprintf("two classes are named %q", c.Name), "give each class a name of its own")
		}
		seen[c.Name] = true
		if !(c.Weight > 0) || math.IsInf(c.Weight, 0) {
			bad(key+"weight", "the weight of a class is not above 0", "write weight = 0.5")
		}
		c.check(key, bad)
	}
}

// check judges one class of requests; key is the path of its table with a dot, or empty.
func (c *Class) check(key string, bad func(key, problem, hint string)) {
	input := c.Input
	if c.Pairs != nil {
		if c.Input.set() || c.Output.set() {
			bad(key+"pairs", "pairs stand in place of input and output", "remove input and output, or pairs")
		}
		input, _ = c.Pairs.lengths()
	} else {
		c.checkLengths(key, bad)
	}
	if c.Session != nil {
		c.Session.check(key, bad)
	}
	if c.Prefix != nil {
		c.Prefix.check(key, input, bad)
	}
	if c.API != "" && c.API != "completions" && c.API != "chat" {
		bad(key+"api", fmt.Sprintf("unknown api %q", c.API), `write "completions" or "chat"`)
	}
	if c.Stop != "" && c.Stop != "forced" && c.Stop != "natural" {
		bad(key+"stop", fmt.Sprintf("unknown stop %q", c.Stop), `write "forced" or "natural"`)
	}
}

func (c *Class) checkLengths(key string, bad func(key, problem, hint string)) {
	if !c.Input.set() {
		bad(key+"input", "no input length", "write input = 256 (prompt tokens)")
	}
	if !c.Output.set() {
		bad(key+"output", "no output length", "write output = 128 (tokens to write)")
	}
}

// longest is the most tokens, prompt and output together, that a request of the class may have.
func (c *Class) longest() int {
	most := c.Input.most() + c.Output.most()
	if c.Pairs != nil {
		most = c.Pairs.longest()
	}
	if s := c.Session; s != nil { // its last turn has all the others as context
		most += (s.Turns.most() - 1) * (s.User.most() + c.Output.most())
	}
	return most
}
