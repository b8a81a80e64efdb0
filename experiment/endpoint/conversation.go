package endpoint

import (
	"context"
	"fmt"
	"math"
	"strings"

	"bench/experiment/target"
	"bench/experiment/workload"
)

type promptStyle struct {
	first workload.Vocabulary // of a prompt, or of a conversation's first turn
	later workload.Vocabulary // of what each later turn adds
	extra map[string]any      // request fields besides those of the target and the class
}

func (c *apiClient) conversationStyle(ctx context.Context) (*promptStyle, error) {
	if c.conversation == nil {
		style, err := c.probeConversation(ctx)
		if err != nil {
			return nil, fmt.Errorf("trying a conversation by %s: %w", c.api, err)
		}
		c.conversation = style
	}
	return c.conversation, nil
}

// probeConversation: token IDs need a server that lists the IDs of its answers; else a conversation is text,
// of words whose tokens the server counted.
func (c *apiClient) probeConversation(ctx context.Context) (*promptStyle, error) {
	style := &promptStyle{first: c.vocab, later: c.vocab}
	style.later.Overhead = 0
	if target.InMessages(c.api) {
		return style, c.measureLaterTurns(ctx, style)
	}
	if c.vocab.IDs == 0 {
		return style, nil
	}
	if c.listsIDs {
		style.later.Overhead, style.extra = c.vocab.Overhead, tokenIDs
		return style, nil
	}
	text := *c
	if err := text.calibrateWords(ctx); err != nil {
		return nil, err
	}
	style.first, style.later = text.vocab, text.vocab
	style.later.Overhead = 0
	return style, nil
}

// measureLaterTurns finds the chat template's tokens around an answer that is sent back and the next message.
func (c *apiClient) measureLaterTurns(ctx context.Context, style *promptStyle) error {
	if c.uncounted {
		return nil
	}
	v := &style.later
	n := min(16, len(v.Words))
	text := strings.Join(v.Words[:n], v.Sep)
	tokens, err := c.countTokens(ctx, text, text, text)
	if err == nil {
		v.Overhead = tokens - style.first.Overhead - int(math.Round(3*float64(n)*v.TokensPerWord))
	}
	return err
}

// measureTemplateOverhead corrects the overhead of prompts in messages for the request fields of a class: most
// templates put tools into the prompt. If the server refuses the fields, the overhead stays: the records of
// the class will show the refusal.
func (c *apiClient) measureTemplateOverhead(ctx context.Context, style *promptStyle, extra map[string]any) {
	if !target.InMessages(c.api) || len(extra) == 0 || c.uncounted {
		return
	}
	with := *c
	with.extra = merged(c.extra, extra)
	if _, overhead, err := measureWords(ctx, with.countText, style.first.Words); err == nil {
		style.first.Overhead = overhead
	}
}
