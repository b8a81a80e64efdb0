package mock

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// faults are the faults of one response, by kind, with their arguments.
type faults map[string]argument

// argument is of a fault; what its kind does not take is zero.
type argument struct {
	n, cached int
	wait      time.Duration
	text      string
}

func (f faults) has(kind string) bool {
	_, ok := f[kind]
	return ok
}

// endings are what can happen to a response after a number of tokens.
var endings = []string{"reset-mid", "fin-mid", "cut-mid", "stall", "error-in-stream", "garbage-mid"}

// ending is empty if the response has its usual end.
func (f faults) ending() string {
	for _, kind := range endings {
		if f.has(kind) {
			return kind
		}
	}
	return ""
}

func (f faults) breaks(tokens int) bool { return f.ending() != "" && f[f.ending()].n <= tokens }

type faultRule struct {
	kind     string
	argument argument
	every    uint64  // every n-th request
	share    float64 // share of requests, at random; 0: every counts
}

// faultKinds read the argument of each kind.
var faultKinds = map[string]func(arg string) (argument, error){
	"status":       number(400, 599), // instead of a response, as the next three
	"reset-before": none, "garbage": none, "html200": none,
	"slow-headers": duration,
	"freeze":       duration, // from the arrival on, nobody gets a token
	"reset-mid":    count, "fin-mid": count, "cut-mid": count, "stall": count, "error-in-stream": count,
	"garbage-mid": count,
	"pause":       countAndTime,
	"short":       number(1, math.MaxInt32), // stop after this number of tokens, like natural EOS
	"multi":       number(1, math.MaxInt32), // tokens per event
	"crlf":        none, "no-done": none, "no-usage": none, "no-token-ids": none,
	"no-prompt-tokens-details": none, "no-completion-tokens-details": none,
	"no-zero-cached-tokens": none, // no prompt_tokens_details where no token was cached
	"incomplete-event":      none, // responses: a cut answer ends with response.incomplete, as OpenAI's
	"wrong-usage":           wrongUsage,
	"no-text":               untexted,
	"comments":              none, // a comment before each event
	"empty-events":          none, // an event without data and one without text before each event
	"role-early":            none, // chat: the role event comes with the headers, not with the first token
	"role-reasoning":        none, // chat: the first half of the tokens are reasoning
	"tool-calls":            none, // chat: the tokens are the arguments of a tool call
	"split-utf8":            none, // each token has a two-byte rune, split between two writes
}

func none(arg string) (argument, error) {
	if arg != "" {
		return argument{}, fmt.Errorf("takes no argument")
	}
	return argument{}, nil
}

func number(low, high int) func(string) (argument, error) {
	return func(arg string) (argument, error) {
		n, err := strconv.Atoi(arg)
		if err != nil || n < low || n > high {
			return argument{}, fmt.Errorf("needs a number from %d to %d", low, high)
		}
		return argument{n: n}, nil
	}
}

var count = number(0, math.MaxInt32)

func duration(arg string) (argument, error) {
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 {
		return argument{}, fmt.Errorf("needs a duration such as 100ms")
	}
	return argument{wait: d}, nil
}

func countAndTime(arg string) (argument, error) {
	tokens, text, _ := strings.Cut(arg, ":")
	a, err := count(tokens)
	d, wrong := duration(text)
	if err != nil || wrong != nil {
		return argument{}, fmt.Errorf("needs a number of tokens and a duration, such as 3:500ms")
	}
	return argument{n: a.n, wait: d.wait}, nil
}

func wrongUsage(arg string) (argument, error) {
	output, cached, _ := strings.Cut(arg, ":")
	n, err := strconv.Atoi(output)
	m, wrong := strconv.Atoi(cached)
	if err != nil || wrong != nil {
		return argument{}, fmt.Errorf("needs completion and cached tokens, such as 2000000000:0")
	}
	return argument{n: n, cached: m}, nil
}

func untexted(arg string) (argument, error) {
	if !slices.Contains([]string{"first", "last", "all"}, arg) {
		return argument{}, fmt.Errorf("needs first, last or all")
	}
	return argument{text: arg}, nil
}

// parseFault reads "kind[=arg]", optionally followed by "@n" for every n-th request or "@p%" for p percent of them.
func parseFault(text string) (faultRule, error) {
	rule := faultRule{every: 1}
	text, which, counted := strings.Cut(strings.TrimSpace(text), "@")
	if counted && !rule.parseSelector(which) {
		return rule, fmt.Errorf("fault %q: %q is neither a number of requests nor a percentage", text, which)
	}
	kind, arg, _ := strings.Cut(text, "=")
	read, ok := faultKinds[kind]
	if !ok {
		return rule, fmt.Errorf("unknown fault %q", kind)
	}
	var err error
	if rule.argument, err = read(arg); err != nil {
		return rule, fmt.Errorf("fault %q %w", kind, err)
	}
	rule.kind = kind
	return rule, nil
}

func (r *faultRule) parseSelector(which string) bool {
	if share, ok := strings.CutSuffix(which, "%"); ok {
		p, err := strconv.ParseFloat(share, 64)
		r.share = p / 100
		return err == nil && p > 0 && p <= 100
	}
	n, err := strconv.ParseUint(which, 10, 32)
	r.every = n
	return err == nil && n > 0
}

// matches reports whether the rule applies to request n; dice depends on seed, n and rule only.
func (r *faultRule) matches(n, dice uint64) bool {
	if r.share > 0 {
		return float64(mix(dice)>>11)/(1<<53) < r.share
	}
	return n%r.every == 0
}

func (s *Server) faultsOf(r *http.Request, n uint64) (faults, error) {
	f := faults{}
	rules := slices.Clip(s.rules) // append must copy
	for text := range strings.SplitSeq(strings.Join(r.Header.Values("X-Mock-Fault"), ","), ",") {
		if text == "" {
			continue
		}
		rule, err := parseFault(text)
		if err != nil {
			return f, err
		}
		rules = append(rules, rule)
	}
	for i, rule := range rules {
		if rule.matches(n, mix(s.cfg.Seed^mix(n))+uint64(i)) {
			f[rule.kind] = rule.argument
		}
	}
	return f, nil
}
