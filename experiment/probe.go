package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// prober asks a server, by small requests, what it takes and how it counts.
type prober struct {
	ctx   context.Context
	d     *dialect
	api   string
	model string
	extra map[string]any

	stream bool // streams tell usage: else it takes whole answers to count
}

// optional are the request fields that a server may refuse, the likeliest first.
var optional = []string{"min_tokens", "ignore_eos", "stream_options", "temperature"}

// Token ids of synthetic prompts: above the special and byte tokens of common vocabularies, below
// the size of the smallest of them (32,000, Llama 2 and Mistral).
const (
	firstID = 1000
	idCount = 30000
)

// probe finds the prompt form and the fields to leave out.
func (p *prober) probe() error {
	p.d.vocab = workload.Vocabulary{Words: words, Sep: " ", TokensPerWord: 1}
	text := openai.Prompt{Text: strings.Join(words[:16], " ")}
	r, err := p.accept(text)
	if err != nil {
		return err
	}
	if p.closes(text) {
		p.d.client.NoReuse()
		p.d.connections = "one for each request: the server closes them after an answer"
	}
	if p.api == openai.Completions && p.takesIDs() {
		p.d.vocab = workload.Vocabulary{FirstID: firstID, IDs: idCount}
		p.d.how = "token ids: exact, and without the server's tokenizing"
		return nil
	}
	p.stream = r.HasUsage
	if !p.stream { // some servers count only in whole answers
		if r = p.ask(text, false); r.Outcome.Failed() || !r.HasUsage {
			p.d.how = "text, one word taken for one token: the server does not count its tokens"
			return nil
		}
	}
	return p.calibrate()
}

// accept sends one request, and finds out which optional field is in the way when it is refused.
func (p *prober) accept(prompt openai.Prompt) (openai.Result, error) {
	r := p.ask(prompt, true)
	if !refused(r) {
		return r, outcome(r)
	}
	first := r
	for _, f := range optional {
		p.d.omit[f] = true
	}
	if r = p.ask(prompt, true); refused(r) {
		clear(p.d.omit)
		return first, outcome(first)
	}
	for _, f := range optional { // put each back that does no harm
		delete(p.d.omit, f)
		if back := p.ask(prompt, true); refused(back) {
			p.d.omit[f] = true
		} else {
			r = back
		}
	}
	return r, outcome(r)
}

// refused says that the server did not like the request itself.
func refused(r openai.Result) bool {
	return r.Outcome == openai.Status && (r.Status == 400 || r.Status == 422)
}

func outcome(r openai.Result) error {
	if r.Outcome.Failed() {
		return &ProbeError{r}
	}
	return nil
}

// ProbeError is a first request that failed: no row could be measured.
type ProbeError struct{ Result openai.Result }

func (e *ProbeError) Error() string {
	text := string(e.Result.Outcome)
	if e.Result.Status != 0 && e.Result.Status != 200 {
		text = fmt.Sprintf("HTTP %d", e.Result.Status)
	}
	return text + ": " + e.Result.Error
}

// closes says whether the server closes a connection after a streamed answer. The pause gives it the
// time to; without it, its close and the next request would cross on the way.
func (p *prober) closes(text openai.Prompt) bool {
	p.ask(text, true)
	select {
	case <-time.After(20 * time.Millisecond):
	case <-p.ctx.Done():
	}
	r := p.ask(text, true)
	return !r.Reused || r.Outcome == openai.Connect
}

// takesIDs asks with a prompt of ids from both ends of the range, which must count as they are.
func (p *prober) takesIDs() bool {
	ids := make([]int32, 24)
	for i := range ids {
		ids[i] = firstID + int32(i)*(idCount-1)/23
	}
	r := p.ask(openai.Prompt{IDs: ids}, true)
	return !r.Outcome.Failed() && r.HasUsage && r.PromptTokens == len(ids)
}

// probeTime is long enough for a cold server, and short enough that a wrong address is soon noticed.
const probeTime = 2 * time.Minute

