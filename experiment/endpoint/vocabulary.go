package endpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment/openai"
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

// idRange is the token IDs of synthetic prompts, [first, first+count); count 0 = the vocabulary is too small.
type idRange struct {
	first, count int32
	vocabulary   int // its size, as the server lists it; 0 = not listed
}

const (
	// usualFirst and usualCount are above the special and byte tokens of common vocabularies, and below the size
	// of the smallest of them (32,000, Llama 2 and Mistral).
	usualFirst = 1000
	usualCount = 30_000
	// smallestVocabulary leaves enough IDs above the byte tokens for prompts that share nothing by chance.
	smallestVocabulary = 2048
)

// idsWithin is the IDs to use with a vocabulary of a listed size; 0 = not listed. A smaller vocabulary than
// usual has its own range: without an eighth at its start, at most usualFirst, and a 32nd at its end, where some
// have special tokens, too.
func idsWithin(vocabulary int) idRange {
	switch {
	case vocabulary == 0 || vocabulary >= usualFirst+usualCount:
		return idRange{usualFirst, usualCount, vocabulary}
	case vocabulary < smallestVocabulary:
		return idRange{vocabulary: vocabulary}
	}
	first := min(usualFirst, vocabulary/8)
	return idRange{int32(first), int32(vocabulary - vocabulary/32 - first), vocabulary}
}

func (r idRange) spread() []int32 {
	ids := make([]int32, 24)
	for i := range ids {
		ids[i] = r.first + int32(int64(i)*int64(r.count-1)/int64(len(ids)-1))
	}
	return ids
}

// listedVocabulary is a model's vocabulary size as the server lists it (llama.cpp: meta.n_vocab); 0 = not listed.
func (s *Server) listedVocabulary(name string) int {
	models, _ := s.Info.Models.([]any) // nil if the server lists none
	for _, m := range models {
		model, _ := m.(map[string]any)
		meta, _ := model["meta"].(map[string]any)
		if size, ok := meta["n_vocab"].(float64); ok && model["id"] == name && size >= 1 && size <= math.MaxInt32 {
			return int(size)
		}
	}
	return 0
}

// idsRefusal is why a server takes no prompts of token IDs, by its answer to one of so many; empty: it does.
func idsRefusal(r openai.Result, sent int) string {
	switch {
	case r.Outcome.Failed():
		return "; no token IDs: " + unit.ClipBytes(r.Error, 120)
	case !counts(r):
		return "; no token IDs: the server did not count them"
	case r.PromptTokens != sent:
		return fmt.Sprintf("; no token IDs: of %d the server counted %d", sent, r.PromptTokens)
	}
	return ""
}

// Learning is what the servers of a run have shown of their tokenizers, so that each is asked once. The zero value
// knows nothing, keeps nothing for later runs, and is silent.
type Learning struct {
	Words    func(identity string) []string        // of one token each, of an earlier run; none: not known
	Keep     func(identity string, words []string) // for later runs
	Progress func(requests int)                    // so far, of those that find the words; after 3 s, then every 5 s

	words map[string][]string // by identity
}

const (
	learningSaid  = 3 * time.Second
	learningEvery = 5 * time.Second
)

// known are words to try. The server's own count decides, so that a wrong or an old list costs two requests.
func (l *Learning) known(c *apiClient) []string {
	if w := l.words[c.identity]; w != nil || l.Words == nil {
		return w
	}
	w := l.Words(c.identity)
	if len(w) < fewestWords || slices.ContainsFunc(w, func(x string) bool { return !slices.Contains(words, x) }) {
		return nil
	}
	return w
}

func (l *Learning) keep(c *apiClient, single []string) {
	if l.words == nil {
		l.words = map[string][]string{}
	}
	if l.words[c.identity] = single; l.Keep != nil {
		l.Keep(c.identity, single)
	}
}

// counting returns what counts the counts of counters for the progress.
func (l *Learning) counting() func(counter) counter {
	n, next := 0, time.Now().Add(learningSaid)
	return func(count counter) counter {
		return func(ctx context.Context, text string) (int, error) {
			if n++; l.Progress != nil && !time.Now().Before(next) {
				l.Progress(n)
				next = time.Now().Add(learningEvery)
			}
			return count(ctx, text)
		}
	}
}
