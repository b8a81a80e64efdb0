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

type apiClient struct {
	api    string
	model  string
	client *openai.Client

	identity string    // of the model's tokenizer: a hash of the model and of what the server reports of itself
	learning *Learning // of the run

	omit         map[string]bool // optional request fields that the server refused
	refusesSSE   bool            // it answers only without streaming
	countsInSSE  bool            // streams report usage; else only whole answers may
	uncounted    bool            // it does not report the prompt's tokens
	listsIDs     bool            // it lists the token ids of its answers if it is asked to
	ids          idRange         // of token IDs to try in prompts
	idsRefused   string          // why the server takes no prompts of them, for display
	vocab        workload.Vocabulary
	lengthSource string                  // how prompts get their lengths, for display
	connections  string                  // how they are used, for display
	closes       bool                    // the server closes them after an answer
	extra        map[string]any          // request fields of [target.extra_body]
	conversation *promptStyle            // nil: not probed yet
	imageTokens  map[workload.Images]int // prompt tokens of an image, by its kind; nil: none counted
	answered     time.Time               // the first answer
}

// optionalFields are the request fields that a server may refuse, the likeliest first.
var optionalFields = []string{"min_tokens", "ignore_eos", "stream_options", "temperature"}

// probe asks, by small requests and in this order: which optional fields the server refuses, whether it keeps
// connections open, whether it lists token IDs of answers, whether it counts prompt tokens, whether it takes prompts
// of token IDs; and if not, which words are one token.
func (c *apiClient) probe(ctx context.Context) error {
	c.vocab = workload.Vocabulary{Words: words, Sep: " ", TokensPerWord: 1}
	text := openai.Prompt{Text: strings.Join(words[:16], " ")}
	r, err := c.findRefusedFields(ctx, text)
	if err != nil {
		return err
	}
	c.answered = time.Now()
	c.closes = c.closesConnections(ctx, text)
	if c.connections = "kept open and reused"; c.closes {
		c.client.NoReuse()
		c.connections = "one per request: the server closes them after an answer"
	}
	// others have no place for them
	c.listsIDs = (c.api == target.Completions || c.api == target.Chat) && c.listsAnswerIDs(ctx, text)
	// some servers count only in whole answers
	if c.countsInSSE = counts(r); !c.countsInSSE {
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
		c.vocab = workload.Vocabulary{FirstID: c.ids.first, IDs: c.ids.count}
		c.lengthSource = "token IDs: exact, not tokenized by the server"
		return nil
	}
	err = c.calibrateWords(ctx)
	c.lengthSource += c.idsRefused
	return err
}

func counts(r openai.Result) bool { return !r.Outcome.Failed() && r.HasUsage && r.PromptTokens > 0 }

// findRefusedFields sends a request; if it is refused, it finds the optional fields that the server refuses.
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

// closesConnections reports whether the server closes after a streamed answer. The pause gives it the time to.
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
	if c.ids.count == 0 {
		c.idsRefused = fmt.Sprintf("; no token IDs: the vocabulary of %d is too small", c.ids.vocabulary)
		return false
	}
	ids := c.ids.spread()
	r := c.ask(ctx, openai.Prompt{IDs: ids}, c.countsInSSE)
	temporary := r.Outcome == openai.Connect || r.Outcome == openai.Truncated ||
		r.Outcome == openai.Status && (r.Status == 429 || r.Status >= 500 && r.Status != 501)
	if temporary {
		pause(ctx, retryPause)
		r = c.ask(ctx, openai.Prompt{IDs: ids}, c.countsInSSE)
	}
	c.idsRefused = idsRefusal(r, len(ids))
	return c.idsRefused == ""
}

// tokenIDs asks for the token IDs of an answer: vLLM since 0.10.2. Every event that bears a token then has its ID,
// also where the token has no text, and the number of tokens of an event is known.
var tokenIDs = map[string]any{"return_token_ids": true}

// longestListed is the longest request that is asked for token IDs, in tokens: vLLM also repeats the prompt's IDs,
// about 6 bytes each, in the first event, which they must not delay.
const longestListed = 16 << 10

func (c *apiClient) listsAnswerIDs(ctx context.Context, text openai.Prompt) bool {
	with := *c
	with.extra = merged(tokenIDs, c.extra)
	r := with.ask(ctx, text, true)
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
	c.client.Do(ctx, &openai.Call{Body: enc.Body(nil, prompt, 2), Stream: stream, KeepAnswer: true, Epoch: time.Now()},
		&r)
	if r.Outcome == openai.Truncated && r.Finish != "" { // complete, but without text and usage: enough for a probe
		r.Outcome, r.Error = openai.OK, ""
	}
	return r
}

// countTokens is the server's count of a prompt with its template. Several texts are user's and assistant's in turn.
func (c *apiClient) countTokens(ctx context.Context, texts ...string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	enc, err := c.encoder(false)
	if err != nil {
		return 0, err
	}
	r := c.client.CountTokens(ctx, enc, texts...)
	if r.Outcome == openai.Protocol && c.countsInSSE && len(texts) == 1 { // a server that always streams
		r = c.ask(ctx, openai.Prompt{Text: texts[0]}, true)
	}
	if err := probeError(r); err != nil {
		return 0, err
	}
	if !counts(r) {
		return 0, errors.New("the server reports the tokens of some prompts only\nhint: run again; if it fails again, check its answers with curl")
	}
	return r.PromptTokens, nil
}

func (c *apiClient) encoder(stream bool) (*openai.Encoder, error) {
	return openai.Params{API: c.api, Model: c.model, Stream: stream, IgnoreEOS: true, Omit: c.omit,
		Extra: c.extra}.Encoder()
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

type ProbeError struct {
	Result openai.Result
	Served []string // quoted names of the models that the server lists, if the one that was tried is none of them
}

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
		return fmt.Sprintf("the server lists %s: --model %s, or model = %s in [target]", strings.Join(e.Served, ", "),
			e.Served[0], e.Served[0])
	case r.Status == 404:
		return `set another model or API: --model NAME or --api chat, in [target] model = "…" or api = "chat"`
	case r.Status == 429:
		return "the server limits the rate of requests: wait, or raise its limit"
	case r.Status == 503:
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
