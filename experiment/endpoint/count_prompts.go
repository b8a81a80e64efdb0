package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/prompts"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/workload"
)

type countedPrompts map[countKey]PromptCount

// countKey is what a count depends on; cut is the bytes of the last text, 0 = all.
type countKey struct {
	api    *apiClient
	model  string
	file   string // its SHA-256: machines have it at other paths
	number int    // of the prompt in it, with its fields, such as tools
	cut    int
}

// PromptCount is what the server answered when the leader of workers asked for the length of a real prompt.
type PromptCount struct {
	Class   string `json:"class"`
	Number  int    `json:"number"`        // of the prompt in the file of the class
	Cut     int    `json:"cut,omitempty"` // bytes of the last text; 0 = all
	Tokens  int    `json:"tokens,omitempty"`
	Refused string `json:"refused,omitempty"` // why the server refuses it, without its text; empty = it does not
}

func (c countedPrompts) of(spec *experiment.Spec, encoders classEncoders) (out []PromptCount) {
	for _, class := range spec.Classes() {
		if class.Prompts == nil {
			continue
		}
		api := encoders[class.Name].api
		for key, n := range c {
			if key.api == api && key.model == api.model && key.file == class.Prompts.SHA256 {
				n.Class = class.Name
				out = append(out, n)
			}
		}
	}
	return out
}

func (c countedPrompts) take(counts []PromptCount, spec *experiment.Spec, encoders classEncoders) {
	files := map[string]string{}
	for _, class := range spec.Classes() {
		if class.Prompts != nil {
			files[class.Name] = class.Prompts.SHA256
		}
	}
	for _, n := range counts {
		if e := encoders[n.Class]; e != nil {
			c[countKey{e.api, e.api.model, files[n.Class], n.Number, n.Cut}] = n
		}
	}
}

func (s *Server) countedPrompts() countedPrompts {
	if s.counted == nil {
		s.counted = countedPrompts{}
	}
	return s.counted
}

// selectPrompts leaves out real prompts by their length as the server counts it, and those that it refuses to count; it
// truncates those above cap_input. Only those are counted that the row can draw, each once in a run. It
// returns errNothingToSend if the server refuses all prompts of a class.
func (m *measurement) selectPrompts(ctx context.Context, counted countedPrompts) error {
	none := false
	refused := new(record.RefusedPrompts)
	for _, class := range m.t.Spec.Classes() {
		p := class.Prompts
		if p == nil || !p.Counts() {
			continue
		}
		sample := m.plan.Prompts(class.Name)
		s := promptSelection{source: p, e: m.encoders[class.Name], counted: counted, progress: m.t.Progress,
			refused: refused}
		n := sample.Len()
		err := sample.Keep(m.mostDrawn(), func(p *prompts.Prompt) (bool, int, error) { return s.selects(ctx, p) })
		m.t.Progress.change(func(s *Snapshot) { s.Counting = 0 })
		switch {
		case err != nil:
			return err
		case sample.Len() > 0:
		case s.most == 0:
			none = true
		default:
			return fmt.Errorf("none of %d prompts of %s is between min_input and max_input: the server counts %d to %d tokens\nhint: change min_input or max_input in [row.prompts]", n, p.File, s.least, s.most)
		}
	}
	if refused.N > 0 {
		m.e.RefusedPrompts = refused
	}
	if none {
		return errNothingToSend
	}
	return nil
}

var errNothingToSend = errors.New("the server refuses all prompts")

// mostDrawn is the largest number of prompts that the row draws; 0 = not known.
func (m *measurement) mostDrawn() int {
	l := m.t.Spec.EffectiveLoad()
	if l.Requests == 0 || l.Warmup.Time > 0 {
		return 0
	}
	return l.Requests + l.Warmup.Requests + l.Concurrency // those in flight at the end of the window are the cool-down
}

type promptSelection struct {
	source      *prompts.Source
	e           *classEncoder
	counted     countedPrompts
	progress    *Progress
	least, most int // tokens so far; most 0: none is counted yet
	refused     *record.RefusedPrompts
}

// selects reports whether a prompt is kept, and to how many bytes its last text is truncated; 0 = not.
func (s *promptSelection) selects(ctx context.Context, p *prompts.Prompt) (keep bool, cut int, err error) {
	c, err := p.Read()
	if err != nil {
		return false, 0, err
	}
	count, err := s.count(ctx, p, c, 0)
	if err != nil {
		return false, 0, err
	}
	s.progress.change(func(live *Snapshot) { live.Counting++ })
	s.refused.Counted++
	if count.Refused != "" {
		s.refused.Add(p.Line(), count.Refused)
		return false, 0, nil
	}
	tokens := count.Tokens
	if s.most == 0 || tokens < s.least {
		s.least = tokens
	}
	s.most = max(s.most, tokens)
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
func (s *promptSelection) truncate(ctx context.Context, p *prompts.Prompt, c *prompts.Content,
	tokens int) (int, error) {
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
		count, err := s.count(ctx, p, short, cut)
		if err != nil {
			return 0, err
		}
		if count.Refused != "" {
			s.refused.Add(p.Line(), count.Refused)
			return 0, nil
		}
		if tokens = count.Tokens; tokens <= s.source.CapInput {
			return cut, nil
		}
	}
	return 0, nil
}

// count is the server's count of a prompt: by /tokenize, which computes nothing, else by a request for one token.
func (s *promptSelection) count(ctx context.Context, p *prompts.Prompt, c *prompts.Content,
	cut int) (PromptCount, error) {
	key := countKey{s.e.api, s.e.api.model, s.source.SHA256, p.Number, cut}
	if known, ok := s.counted[key]; ok {
		return known, nil
	}
	count, err := s.askCount(ctx, p, c)
	count.Number, count.Cut = p.Number, cut
	var failed *ProbeError
	switch {
	case errors.As(err, &failed) && slices.Contains(refusals, failed.Result.Status):
		count.Refused = failed.Result.Error
	case err != nil:
		return count, fmt.Errorf("counting the tokens of %s: %w", p.Line(), err)
	}
	s.counted[key] = count
	return count, nil
}

// refusals are the HTTP statuses by which servers refuse one prompt; others are about all of them.
var refusals = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

func (s *promptSelection) askCount(ctx context.Context, p *prompts.Prompt,
	c *prompts.Content) (count PromptCount, err error) {
	enc := s.e.encoder(&workload.Request{})
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	raw := openai.RawPrompt{Text: c.Text, Messages: c.Messages, Fields: s.e.real.fields(p)}
	ok := false
	if s.e.api.api == target.Completions || s.e.api.api == target.Chat {
		count.Tokens, ok = s.e.api.client.Tokenize(ctx, enc, raw)
	}
	if !ok {
		count.Tokens, err = s.ask(ctx, enc, p, raw)
	}
	return count, err
}

func (s *promptSelection) ask(ctx context.Context, enc *openai.Encoder, p *prompts.Prompt,
	raw openai.RawPrompt) (int, error) {
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
