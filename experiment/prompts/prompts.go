// Package prompts is [row.prompts]: real prompts from a file. It reads the file once to check every line and to
// index it, and reads the text of a prompt again only when its request is encoded, so that a file of any size
// takes a few bytes of memory per prompt. What stands in the file is sent byte for byte.
//
// The order of steps: Source.Look indexes the file, Source.Sample decides which prompts a plan draws and in which
// order, Prompt.Read reads one. This package sends nothing, counts no tokens, and writes no text anywhere.
package prompts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// Source is a file of prompts and which of them a row draws: the keys of [row.prompts].
type Source struct {
	File string `toml:"file" json:"file"`
	// shuffled (also if empty): each once, by seed, before any comes again; listed: as in the file
	Order    string   `toml:"order" json:"order,omitempty"`
	Limit    int      `toml:"limit" json:"limit,omitempty"`       // number of prompts to sample by seed; 0 = all
	Category []string `toml:"category" json:"category,omitempty"` // keep these categories; nil = all
	MinInput int      `toml:"min_input" json:"min_input,omitempty"`
	MaxInput int      `toml:"max_input" json:"max_input,omitempty"` // prompt tokens as the server counts them; 0 = any
	// truncate longer texts to this many tokens; 0 = never
	CapInput int `toml:"cap_input" json:"cap_input,omitempty"`
	// CacheSalt sends vLLM's cache_salt, which keeps the prefix cache of this attempt apart from earlier ones without
	// a change to the prompt.
	CacheSalt bool `toml:"cache_salt" json:"cache_salt,omitempty"`

	SHA256 string `toml:"-" json:"sha256,omitempty"` // of the file: a file with other content makes another point
	Head   Head   `toml:"-" json:"head,omitzero"`

	index *Index
	kept  []int32 // numbers of the prompts in Category, in the order of the file
}

// Head describes the prompts that the row can draw, before they are sampled and filtered by length.
type Head struct {
	Format          string         `json:"format"`
	Prompts         int            `json:"prompts"`
	Categories      map[string]int `json:"categories,omitempty"`    // prompts of each; absent = the file has none
	Conversations   int            `json:"conversations,omitempty"` // prompts with later user turns
	Turns           int            `json:"turns,omitempty"`         // of all conversations
	MostTurns       int            `json:"most_turns,omitempty"`
	Bytes           int64          `json:"bytes"`                       // of the prompts as JSON
	MostBytes       int64          `json:"most_bytes"`                  // of the longest
	OwnOutput       int            `json:"own_output,omitempty"`        // prompts with a max_tokens of their own
	OwnOutputTokens int64          `json:"own_output_tokens,omitempty"` // the sum of these
	MostOutput      int            `json:"most_output,omitempty"`       // the largest of these
	// conversations of the file without a message of the user, left out
	Skipped int `json:"skipped,omitempty"`
	// fields of the lines that are no request fields
	NotSent []string `json:"not_sent,omitempty"`
}

const (
	Shuffled = "shuffled"
	Listed   = "listed"
)

const maxTokens = 1 << 24

// Check reports what is wrong in the keys alone.
func (s *Source) Check(bad func(key, problem, hint string)) {
	unless := func(ok bool, key, hint, problem string, values ...any) {
		if !ok {
			bad(key, fmt.Sprintf(problem, values...), hint)
		}
	}
	tokens := func(key string, n int) {
		unless(n >= 0 && n <= maxTokens, key, "write "+key+" = 4000", "%s %d is not between 1 and %d tokens", key, n,
			maxTokens)
	}
	unless(s.File != "", "file", `write file = "prompts.jsonl"`, "no file of prompts")
	unless(slices.Contains([]string{"", Shuffled, Listed}, s.Order), "order", `write "shuffled" or "listed"`,
		"unknown order %q", s.Order)
	unless(s.Limit >= 0, "limit", "write limit = 500, or leave it out for all prompts", "limit is negative")
	tokens("min_input", s.MinInput)
	tokens("max_input", s.MaxInput)
	tokens("cap_input", s.CapInput)
	unless(s.MaxInput <= 0 || s.MinInput <= s.MaxInput, "min_input", "make min_input smaller",
		"min_input %d is above max_input %d", s.MinInput, s.MaxInput)
	unless(s.CapInput <= 0 || s.MinInput <= s.CapInput, "min_input", "make min_input smaller",
		"min_input %d is above cap_input %d", s.MinInput, s.CapInput)
	for i, c := range s.Category {
		unless(strings.TrimSpace(c) != "" && !slices.Contains(s.Category[:i], c), "category",
			`write category = ["coding", "math"]`, "category %q is empty or twice in the list", c)
	}
}

