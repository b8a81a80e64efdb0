package endpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// apiClient is one API of the server, and what its probes showed.
type apiClient struct {
	api    string
	model  string
	client *openai.Client

	omit         map[string]bool // optional request fields that the server refused
	refusesSSE   bool            // it answers only without streaming
	countsInSSE  bool            // streams report usage; else only whole answers may
	uncounted    bool            // it does not report the prompt's tokens
	vocab        workload.Vocabulary
	lengthSource string         // how prompts get their lengths, for display
	connections  string         // how they are used, for display
	extra        map[string]any // request fields of [target.extra_body]
	conversation *promptStyle   // nil: not probed yet
	answered     time.Time      // the first answer
}

// optionalFields are the request fields that a server may refuse, the likeliest first.
var optionalFields = []string{"min_tokens", "ignore_eos", "stream_options", "temperature"}

// Token IDs of synthetic prompts: above the special and byte tokens of common vocabularies, below the size of
// the smallest of them (32,000, Llama 2 and Mistral).
const (
	firstID = 1000
	idCount = 30000
)

// probe asks, by small requests and in this order: which optional fields the server refuses, whether it keeps
// connections open, whether it counts prompt tokens, whether it takes prompts of token IDs; and if not, which
// words are one token.
func (c *apiClient) probe(ctx context.Context) error {
	c.vocab = workload.Vocabulary{Words: words, Sep: " ", TokensPerWord: 1}
	text := openai.Prompt{Text: strings.Join(words[:16], " ")}
	r, err := c.findRefusedFields(ctx, text)
	if err != nil {
		return err
	}
	c.answered = time.Now()
	if c.connections = "kept open and reused"; c.closesConnections(ctx, text) {
		c.client.NoReuse()
		c.connections = "one per request: the server closes them after an answer"
	}
	if c.countsInSSE = counts(r); !c.countsInSSE { // some servers count only in whole answers
		whole := c.ask(ctx, text, false)
		if whole.Outcome == openai.Connect {
			return probeError(whole)
		}
		if !counts(whole) {
			c.uncounted = true
			c.lengthSource = "text, one token per word assumed: the server does not report prompt tokens"
			return nil
		}
	}
	if c.api == target.Completions && c.takesIDs(ctx) {
		c.vocab = workload.Vocabulary{FirstID: firstID, IDs: idCount}
		c.lengthSource = "token IDs: exact, not tokenized by the server"
		return nil
	}
	return c.calibrateWords(ctx)
}

// counts reports whether an answer states the tokens of its prompt.
func counts(r openai.Result) bool { return !r.Outcome.Failed() && r.HasUsage && r.PromptTokens > 0 }

// findRefusedFields sends a request; if it is refused, it finds the optional fields that the server does not
// take.
func (c *apiClient) findRefusedFields(ctx context.Context, prompt openai.Prompt) (openai.Result, error) {
	r := c.ask(ctx, prompt, true)
	for range 3 { // a server that is busy for a moment is no reason to give up
		if r.Outcome != openai.Status || !slices.Contains([]int{429, 502, 503}, r.Status) {
			break
		}
		pause(ctx, retryPause)
		r = c.ask(ctx, prompt, true)
	}
	if !refused(r) {
		return r, probeError(r)
	}
	first := r
	for _, f := range optionalFields {
		c.omit[f] = true
	}
	if r = c.ask(ctx, prompt, true); refused(r) {
		clear(c.omit)
		c.refusesSSE = true // rows without streaming can still be measured
		if r = c.ask(ctx, prompt, true); !r.Outcome.Failed() {
			return r, nil
		}
		return first, probeError(first)
	}
	for _, f := range optionalFields { // send each that is not refused
		delete(c.omit, f)
		if again := c.ask(ctx, prompt, true); again.Outcome.Failed() {
			c.omit[f] = true
		} else {
			r = again
		}
	}
	return r, probeError(r)
}

const retryPause = 300 * time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// refused reports whether the request itself may be the reason of a failure; some servers answer 500 then.
func refused(r openai.Result) bool {
	return r.Outcome == openai.Status && slices.Contains([]int{400, 422, 500, 501}, r.Status)
}

// closesConnections reports whether the server closes a connection after a streamed answer. The pause gives
// it the time to; without it, its close and the next request could cross.
func (c *apiClient) closesConnections(ctx context.Context, text openai.Prompt) bool {
	c.ask(ctx, text, true)
	pause(ctx, 20*time.Millisecond)
	r := c.ask(ctx, text, true)
	return !r.Reused || r.Outcome == openai.Connect
}

