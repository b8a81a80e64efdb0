package record

import (
	"cmp"
	"slices"

	"bench/experiment/stats"
)

// Answers is what checks of the answers found, of the completed requests of the window.
type Answers struct {
	// answers of the form that the request asks for; absent = no such request
	Valid   *Share         `json:"valid,omitempty"`
	Correct *Share         `json:"correct,omitempty"` // answers that are as expected; absent = no such request
	Reasons map[string]int `json:"reasons,omitempty"` // invalid answers, by the code of their reason
	// answers that could not be checked, by the code of the reason
	Unchecked map[string]int `json:"unchecked,omitempty"`
}

type Share struct {
	Checked int            `json:"checked"`
	In      int            `json:"in"` // that are so
	Share   float64        `json:"share"`
	CI95    stats.Interval `json:"ci95"` // by Clopper and Pearson, of the effective number
	// number of independent answers: those to one prompt depend on each other
	Effective float64 `json:"effective"`
}

// answersOf is nil if no answer was to be checked.
func answersOf(completed []*Record) *Answers {
	a := Answers{
		Valid:   shareOf(completed, func(r *Record) *bool { return r.Valid }),
		Correct: shareOf(completed, func(r *Record) *bool { return r.Correct }),
	}
	for _, r := range completed {
		switch {
		case r.Invalid == "":
		case r.Valid != nil:
			a.Reasons = counted(a.Reasons, r.Invalid)
		default:
			a.Unchecked = counted(a.Unchecked, r.Invalid)
		}
	}
	if a.Valid == nil && a.Correct == nil && a.Unchecked == nil {
		return nil
	}
	return &a
}

func counted(counts map[string]int, key string) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[key]++
	return counts
}

// promptClusters are counts of answers, of one prompt together: a server tends to answer it alike. Synthetic prompts
// are all different.
type promptClusters struct {
	all   []stats.Cluster
	place map[string]int // by the prompt's hash
}

func (c *promptClusters) add(r *Record, in, n int) {
	i, known := c.place[r.PromptHash]
	if !known || r.PromptHash == "" {
		if c.place == nil {
			c.place = map[string]int{}
		}
		i = len(c.all)
		c.all, c.place[r.PromptHash] = append(c.all, stats.Cluster{}), i
	}
	c.all[i].In += in
	c.all[i].N += n
}

func shareOf(records []*Record, is func(*Record) *bool) *Share {
	checked, in := 0, 0
	var clusters promptClusters
	for _, r := range records {
		yes := is(r)
		if yes == nil {
			continue
		}
		one := 0
		if *yes {
			one = 1
		}
		checked, in = checked+1, in+one
		clusters.add(r, one, 1)
	}
	if checked == 0 {
		return nil
	}
	// Two prompts are two answers at least, however badly they show the variance between prompts.
	return new(newShare(checked, in, max(stats.EffectiveSize(clusters.all), float64(len(clusters.all)))))
}

func newShare(checked, in int, effective float64) Share {
	share := float64(in) / float64(checked)
	return Share{Checked: checked, In: in, Share: share, CI95: stats.ShareInterval(share, effective, 0.95),
		Effective: effective}
}

// Accuracy is what a server answered to questions with known answers, before its rows.
type Accuracy struct {
	Source     string            `json:"source"` // "built-in", or the file's name
	API        string            `json:"api"`
	MinCorrect float64           `json:"min_correct"`
	Answered                     // of all replicas
	Replicas   []ReplicaAccuracy `json:"replicas,omitempty"` // each is judged apart; absent = one server
}

// Answered is how many questions were answered correctly.
type Answered struct {
	Failed int `json:"failed,omitempty"` // requests that failed: their answers are wrong
	// answers that reached max_tokens before any text: wrong, or not finished
	CutOff  int   `json:"cut_off,omitempty"`
	Correct Share `json:"correct"`
}

type ReplicaAccuracy struct {
	Endpoint string `json:"endpoint"`
	Answered
}

// AccuracyCounts are of the answers of one server. The others were wrong.
type AccuracyCounts struct{ Correct, Failed, CutOff int }

func (a *Accuracy) Add(endpoint string, questions int, n AccuracyCounts) {
	a.Failed += n.Failed
	a.CutOff += n.CutOff
	a.Correct = shareOfQuestions(a.Correct.Checked+questions, a.Correct.In+n.Correct)
	a.Replicas = append(a.Replicas, ReplicaAccuracy{endpoint,
		Answered{n.Failed, n.CutOff, shareOfQuestions(questions, n.Correct)}})
}

func (a *Accuracy) Worst() ReplicaAccuracy {
	if len(a.Replicas) == 0 {
		return ReplicaAccuracy{Answered: a.Answered}
	}
	return slices.MinFunc(a.Replicas, func(a, b ReplicaAccuracy) int {
		return cmp.Compare(a.Correct.Share, b.Correct.Share)
	})
}

func (r *Answered) Unfinished() Share {
	return shareOfQuestions(r.Correct.Checked, r.Correct.In+r.CutOff)
}

func shareOfQuestions(questions, correct int) Share {
	return newShare(questions, correct, float64(questions))
}

// Reasoning describes the completed requests of the window whose answers have reasoning.
type Reasoning struct {
	Requests   int  `json:"requests"`
	Unanswered int  `json:"unanswered"` // of them, ended before an answer token: their ttfo is infinite
	Estimated  bool `json:"estimated"`  // at least one count of reasoning tokens is the client's

	Tokens       *stats.Summary `json:"tokens"`        // reasoning tokens of a request
	AnswerTokens *stats.Summary `json:"answer_tokens"` // its other output tokens
	TimeMs       *stats.Summary `json:"time_ms"`       // first token → first answer token; null = not streamed
}

func reasoningOf(completed []*Record) *Reasoning {
	var r Reasoning
	var tokens, answers, times []float64
	for _, q := range completed {
		if q.ReasoningTokens == nil {
			continue
		}
		r.Requests++
		r.Estimated = r.Estimated || q.ReasoningEstimated
		tokens = append(tokens, float64(*q.ReasoningTokens))
		answers = append(answers, float64(max(0, q.OutputTokens-*q.ReasoningTokens)))
		if q.First.ok && q.FirstAnswer.ok && !q.hidden() {
			times = append(times, float64(q.FirstAnswer.us-q.First.us)/UsPerMs)
		}
		if q.Unanswered() {
			r.Unanswered++
		}
	}
	if r.Requests == 0 {
		return nil
	}
	r.Tokens, r.AnswerTokens, r.TimeMs = stats.Summarize(tokens), stats.Summarize(answers), stats.Summarize(times)
	return &r
}

// FirstOfAnswer is the first answer token: without reasoning the first token, and zero for reasoning without an answer.
func (r *Record) FirstOfAnswer() Micros {
	if r.ReasoningTokens == nil {
		return r.First
	}
	return r.FirstAnswer
}

// Unanswered reports whether a complete answer is reasoning only: most often it reached its limit of tokens.
func (r *Record) Unanswered() bool {
	if !r.OK() || r.ReasoningTokens == nil {
		return false
	}
	if r.FirstEvent.ok { // streamed
		return r.FirstAnswer.IsZero()
	}
	return *r.ReasoningTokens >= r.OutputTokens
}

// hidden reports whether the server counts reasoning that it does not stream: the first token is one of the answer.
func (r *Record) hidden() bool {
	return r.ReasoningTokens != nil && r.First.ok && r.FirstAnswer == r.First
}

func (r *Record) streamed() int {
	if r.hidden() {
		return r.OutputTokens - *r.ReasoningTokens
	}
	return r.OutputTokens
}
