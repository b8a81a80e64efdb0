package workload

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment/prompts"
)

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
		if c.Leave == nil {
			c.Leave = w.Leave
		}
		if c.Images == nil {
			c.Images = w.Images
		}
		if c.Answers == nil {
			c.Answers = w.Answers
		}
		if c.Adapters == nil && c.Model == "" && c.Endpoint == "" {
			c.Adapters = w.Adapters
		}
	}
	return classes
}

func (w Workload) only() Class {
	return Class{
		Weight: 1, Input: w.Input, Output: w.Output, Pairs: w.Pairs, Prefix: w.Prefix, Prompts: w.Prompts,
		Session: w.Session,
		Images:  w.Images, Adapters: w.Adapters, Leave: w.Leave, Answers: w.Answers,
	}
}

func (w Workload) checkMix(bad mistakes) {
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
