package endpoint

import (
	"context"
	"fmt"
	"strings"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

// countImage is the number of prompt tokens of an image: as the row states it, else the server's count of a prompt
// with one, less its count of the prompt without.
func (c *apiClient) countImage(ctx context.Context, im *workload.Images) (int, error) {
	if im.Tokens > 0 {
		return im.Tokens, nil
	}
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
