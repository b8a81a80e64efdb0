package endpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// prober asks a server, by small requests, what it takes and how it counts.
type prober struct {
	ctx   context.Context
	d     *apiClient
	api   string
	model string
	extra map[string]any

	stream bool // streams tell usage: else it takes whole answers to count
	whole  bool // the server refuses streams
	silent bool // the server does not count the tokens of prompts
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
	p.d.answered = time.Now()
	if p.closes(text) {
		p.d.client.NoReuse()
		p.d.connections = "one for each request: the server closes them after an answer"
	}
	if p.stream = counts(r); !p.stream { // some servers count only in whole answers
		whole := p.ask(text, false)
		if whole.Outcome == openai.Connect {
			return outcome(whole)
		}
		if !counts(whole) {
			p.silent = true
			p.d.how = "text, one word taken for one token: the server does not count its tokens"
			return nil
		}
	}
	if p.api == target.Completions && p.takesIDs() {
		p.d.vocab = workload.Vocabulary{FirstID: firstID, IDs: idCount}
		p.d.how = "token ids: exact, and without the server's tokenizing"
		return nil
	}
	return p.calibrate()
}

// counts says that an answer tells the tokens of its prompt.
func counts(r openai.Result) bool { return !r.Outcome.Failed() && r.HasUsage && r.PromptTokens > 0 }

// accept sends one request, and finds out which optional field is in the way when it is refused.
func (p *prober) accept(prompt openai.Prompt) (openai.Result, error) {
	r := p.ask(prompt, true)
	for range 3 { // a server that is busy for a moment is no reason to give up
		if !busy(r) {
			break
		}
		p.pause(300 * time.Millisecond)
		r = p.ask(prompt, true)
	}
	if !refused(r) {
		return r, outcome(r)
	}
	first := r
	for _, f := range optional {
		p.d.omit[f] = true
	}
	if r = p.ask(prompt, true); refused(r) {
		clear(p.d.omit)
		p.whole = true // rows that do not stream can be measured all the same
		if r = p.ask(prompt, true); !r.Outcome.Failed() {
			return r, nil
		}
		return first, outcome(first)
	}
	for _, f := range optional { // put each back that does no harm
		delete(p.d.omit, f)
		if back := p.ask(prompt, true); back.Outcome.Failed() {
			p.d.omit[f] = true
		} else {
			r = back
		}
	}
	return r, outcome(r)
}

// busy says that the server, or what stands before it, may answer in a moment.
func busy(r openai.Result) bool {
	return r.Outcome == openai.Status && slices.Contains([]int{429, 502, 503}, r.Status)
}

func (p *prober) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
	}
}

// refused says that the server may not have liked the request itself; some say so by a 500.
func refused(r openai.Result) bool {
	return r.Outcome == openai.Status && slices.Contains([]int{400, 422, 500, 501}, r.Status)
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
	text := e.Result.Error // of a status it names the status
	if e.Result.Outcome != openai.Status {
		text = string(e.Result.Outcome) + ": " + text
	}
	if hint := e.hint(); hint != "" {
		text += "\nhint: " + hint
	}
	return text
}

// hint is what can be done about the failure; empty where that is not known.
func (e *ProbeError) hint() string {
	r := e.Result
	switch {
	case r.Status == 401 || r.Status == 403:
		return "give the key: --api-key-env VAR"
	case r.Status == 404:
		return `name another model or API: model = "…", api = "chat" or "completions" in [target]`
	case r.Status == 429 || r.Status == 503:
		return "the server is busy: try again when it is free"
	case r.Status == 400 || r.Status == 422:
		return "see what it says of the request: model, api and [target.extra_body] are yours"
	case r.Status >= 500 || r.Outcome == openai.Connect || r.Outcome == openai.Truncated:
		return "look at the server's log: it may have died"
	case r.Outcome == openai.Timeout:
		return `give it longer: timeout = "10m" in [target]; or look at the server's log`
	case r.Outcome == openai.Protocol:
		return "the endpoint does not speak the API: look at the URL"
	}
	return ""
}

// closes says whether the server closes a connection after a streamed answer. The pause gives it the
// time to; without it, its close and the next request would cross on the way.
func (p *prober) closes(text openai.Prompt) bool {
	p.ask(text, true)
	p.pause(20 * time.Millisecond)
	r := p.ask(text, true)
	return !r.Reused || r.Outcome == openai.Connect
}

