package endpoint

import (
	"context"
	"fmt"
	"time"

	"bench/experiment/openai"
	"bench/experiment/target"
	"bench/experiment/workload"
	"bench/experiment/workload/prompts"
)

// countedPrompts are the tokens of prompts that the server has counted in this run, by countKey.
type countedPrompts map[countKey]int

// countKey is what a count depends on; cut is the bytes of the last text, 0 = all.
type countKey struct {
	api   *apiClient
	model string
	hash  string
	cut   int
}

// countedPrompts are the server's counts so far.
func (s *Server) countedPrompts() countedPrompts {
	if s.counted == nil {
		s.counted = countedPrompts{}
	}
	return s.counted
}

// selectPrompts leaves out real prompts by their length as the server counts it, and truncates those above cap_input.
// Only those are counted that the row can draw, each once in a run.
func (m *measurement) selectPrompts(ctx context.Context, counted countedPrompts) error {
	for _, class := range m.t.Spec.Classes() {
		p := class.Prompts
		if p == nil || !p.Counts() {
			continue
		}
		sample := m.plan.Prompts(class.Name)
		s := promptSelection{source: p, e: m.encoders[class.Name], counted: counted, progress: m.t.Progress}
		n := sample.Len()
		err := sample.Keep(m.mostDrawn(), func(p *prompts.Prompt) (bool, int, error) { return s.selects(ctx, p) })
		m.t.Progress.counting.Store(0)
		switch {
		case err != nil:
			return err
		case sample.Len() == 0:
			return fmt.Errorf("none of %d prompts of %s is between min_input and max_input: the server counts %d to %d tokens\nhint: change min_input or max_input in [row.prompts]", n, p.File, s.least, s.most)
		}
	}
	return nil
}

// mostDrawn is the largest number of prompts that the row draws; 0 = not known.
func (m *measurement) mostDrawn() int {
	l := m.t.Spec.EffectiveLoad()
	if l.Requests == 0 || l.Warmup.Time > 0 {
		return 0
	}
	return l.Requests + l.Warmup.Requests + l.Concurrency // those in flight at the end of the window are the cool-down
}

// promptSelection decides on the prompts of one class.
type promptSelection struct {
	source      *prompts.Source
	e           *classEncoder
	counted     countedPrompts
	progress    *Progress
	least, most int // tokens so far
}

// selects reports whether a prompt is kept, and to how many bytes its last text is truncated; 0 = not.
func (s *promptSelection) selects(ctx context.Context, p *prompts.Prompt) (keep bool, cut int, err error) {
	c, err := p.Read()
	if err != nil {
		return false, 0, err
	}
	tokens, err := s.count(ctx, p, c, 0)
	if err != nil {
		return false, 0, fmt.Errorf("counting the tokens of %s: %w", p.Line(), err)
	}
	if s.most == 0 || tokens < s.least {
		s.least = tokens
	}
	s.most = max(s.most, tokens)
	s.progress.counting.Add(1)
	if tokens < s.source.MinInput || s.source.MaxInput > 0 && tokens > s.source.MaxInput {
		return false, 0, nil
	}
	if s.source.CapInput == 0 || tokens <= s.source.CapInput {
		return true, 0, nil
	}
	cut, err = s.truncate(ctx, p, c, tokens)
	return cut > 0, cut, err
}

// mostCuts bounds the counts of one truncation: the share of the text that is kept is nearly right at once.
const mostCuts = 8

// truncate finds how many bytes of the last text make a prompt of at most CapInput tokens; 0 = none does.
func (s *promptSelection) truncate(ctx context.Context, p *prompts.Prompt, c *prompts.Content, tokens int) (int, error) {
	text, ok := c.LastText()
	if !ok {
		return 0, nil
	}
	cut := len(text)
	for range mostCuts {
		over := tokens - s.source.CapInput
		perToken := float64(cut) / float64(tokens)
		cut = min(cut-1, cut-int(float64(over)*perToken))
		if cut <= 0 {
			return 0, nil
		}
		short, err := p.Truncated(cut)
		if err != nil {
			return 0, err
		}
		if tokens, err = s.count(ctx, p, short, cut); err != nil {
			return 0, fmt.Errorf("counting the tokens of %s: %w", p.Line(), err)
		}
		if tokens <= s.source.CapInput {
			return cut, nil
		}
	}
	return 0, nil
}

// count is the server's count of a prompt's tokens: by /tokenize, which computes nothing, else by the usage of a request
// for one token.
func (s *promptSelection) count(ctx context.Context, p *prompts.Prompt, c *prompts.Content, cut int) (int, error) {
	enc := s.e.encoder(&workload.Request{})
	key := countKey{s.e.api, s.e.api.model, p.Hash, cut}
	if tokens, ok := s.counted[key]; ok {
		return tokens, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	raw := openai.RawPrompt{Text: c.Text, Messages: c.Messages, Fields: s.e.real.fields(p)}
	tokens, ok := 0, false
	if s.e.api.api == target.Completions || s.e.api.api == target.Chat {
		tokens, ok = s.e.api.client.Tokenize(ctx, enc, raw)
	}
	if !ok {
		var err error
		if tokens, err = s.ask(ctx, enc, p, raw); err != nil {
			return 0, err
		}
	}
	s.counted[key] = tokens
	return tokens, nil
}

func (s *promptSelection) ask(ctx context.Context, enc *openai.Encoder, p *prompts.Prompt, raw openai.RawPrompt) (int, error) {
	var r openai.Result
	s.e.api.client.Do(ctx, &openai.Call{Body: enc.RawBody(nil, raw, 1), Stream: s.e.stream, Epoch: time.Now()}, &r)
	r.Error = privateError(&r, p)
	if err := probeError(r); err != nil {
		return 0, err
	}
	if !counts(r) {
		return 0, fmt.Errorf("the server does not report prompt tokens\nhint: remove min_input, max_input and cap_input")
	}
	return r.PromptTokens, nil
}
