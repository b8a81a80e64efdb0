package endpoint

import (
	"context"
	"fmt"
	"strings"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// cacheBlock is the prefix cache's block size, as the metrics page reports it, else by probes; nil: not known.
func (s *Server) cacheBlock(ctx context.Context, spec *experiment.Spec, c *apiClient) *record.CacheBlock {
	if s.sources != nil {
		if tokens := s.sources.CacheBlock(); tokens > 0 {
			return &record.CacheBlock{Tokens: tokens, Source: record.BlockReported}
		}
	}
	// a cold start is the first request to an idle server
	if !s.blockProbed && spec.SharesPrefixes() && !spec.IsColdStart() {
		s.probedBlock, s.blockProbed = c.probeBlock(ctx, s.contextLength), ctx.Err() == nil
	}
	if s.probedBlock == 0 {
		return nil
	}
	return &record.CacheBlock{Tokens: s.probedBlock, Source: record.BlockProbed}
}

// repeated is what a server reports of a prompt it has just computed: whole blocks, never the last token.
type repeated struct{ prompt, cached int }

func (r repeated) allows(block int) bool { return r.cached == (r.prompt-1)/block*block }

// blockProbes are the lengths of the first prompts, in tokens: the second one finds larger blocks.
var blockProbes = []int{512, 2048}

const mostRepeated = 6

// probeBlock sends a few prompts twice and finds the one block size that explains the cached tokens that the
// server reports the second time; 0: it reports none, or no single size does. context is the longest prompt
// and answer, 0 = not known.
func (c *apiClient) probeBlock(ctx context.Context, context int) int {
	var seen []repeated
	for _, length := range blockProbes {
		if context > 0 && length > context-8 { // room for template and answer
			return 0
		}
		r, ok := c.repeat(ctx, length)
		if !ok {
			return 0
		}
		if r.cached > 0 {
			seen = append(seen, r)
			break
		}
	}
	for len(seen) > 0 && len(seen) < mostRepeated {
		sizes := blocksBehind(seen)
		switch len(sizes) {
		case 0:
			return 0
		case 1:
			return sizes[0]
		}
		r, ok := c.repeat(ctx, dividing(sizes))
		if !ok {
			return 0
		}
		seen = append(seen, r)
	}
	return 0
}

// blocksBehind are the block sizes that allow all cached tokens seen, the smallest first.
func blocksBehind(seen []repeated) (sizes []int) {
	for block := 1; block <= seen[0].cached; block++ {
		ok := true
		for _, r := range seen {
			ok = ok && r.allows(block)
		}
		if ok {
			sizes = append(sizes, block)
		}
	}
	return sizes
}

// dividing is the length of a prompt that half of the sizes, the larger ones, leave without a whole block.
func dividing(sizes []int) int {
	half := (len(sizes) - 1) / 2
	return (sizes[half]+sizes[half+1])/2 + 1
}

// repeat sends a prompt of about this many tokens twice. ok: the server reports what it cached of the second.
func (c *apiClient) repeat(ctx context.Context, length int) (r repeated, ok bool) {
	plan := workload.NewPlan(workload.Workload{Input: workload.Fixed(length), Output: workload.Fixed(1)}, 1,
		"cache block")
	request := plan.Next()
	prompt := promptOf(&c.vocab, nil, &request)
	c.ask(ctx, prompt, c.countsInSSE)
	answer := c.ask(ctx, prompt, c.countsInSSE)
	return repeated{answer.PromptTokens, answer.CachedTokens}, counts(answer) && answer.HasCached
}

// countImage is an image's prompt tokens: as the row states, else as the server counts, asked once per kind.
func (c *apiClient) countImage(ctx context.Context, im *workload.Images) (tokens int, err error) {
	if im.Tokens > 0 {
		return im.Tokens, nil
	}
	tokens, known := c.imageTokens[*im]
	if known {
		return tokens, nil
	}
	if tokens, err = c.askImage(ctx, im); err != nil {
		return 0, err
	}
	if c.imageTokens == nil {
		c.imageTokens = map[workload.Images]int{}
	}
	c.imageTokens[*im] = tokens
	return tokens, nil
}

// askImage is the server's count of a prompt with an image, less its count of the prompt without; 0: it counts none.
func (c *apiClient) askImage(ctx context.Context, im *workload.Images) (int, error) {
	text := openai.Prompt{Text: strings.Join(words[:16], " ")}
	without := c.ask(ctx, text, c.countsInSSE)
	text.Images = [][]byte{im.PNG(nil, 1)}
	with := c.ask(ctx, text, c.countsInSSE)
	if err := probeError(with); err != nil {
		return 0, fmt.Errorf("trying an image of %d × %d pixels: %w", im.Width, im.Height, err)
	}
	if !counts(with) || !counts(without) { // lengths are not checked then
		return 0, nil
	}
	return with.PromptTokens - without.PromptTokens, nil
}
