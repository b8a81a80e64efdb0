package endpoint

import (
	"context"
	"slices"
	"time"
)

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
