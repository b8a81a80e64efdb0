package workload

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
