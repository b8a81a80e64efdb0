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

// faults are the faults of one response. The zero value is not fault-free: use noFaults.
type faults struct {
	status      int           // respond with this status
	slow        time.Duration // delay of the headers
	freeze      time.Duration // from the arrival on, nobody gets a token
	replacement string        // "reset-before", "garbage", "html200": sent instead of a response
	// what happens after `after` tokens: "reset-mid", "fin-mid", "cut-mid", "stall", "error-in-stream", "garbage-mid"
	ending          string
	after           int
	pause           time.Duration // pause after `pauseAfter` tokens
	pauseAfter      int
	short           int // stop after this number of tokens, like natural EOS
	perEvent        int // tokens per event
	lineEnd         string
	noDone          bool
	noUsage         bool
	noDetails       bool // usage without prompt_tokens_details
	incomplete      bool // responses: a cut answer ends with response.incomplete, as OpenAI's
	noOutputDetails bool // usage without completion_tokens_details
	noZero          bool // usage without them where no token was cached
	wrongUsage      bool // usage has these counts
	wrongOutput     int
	wrongCached     int
	noIDs           bool   // ignores return_token_ids
	noText          string // tokens without text: "first", "last" or "all"
	comments        bool   // a comment before each event
	empty           bool   // an event without data and one without text before each event
	roleEarly       bool   // chat: the role event comes with the headers, not with the first token
	reasoning       bool   // chat: the first half of the tokens are reasoning
	tools           bool   // chat: the tokens are the arguments of a tool call
	splitRunes      bool   // each token has a two-byte rune, split between two writes
}

func noFaults() faults { return faults{short: math.MaxInt, perEvent: 1, lineEnd: "\n"} }

type faultRule struct {
	apply func(*faults)
	every uint64  // every n-th request
	share float64 // share of requests, at random; 0: every counts
}

var faultKinds = map[string]func(f *faults, arg string) error{
	"status":                       number(func(f *faults, n int) { f.status = n }, 400, 599),
	"slow-headers":                 duration(func(f *faults, d time.Duration) { f.slow = d }),
	"freeze":                       duration(func(f *faults, d time.Duration) { f.freeze = d }),
	"reset-before":                 plain(func(f *faults) { f.replacement = "reset-before" }),
	"garbage":                      plain(func(f *faults) { f.replacement = "garbage" }),
	"html200":                      plain(func(f *faults) { f.replacement = "html200" }),
	"reset-mid":                    endAfter("reset-mid"),
	"fin-mid":                      endAfter("fin-mid"),
	"cut-mid":                      endAfter("cut-mid"),
	"stall":                        endAfter("stall"),
	"error-in-stream":              endAfter("error-in-stream"),
	"garbage-mid":                  endAfter("garbage-mid"),
	"pause":                        setPause,
	"short":                        number(func(f *faults, n int) { f.short = n }, 1, math.MaxInt32),
	"multi":                        number(func(f *faults, n int) { f.perEvent = n }, 1, math.MaxInt32),
	"crlf":                         plain(func(f *faults) { f.lineEnd = "\r\n" }),
	"no-done":                      plain(func(f *faults) { f.noDone = true }),
	"no-usage":                     plain(func(f *faults) { f.noUsage = true }),
	"no-prompt-tokens-details":     plain(func(f *faults) { f.noDetails = true }),
	"incomplete-event":             plain(func(f *faults) { f.incomplete = true }),
	"no-completion-tokens-details": plain(func(f *faults) { f.noOutputDetails = true }),
	"no-zero-cached-tokens":        plain(func(f *faults) { f.noZero = true }),
	"wrong-usage":                  setWrongUsage,
	"no-token-ids":                 plain(func(f *faults) { f.noIDs = true }),
	"no-text":                      setNoText,
	"comments":                     plain(func(f *faults) { f.comments = true }),
	"empty-events":                 plain(func(f *faults) { f.empty = true }),
	"role-early":                   plain(func(f *faults) { f.roleEarly = true }),
	"role-reasoning":               plain(func(f *faults) { f.reasoning = true }),
	"tool-calls":                   plain(func(f *faults) { f.tools = true }),
	"split-utf8":                   plain(func(f *faults) { f.splitRunes = true }),
}

func plain(set func(*faults)) func(*faults, string) error {
	return func(f *faults, arg string) error {
		if arg != "" {
			return fmt.Errorf("takes no argument")
		}
		set(f)
		return nil
	}
}

func number(set func(*faults, int), low, high int) func(*faults, string) error {
	return func(f *faults, arg string) error {
		n, err := strconv.Atoi(arg)
		if err != nil || n < low || n > high {
			return fmt.Errorf("needs a number from %d to %d", low, high)
		}
		set(f, n)
		return nil
	}
}

func endAfter(kind string) func(*faults, string) error {
	return number(func(f *faults, n int) { f.ending, f.after = kind, n }, 0, math.MaxInt32)
}

func duration(set func(*faults, time.Duration)) func(*faults, string) error {
	return func(f *faults, arg string) error {
		d, err := time.ParseDuration(arg)
		if err != nil || d < 0 {
			return fmt.Errorf("needs a duration such as 100ms")
		}
		set(f, d)
		return nil
	}
}

func setPause(f *faults, arg string) error {
	tokens, text, _ := strings.Cut(arg, ":")
	n, err := strconv.Atoi(tokens)
	d, wrong := time.ParseDuration(text)
	if err != nil || wrong != nil || n < 0 || d < 0 {
		return fmt.Errorf("needs a number of tokens and a duration, such as 3:500ms")
	}
	f.pauseAfter, f.pause = n, d
	return nil
}

func setWrongUsage(f *faults, arg string) error {
	output, cached, _ := strings.Cut(arg, ":")
	n, err := strconv.Atoi(output)
	m, wrong := strconv.Atoi(cached)
	if err != nil || wrong != nil {
		return fmt.Errorf("needs completion and cached tokens, such as 2000000000:0")
	}
	f.wrongUsage, f.wrongOutput, f.wrongCached = true, n, m
	return nil
}

func setNoText(f *faults, arg string) error {
	if !slices.Contains([]string{"first", "last", "all"}, arg) {
		return fmt.Errorf("needs first, last or all")
	}
	f.noText = arg
	return nil
}

// parseFault reads "kind[=arg]", optionally followed by "@n" for every n-th request or "@p%" for p percent of them.
func parseFault(text string) (faultRule, error) {
	rule := faultRule{every: 1}
	text, which, counted := strings.Cut(strings.TrimSpace(text), "@")
	if counted && !rule.parseSelector(which) {
		return rule, fmt.Errorf("fault %q: %q is neither a number of requests nor a percentage", text, which)
	}
	kind, arg, _ := strings.Cut(text, "=")
	set, ok := faultKinds[kind]
	if !ok {
		return rule, fmt.Errorf("unknown fault %q", kind)
	}
	if err := set(new(faults), arg); err != nil {
		return rule, fmt.Errorf("fault %q %w", kind, err)
	}
	rule.apply = func(f *faults) { _ = set(f, arg) } // it succeeded above
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
	f := noFaults()
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
			rule.apply(&f)
		}
	}
	return f, nil
}

func (f *faults) breaks(tokens int) bool { return f.ending != "" && f.after <= tokens }
