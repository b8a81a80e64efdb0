package endpoint

import (
	"context"
	"fmt"
	"strings"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

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