// Counts reports whether the server must count the prompts before the row, to filter or truncate them.
func (s *Source) Counts() bool { return s.MinInput > 0 || s.MaxInput > 0 || s.CapInput > 0 }

// Prompt is one prompt of a request. Its text stays in the file until Read.
type Prompt struct {
	Number     int    // in the file, from 0
	Category   string // empty = none
	MaxTokens  int    // of its line; 0 = the row's output
	repeat     int    // how often the plan has drawn it before
	Turns      int    // of the user, the first included
	turn       int    // of them, from 0
	Bytes      int    // of the first turn as JSON
	LaterBytes int    // of all later turns

	source *Source
	cut    int // bytes of its last text that are sent; 0 = all

	// Known after Read, and not written anywhere.
	Hash     string   // first 16 hex digits of the SHA-256 of Content.Bytes
	Expected []string // answers that are correct; nil = not known
	Fields   []Field  // request fields of the line, in its order: response_format, tools, …
}

type Field struct {
	Name  string
	Value json.RawMessage
}

func (p *Prompt) Field(name string) json.RawMessage {
	for _, f := range p.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Sample is the prompts that one plan draws, and their order: a function of the plan's seed.
type Sample struct {
	source *Source
	random func(epoch uint64) *rand.Rand

	mu      sync.Mutex // plans are copied
	numbers []int32    // of the prompts, in the order of the file
	cuts    map[int32]int
	epoch   int     // of order
	order   []int32 // shuffled: the numbers in the order of this epoch
}

// Sample makes the sample of a source that was looked at. Each epoch, which draws every prompt once, has its own
// random stream.
func (s *Source) Sample(random func(epoch uint64) *rand.Rand) *Sample {
	out := &Sample{source: s, random: random, numbers: s.kept, epoch: -1}
	if s.Limit > 0 && s.Limit < len(s.kept) {
		all := slices.Clone(s.kept)
		// A stream that no epoch has: else the sample would decide the order.
		random(1<<63).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		out.numbers = slices.Clone(all[:s.Limit])
		slices.Sort(out.numbers)
	}
	return out
}

func (s *Sample) Len() int { return len(s.numbers) }

// Draw is the n-th prompt that is drawn, from 0: every prompt once before any comes again.
func (s *Sample) Draw(n int) *Prompt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.numbers) == 0 { // every prompt was filtered out, which ended the row before
		return &Prompt{source: s.source}
	}
	epoch, i := n/len(s.numbers), n%len(s.numbers)
	number := s.numbers[i]
	if s.source.Order != Listed {
		if s.epoch != epoch {
			s.epoch, s.order = epoch, append(s.order[:0], s.numbers...)
			s.random(uint64(epoch)).Shuffle(len(s.order),
				func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
		}
		number = s.order[i]
	}
	p := s.source.prompt(number)
	p.repeat, p.cut = epoch, s.cuts[number]
	return p
}

// Keep leaves out prompts, and truncates others to cut bytes of their last text; 0 = not. The prompts come in the order
// in which they are drawn first. It ends with the first error, or when enough are kept; 0 = with the last prompt.
func (s *Sample) Keep(enough int, each func(*Prompt) (keep bool, cut int, err error)) error {
	var numbers []int32
	cuts := map[int32]int{}
	for n := range s.Len() {
		p := s.Draw(n)
		keep, cut, err := each(p)
		if err != nil {
			return err
		}
		if keep {
			numbers = append(numbers, int32(p.Number))
			if cut > 0 {
				cuts[int32(p.Number)] = cut
			}
		}
		if enough > 0 && len(numbers) == enough {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(numbers)
	s.numbers, s.cuts, s.epoch = numbers, cuts, -1
	return nil
}