// ask sends one request for two tokens.
func (p *prober) ask(prompt openai.Prompt, stream bool) openai.Result {
	ctx, cancel := context.WithTimeout(p.ctx, probeTime)
	defer cancel()
	var r openai.Result
	enc, err := p.params(stream, true).Encoder()
	if err != nil {
		return openai.Result{Outcome: openai.Protocol, Error: err.Error()}
	}
	p.d.client.Do(ctx, &openai.Call{Body: enc.Body(nil, prompt, 2), Stream: stream, Epoch: time.Now()}, &r)
	return r
}

func (p *prober) params(stream, forced bool) openai.Params {
	return openai.Params{API: p.api, Model: p.model, Stream: stream, Forced: forced, Omit: p.d.omit, Extra: p.extra}
}

// count is how many tokens the server makes of a text, its overhead included.
func (p *prober) count(text string) (int, error) {
	r := p.ask(openai.Prompt{Text: text}, p.stream)
	if err := outcome(r); err != nil {
		return 0, err
	}
	if !r.HasUsage || r.PromptTokens == 0 {
		return 0, errors.New("the server stopped counting prompt tokens")
	}
	return r.PromptTokens, nil
}

// cost is what some words cost within a text: the second half of the doubled text, so that
// whatever stands around a prompt is in neither.
func (p *prober) cost(w []string) (tokens, overhead int, err error) {
	one := strings.Join(w, " ")
	once, err := p.count(one)
	if err != nil {
		return 0, 0, err
	}
	twice, err := p.count(one + " " + one)
	return twice - once, once - (twice - once), err
}

// fewestWords is how many words of one token each make prompts that no cache mistakes for another.
const fewestWords = 16

// calibrate finds words that are one token each, and the tokens that stand around every prompt.
func (p *prober) calibrate() error {
	tokens, overhead, err := p.cost(words)
	if err != nil {
		return err
	}
	single := words
	if tokens != len(words) {
		if single, err = p.singles(words); err != nil {
			return err
		}
	}
	v := workload.Vocabulary{Words: words, Sep: " ", TokensPerWord: float64(tokens) / float64(len(words)), Overhead: overhead}
	p.d.how = fmt.Sprintf("text, %.3g tokens a word on average by the server's count: lengths are approximate", v.TokensPerWord)
	if len(single) >= fewestWords {
		v.Words, v.TokensPerWord = single, 1
		if _, v.Overhead, err = p.cost(single); err != nil {
			return err
		}
		p.d.how = fmt.Sprintf("text of %d words that are one token each by the server's count", len(single))
	}
	p.d.vocab = v
	return p.verify()
}

// singles halves the list until a part holds only words of one token; small mixed parts are dropped.
func (p *prober) singles(w []string) ([]string, error) {
	tokens, _, err := p.cost(w)
	switch {
	case err != nil:
		return nil, err
	case tokens == len(w):
		return w, nil
	case len(w) <= 6:
		return nil, nil
	}
	left, err := p.singles(w[:len(w)/2])
	if err != nil {
		return nil, err
	}
	right, err := p.singles(w[len(w)/2:])
	return append(append([]string{}, left...), right...), err
}

// verify counts one prompt made with the vocabulary, and says how far off it is.
func (p *prober) verify() error {
	const want = 256
	plan := workload.NewPlan(workload.Workload{Input: workload.Fixed(want), Output: workload.Fixed(1)}, 1, "probe")
	r := plan.Next()
	got, err := p.count(p.d.vocab.Text(&r))
	if err != nil {
		return err
	}
	if got != want {
		p.d.how += fmt.Sprintf("; a prompt of %d came to %d", want, got)
	}
	return nil
}

// words are short and common: one token each, with the space before them, in the vocabularies of
// most models. Which of them are, the server says.
var words = strings.Fields(`
time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point
home water room mother area money story fact month lot right study book eye job word business issue
side kind head house service friend father power hour game line end member law car city community name
president team minute idea body information back parent face others level office door health person art
war history party result change morning reason research girl guy moment air teacher force education`)
