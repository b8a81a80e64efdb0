package endpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"bench/experiment/unit"
	"bench/experiment/workload"
)

// fewestWords of one token each suffice for prompts that no cache mistakes for one another.
const fewestWords = 16

func (c *apiClient) calibrateWords(ctx context.Context) error {
	if known := c.learning.known(c); len(known) > 0 { // by another API of this model, or by an earlier run
		tokens, overhead, err := measureWords(ctx, c.countText, known)
		if err != nil {
			return err
		}
		if tokens == len(known) {
			return c.useWords(ctx, known, overhead)
		}
	}
	tokens, overhead, err := measureWords(ctx, c.countText, words)
	if err != nil {
		return err
	}
	if tokens <= 0 {
		c.uncounted = true
		c.lengthSource = "text, one token per word assumed: the server's count does not grow with the prompt"
		return nil
	}
	if tokens == len(words) {
		return c.useWords(ctx, words, overhead)
	}
	single, err := c.learnWords(ctx, tokens)
	if err != nil {
		return err
	}
	if len(single) >= fewestWords {
		c.learning.keep(c, single)
		if _, overhead, err = measureWords(ctx, c.countText, single); err != nil {
			return err
		}
		return c.useWords(ctx, single, overhead)
	}
	c.vocab = workload.Vocabulary{Words: words, Sep: " ", TokensPerWord: float64(tokens) / float64(len(words)),
		Overhead: overhead}
	c.lengthSource = fmt.Sprintf("text, %s tokens per word on average by the server's count: lengths are approximate",
		unit.Brief(c.vocab.TokensPerWord, 3))
	return c.verifyVocabulary(ctx)
}

func (c *apiClient) useWords(ctx context.Context, single []string, overhead int) error {
	c.vocab = workload.Vocabulary{Words: single, Sep: " ", TokensPerWord: 1, Overhead: overhead}
	c.lengthSource = fmt.Sprintf("text of %d words that are one token each by the server's count", len(single))
	return c.verifyVocabulary(ctx)
}

// learnWords finds words of one token each: by /tokenize, which computes nothing, if it counts all words as the API
// did; else by requests.
func (c *apiClient) learnWords(ctx context.Context, tokens int) ([]string, error) {
	counting := c.learning.counting()
	byTokenize := counting(func(ctx context.Context, text string) (int, error) {
		n, ok := c.client.TokenizeText(ctx, c.model, text)
		if !ok {
			return 0, errors.New("the server has no /tokenize")
		}
		return n, nil
	})
	if n, _, err := measureWords(ctx, byTokenize, words); err == nil && n == tokens {
		if single, err := singleTokenWords(ctx, byTokenize, nil, words); err == nil {
			return single, nil
		}
	}
	return singleTokenWords(ctx, counting(c.countText), nil, words)
}

// counter is a server's count of a text, with what stands around it.
type counter func(ctx context.Context, text string) (int, error)

func (c *apiClient) countText(ctx context.Context, text string) (int, error) {
	return c.countTokens(ctx, text)
}

// measureWords is the tokens of words, and of what stands around them, by the counts of the text once and twice.
func measureWords(ctx context.Context, count counter, w []string) (tokens, overhead int, err error) {
	text := strings.Join(w, " ")
	once, err := count(ctx, text)
	if err != nil {
		return 0, 0, err
	}
	twice, err := count(ctx, text+" "+text)
	return twice - once, once - (twice - once), err
}

// singleTokenWords appends to found the words of w that are one token each, until there are enough. It halves
// the list until a part has no others, and skips a part of two tokens per word or more.
func singleTokenWords(ctx context.Context, count counter, found, w []string) ([]string, error) {
	if len(found) >= 2*fewestWords {
		return found, nil
	}
	tokens, _, err := measureWords(ctx, count, w)
	switch {
	case err != nil:
		return nil, err
	case tokens == len(w):
		return append(found, w...), nil
	case len(w) == 1 || tokens >= 2*len(w):
		return found, nil
	}
	if found, err = singleTokenWords(ctx, count, found, w[:len(w)/2]); err != nil {
		return nil, err
	}
	return singleTokenWords(ctx, count, found, w[len(w)/2:])
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
