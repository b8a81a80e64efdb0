package workload

import (
	"fmt"
	"math"
)

// Answers are the least shares of good answers that make the figures of a row worth something.
type Answers struct {
	// share of answers that have the form that the request asks for; 0 = any
	MinValid float64 `toml:"min_valid" json:"min_valid,omitempty"`
	// share of answers that are as the prompt's line expects; 0 = any
	MinCorrect float64 `toml:"min_correct" json:"min_correct,omitempty"`
}

func (a *Answers) check(key string, bad func(key, problem, hint string)) {
	key += "answers."
	for _, limit := range []struct {
		key   string
		share float64
	}{{"min_valid", a.MinValid}, {"min_correct", a.MinCorrect}} {
		if !(limit.share >= 0 && limit.share <= 1) || math.IsNaN(limit.share) {
			bad(key+limit.key, fmt.Sprintf("%s %v is not a share of the answers", limit.key, limit.share), "write "+
				limit.key+" = 0.95")
		}
	}
	if *a == (Answers{}) {
		bad(key+"min_valid", "answers has no limit",
			"write answers = { min_valid = 0.95 }, or leave it out: answers are checked all the same")
	}
}
