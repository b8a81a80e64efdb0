package mock

import (
	"fmt"
	"maps"
	"slices"
)

const maxDrafts = 64

func (c Config) checkModels(bad func(key, problem, hint string)) {
	if len(c.ServedModels) > 0 && c.Model != "" && c.ServedModels[0] != c.Model {
		bad("models", fmt.Sprintf("the first of models is %q, but model is %q", c.ServedModels[0], c.Model),
			fmt.Sprintf("models = [%q, …], or leave out model", c.Model))
	}
	for i, name := range c.ServedModels {
		if name == "" || slices.Contains(c.ServedModels[:i], name) {
			bad(fmt.Sprintf("models[%d]", i), fmt.Sprintf("%q is empty or stands twice", name),
				`models = ["base", "sql-lora"]`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Adapters)) {
		factor := c.Adapters[name]
		if i := slices.Index(c.ServedModels, name); i < 1 {
			bad("adapters."+name, "is not an adapter: models lists it after the base model",
				fmt.Sprintf("models = [\"base\", %q]", name))
		}
		if !(factor >= 0.01 && factor <= 100) {
			bad("adapters."+name, fmt.Sprintf("%g is not a factor between 0.01 and 100", factor), name+" = 1.5")
		}
	}
}

func (c Config) checkAnswers(bad func(key, problem, hint string)) {
	share := func(key string, v float64) {
		if !(v >= 0 && v <= 1) {
			bad(key, fmt.Sprintf("%g is not a share between 0 and 1", v), key+" = 0.9")
		}
	}
	if c.ValidAnswers != nil {
		share("valid_answers", *c.ValidAnswers)
	}
	if c.CorrectAnswers != nil {
		share("correct_answers", *c.CorrectAnswers)
	}
	c.Speculation.check(share, bad)
}

func (s Speculation) check(share func(key string, v float64), bad func(key, problem, hint string)) {
	if s.Tokens < 0 || s.Tokens > maxDrafts {
		bad("speculation.tokens", fmt.Sprintf("%d is not between 1 and %d", s.Tokens, maxDrafts), "tokens = 3")
	}
	if s.Tokens == 0 && s.Acceptance != 0 {
		bad("speculation.tokens", "speculation needs the number of tokens that a step drafts", "tokens = 3")
	}
	share("speculation.acceptance", s.Acceptance)
}