// takesIDs asks with a prompt of ids from both ends of the range, which must count as they are. A failure that is no refusal says
// nothing of ids, and is asked about again: rows of the same server would else be sent as text in one run, and as ids in the next.
func (p *prober) takesIDs() bool {
	ids := make([]int32, 24)
	for i := range ids {
		ids[i] = firstID + int32(i)*(idCount-1)/23
	}
	r := p.ask(openai.Prompt{IDs: ids}, p.stream)
	if unclear(r) {
		p.pause(300 * time.Millisecond)
		r = p.ask(openai.Prompt{IDs: ids}, p.stream)
	}
	return counts(r) && r.PromptTokens == len(ids)
}

// unclear says that a failure may be the moment's, and not the request's.
func unclear(r openai.Result) bool {
	switch r.Outcome {
	case openai.Connect, openai.Truncated:
		return true
	case openai.Status:
		return r.Status == 429 || r.Status >= 500 && r.Status != 501
	}
	return false
}

// probeTime is long enough for a cold server, and short enough that a wrong address is soon noticed.
const probeTime = 2 * time.Minute

// ask sends one request for two tokens.
func (p *prober) ask(prompt openai.Prompt, stream bool) openai.Result {
	return p.send(stream, func(e *openai.Encoder) []byte { return e.Body(nil, prompt, 2) })
}

// send sends one request, and keeps its answer.
func (p *prober) send(stream bool, body func(*openai.Encoder) []byte) openai.Result {
	ctx, cancel := context.WithTimeout(p.ctx, probeTime)
	defer cancel()
	var r openai.Result
	stream = stream && !p.whole
	enc, err := p.params(stream, true).Encoder()
	if err != nil {
		return openai.Result{Outcome: openai.Protocol, Error: err.Error()}
	}
	p.d.client.Do(ctx, &openai.Call{Body: body(enc), Stream: stream, KeepAnswer: true, Epoch: time.Now()}, &r)
	return r
}

func (p *prober) params(stream, forced bool) openai.Params {
	return openai.Params{API: p.api, Model: p.model, Stream: stream, IgnoreEOS: forced, Omit: p.d.omit, Extra: p.extra}
}

// count is the server's count of a conversation's prompt tokens, template included: texts of the user and the assistant in turn.
func (p *prober) count(texts ...string) (int, error) {
	ctx, cancel := context.WithTimeout(p.ctx, probeTime)
	defer cancel()
	enc, err := p.params(false, true).Encoder()
	if err != nil {
		return 0, err
	}
	r := p.d.client.CountTokens(ctx, enc, texts...)
	if err := outcome(r); err != nil {
		return 0, err
	}
	if !counts(r) {
		return 0, errors.New("the server counts the tokens of some prompts only\nhint: run again; if it stays, look at what it answers by curl")
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
	if tokens <= 0 {
		p.silent = true
		p.d.how = "text, one word taken for one token: the server's count does not grow with the prompt"
		return nil
	}
	single := words
	if tokens != len(words) {
		if single, err = p.singles(nil, words); err != nil {
			return err
		}
	}
	v := workload.Vocabulary{Words: words, Sep: " ", TokensPerWord: float64(tokens) / float64(len(words)), Overhead: overhead}
	p.d.how = fmt.Sprintf("text, %s tokens a word on average by the server's count: lengths are approximate", unit.Brief(v.TokensPerWord, 3))
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

// singles appends to found the words of w that are one token each, until there are enough. It halves
// the list until a part holds no other, and gives up a part of two tokens a word or more.
func (p *prober) singles(found, w []string) ([]string, error) {
	if len(found) >= 2*fewestWords {
		return found, nil
	}
	tokens, _, err := p.cost(w)
	switch {
	case err != nil:
		return nil, err
	case tokens == len(w):
		return append(found, w...), nil
	case len(w) == 1 || tokens >= 2*len(w):
		return found, nil
	}
	if found, err = p.singles(found, w[:len(w)/2]); err != nil {
		return nil, err
	}
	return p.singles(found, w[len(w)/2:])
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