// takesIDs sends a prompt of IDs from both ends of the range, which must be counted as they are. A failure
// that is no refusal is asked about again: else the same server would get text in one run and IDs in the
// next.
func (c *apiClient) takesIDs(ctx context.Context) bool {
	ids := make([]int32, 24)
	for i := range ids {
		ids[i] = firstID + int32(i)*(idCount-1)/23
	}
	r := c.ask(ctx, openai.Prompt{IDs: ids}, c.countsInSSE)
	temporary := r.Outcome == openai.Connect || r.Outcome == openai.Truncated ||
		r.Outcome == openai.Status && (r.Status == 429 || r.Status >= 500 && r.Status != 501)
	if temporary {
		pause(ctx, retryPause)
		r = c.ask(ctx, openai.Prompt{IDs: ids}, c.countsInSSE)
	}
	return counts(r) && r.PromptTokens == len(ids)
}

// listsIDs reports whether the server lists the token IDs of its answers if these fields ask for them.
func (c *apiClient) listsIDs(ctx context.Context, extra map[string]any) bool {
	with := *c
	with.extra = merged(c.extra, extra)
	r := with.ask(ctx, openai.Prompt{IDs: []int32{firstID, firstID + 1, firstID + 2}}, c.countsInSSE)
	return !r.Outcome.Failed() && r.OutputTokens > 0 && len(r.Answer.IDs) == r.OutputTokens
}

// probeTimeout suffices for the first answer of a cold server.
const probeTimeout = 2 * time.Minute

// ask sends one request for two tokens by the path of measured requests, and keeps its answer.
func (c *apiClient) ask(ctx context.Context, prompt openai.Prompt, stream bool) (r openai.Result) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	stream = stream && !c.refusesSSE
	enc, err := c.encoder(stream)
	if err != nil {
		return openai.Result{Outcome: openai.Protocol, Error: err.Error()}
	}
	c.client.Do(ctx, &openai.Call{Body: enc.Body(nil, prompt, 2), Stream: stream, KeepAnswer: true, Epoch: time.Now()}, &r)
	return r
}

// countTokens is the server's count of a prompt's tokens, chat template included. Several texts are a
// conversation of user and assistant in turn.
func (c *apiClient) countTokens(ctx context.Context, texts ...string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	enc, err := c.encoder(false)
	if err != nil {
		return 0, err
	}
	r := c.client.CountTokens(ctx, enc, texts...)
	if err := probeError(r); err != nil {
		return 0, err
	}
	if !counts(r) {
		return 0, errors.New("the server reports the tokens of some prompts only\nhint: run again; if it fails again, check its answers with curl")
	}
	return r.PromptTokens, nil
}

func (c *apiClient) encoder(stream bool) (*openai.Encoder, error) {
	return openai.Params{API: c.api, Model: c.model, Stream: stream, IgnoreEOS: true, Omit: c.omit, Extra: c.extra}.Encoder()
}

// merged is both sets of fields; over wins.
func merged(fields, over map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, fields)
	maps.Copy(out, over)
	return out
}

func probeError(r openai.Result) error {
	if r.Outcome.Failed() {
		return &ProbeError{Result: r}
	}
	return nil
}

// ProbeError is a failed probe: no row can be measured.
type ProbeError struct {
	Result openai.Result
	Served []string // quoted names of the models that the server lists, if the one that was tried is none of them
}

// Error is the failure with a hint, if one is known.
func (e *ProbeError) Error() string {
	text := e.Result.Error // with the HTTP status, if there is one
	if e.Result.Outcome != openai.Status {
		text = string(e.Result.Outcome) + ": " + text
	}
	if hint := e.hint(); hint != "" {
		text += "\nhint: " + hint
	}
	return text
}

func (e *ProbeError) hint() string {
	r := e.Result
	switch {
	case r.Status == 401 || r.Status == 403:
		return "set the API key: --api-key-env VAR"
	case r.Status == 404 && len(e.Served) > 0:
		return fmt.Sprintf("the server lists %s: --model %s, or model = %s in [target]", strings.Join(e.Served, ", "), e.Served[0], e.Served[0])
	case r.Status == 404:
		return `set another model or API: --model NAME or --api chat, in [target] model = "…" or api = "chat"`
	case r.Status == 429 || r.Status == 503:
		return "the server is busy: try again later"
	case r.Status == 400 || r.Status == 422:
		return "check model, api and [target.extra_body] in the matrix"
	case r.Status >= 500 || r.Outcome == openai.Connect || r.Outcome == openai.Truncated:
		return "check the server's log: it may have crashed"
	case r.Outcome == openai.Timeout:
		return `raise timeout = "10m" in [target], or check the server's log`
	case r.Outcome == openai.Protocol:
		return "the endpoint does not speak the OpenAI API: check the URL"
	}
	return ""
}
