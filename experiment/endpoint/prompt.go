package endpoint

import (
	"context"
	"fmt"
	"math"
	"strings"

	"bench/experiment/openai"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// manner is how prompts are made in one API of the server: single ones, or those of a conversation.
type promptStyle struct {
	first workload.Vocabulary // of a prompt, or of a conversation's first turn
	later workload.Vocabulary // of what each later turn adds
	extra map[string]any      // request fields that conversations take
	how   string              // for people
}

// conversation is the manner of conversations, which the server is asked about when the first row needs it.
func (d *apiClient) conversation(ctx context.Context) (*promptStyle, error) {
	if d.turns != nil {
		return d.turns, nil
	}
	p := d.asked
	p.ctx = ctx
	m, err := p.converse()
	if err != nil {
		return nil, fmt.Errorf("trying a conversation by %s: %w", d.api, err)
	}
	d.turns = m
	return m, nil
}

// surround corrects the overhead of chat prompts for the fields of a class: tools stand in the prompt, by most templates. A
// server that refuses them is not asked further, since it will refuse the class's requests too, and say so in the records.
func (d *apiClient) measureTemplateOverhead(ctx context.Context, m *promptStyle, extra map[string]any) {
	p := d.asked
	if d.api != target.Chat || len(extra) == 0 || p.silent {
		return
	}
	p.ctx, p.extra = ctx, with(p.extra, extra)
	if _, overhead, err := p.cost(m.first.Words); err == nil {
		m.first.Overhead = overhead
	}
}

// converse finds out how conversations are held. Token ids take a server that gives back those of its answers; else a
// conversation is text, and one whose words are sized by the server's count.
func (p *prober) converse() (*promptStyle, error) {
	m := &promptStyle{first: p.d.vocab, later: p.d.vocab}
	if p.api == target.Chat {
		return m, p.templated(m)
	}
	if p.d.vocab.IDs == 0 {
		m.later.Overhead = 0
		return m, nil
	}
	m.extra = map[string]any{"return_token_ids": true}
	if p.listsIDs(m.extra) {
		m.how = "token ids, those of the answers as the server lists them"
		return m, nil
	}
	text := *p.d
	q := *p
	q.d = &text
	if err := q.calibrate(); err != nil {
		return nil, err
	}
	*m = promptStyle{first: text.vocab, later: text.vocab, how: text.how}
	m.later.Overhead = 0
	return m, nil
}

// listsIDs says that the server lists the token ids of its answers where these fields ask for it.
func (p *prober) listsIDs(extra map[string]any) bool {
	q := *p
	q.extra = with(p.extra, extra)
	r := q.send(p.stream, func(e *openai.Encoder) []byte {
		return e.Body(nil, openai.Prompt{IDs: []int32{firstID, firstID + 1, firstID + 2}}, 2)
	})
	return !r.Outcome.Failed() && r.OutputTokens > 0 && len(r.Answer.IDs) == r.OutputTokens
}

// templated finds the tokens that the chat template puts around an answer that is sent back and the message behind it.
func (p *prober) templated(m *promptStyle) error {
	v := &m.later
	const n = 16
	v.Overhead = 0
	if p.silent {
		return nil
	}
	said := strings.Join(v.Words[:min(n, len(v.Words))], v.Sep)
	tokens, err := p.count(said, said, said)
	if err != nil {
		return err
	}
	words := 3 * float64(min(n, len(v.Words))) * v.TokensPerWord
	v.Overhead = tokens - m.first.Overhead - int(math.Round(words))
	m.how = fmt.Sprintf("messages; an answer and the message behind it take %d tokens beside their own", v.Overhead)
	return nil
}

// with lays one set of fields over another.
func with(fields, over map[string]any) map[string]any {
	out := map[string]any{}
	for _, m := range []map[string]any{fields, over} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}
