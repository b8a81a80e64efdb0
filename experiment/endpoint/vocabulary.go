package endpoint

import (
	"context"
	"fmt"
	"strings"

	"bench/experiment/unit"
	"bench/experiment/workload"
)

// fewestWords of one token each suffice for prompts that no cache mistakes for one another.
const fewestWords = 16

func (c *apiClient) calibrateWords(ctx context.Context) error {
	tokens, overhead, err := c.measureWords(ctx, words)
	if err != nil {
		return err
	}
	if tokens <= 0 {
		c.uncounted = true
		c.lengthSource = "text, one token per word assumed: the server's count does not grow with the prompt"
		return nil
	}
	single := words
	if tokens != len(words) {
		if single, err = c.singleTokenWords(ctx, nil, words); err != nil {
			return err
		}
	}
	v := workload.Vocabulary{Words: words, Sep: " ", TokensPerWord: float64(tokens) / float64(len(words)), Overhead: overhead}
	c.lengthSource = fmt.Sprintf("text, %s tokens per word on average by the server's count: lengths are approximate", unit.Brief(v.TokensPerWord, 3))
	if len(single) >= fewestWords {
		v.Words, v.TokensPerWord = single, 1
		if _, v.Overhead, err = c.measureWords(ctx, single); err != nil {
			return err
		}
		c.lengthSource = fmt.Sprintf("text of %d words that are one token each by the server's count", len(single))
	}
	c.vocab = v
	return c.verifyVocabulary(ctx)
}

// measureWords is the tokens of words, and of what stands around them, by the counts of the text once and twice.
func (c *apiClient) measureWords(ctx context.Context, w []string) (tokens, overhead int, err error) {
	text := strings.Join(w, " ")
	once, err := c.countTokens(ctx, text)
	if err != nil {
		return 0, 0, err
	}
	twice, err := c.countTokens(ctx, text+" "+text)
	return twice - once, once - (twice - once), err
}

// singleTokenWords appends to found the words of w that are one token each, until there are enough. It halves
// the list until a part has no others, and skips a part of two tokens per word or more.
func (c *apiClient) singleTokenWords(ctx context.Context, found, w []string) ([]string, error) {
	if len(found) >= 2*fewestWords {
		return found, nil
	}
	tokens, _, err := c.measureWords(ctx, w)
	switch {
	case err != nil:
		return nil, err
	case tokens == len(w):
		return append(found, w...), nil
	case len(w) == 1 || tokens >= 2*len(w):
		return found, nil
	}
	if found, err = c.singleTokenWords(ctx, found, w[:len(w)/2]); err != nil {
		return nil, err
	}
	return c.singleTokenWords(ctx, found, w[len(w)/2:])
}

func (c *apiClient) verifyVocabulary(ctx context.Context) error {
	const want = 256
	plan := workload.NewPlan(workload.Workload{Input: workload.Fixed(want), Output: workload.Fixed(1)}, 1, "probe")
	r := plan.Next()
	got, err := c.countTokens(ctx, c.vocab.Text(&r))
	if err == nil && got != want {
		c.lengthSource += fmt.Sprintf("; requested %d prompt tokens, server counted %d", want, got)
	}
	return err
}

// words are short and common: most are one token with a space before. The server's counts select those that are.
var words = strings.Fields(`
time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point
home water room mother area money story fact month lot right study book eye job word business issue
side kind head house service friend father power hour game line end member law car city community name
president team minute idea body information back parent face others level office door health person art
war history party result change morning reason research girl guy moment air teacher force education`)
