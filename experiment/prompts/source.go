package prompts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// Look indexes the file by open, which is Open or remembers what that returned, and finds the prompts that the row can
// draw. It reports every malformed line, up to a bound.
func (s *Source) Look(open func(name string) (*Index, error), bad func(key, problem, hint string)) {
	fine := true
	s.Check(func(key, problem, hint string) {
		fine = false
		bad(key, problem, hint)
	})
	if !fine {
		return
	}
	var err error
	if s.index, err = open(s.File); err != nil {
		Report(err, "file", "write one JSON object a line", bad)
		return
	}
	s.SHA256 = s.index.sha256
	s.keep(bad)
}

// Report reports a mistake of a file, or each of those that were joined, with its hint or another one.
func Report(err error, key, hint string, bad func(key, problem, hint string)) {
	list := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		list = joined.Unwrap()
	}
	if errors.Is(err, fs.ErrNotExist) {
		hint = "the path is relative to the working directory"
	}
	for _, err := range list {
		problem, own, _ := strings.Cut(err.Error(), "\nhint: ")
		bad(key, problem, cmp.Or(own, hint))
	}
}

func (s *Source) keep(bad func(key, problem, hint string)) {
	x := s.index
	for i, name := range s.Category {
		if !slices.Contains(x.categories, name) {
			hint := "remove category: the file has none"
			if len(x.categories) > 1 {
				hint = fmt.Sprintf("the file has %q", x.categories[1:])
			}
			bad(fmt.Sprintf("category[%d]", i), fmt.Sprintf("no prompt of %s has the category %q", s.File, name), hint)
			return
		}
	}
	h := Head{Format: x.format, NotSent: x.notSent, Skipped: x.skipped}
	for i := range x.entries {
		e := &x.entries[i]
		name := x.categories[e.category]
		if len(s.Category) > 0 && !slices.Contains(s.Category, name) {
			continue
		}
		s.kept = append(s.kept, int32(i))
		h.add(e, name)
	}
	s.Head = h
}

func (h *Head) add(e *entry, category string) {
	h.Prompts++
	h.Bytes += int64(e.bytes)
	if category != "" {
		if h.Categories == nil {
			h.Categories = map[string]int{}
		}
		h.Categories[category]++
	}
	if e.later > 0 {
		h.Conversations++
	}
	h.Turns += int(e.later) + 1
	h.MostTurns = max(h.MostTurns, int(e.later)+1)
	h.MostBytes = max(h.MostBytes, int64(e.bytes))
	if e.maxTokens > 0 {
		h.OwnOutput++
		h.OwnOutputTokens += int64(e.maxTokens)
		h.MostOutput = max(h.MostOutput, int(e.maxTokens))
	}
}

// Drawn is the number of different prompts that the row can draw: all, or Limit of them.
func (s *Source) Drawn() int {
	if s.Limit > 0 {
		return min(s.Limit, s.Head.Prompts)
	}
	return s.Head.Prompts
}

// IsConversation reports whether users say more after an answer.
func (s *Source) IsConversation() bool { return s != nil && s.Head.Conversations > 0 }

// MeanTurns is the mean number of requests of a prompt: more than 1 with conversations.
func (s *Source) MeanTurns() float64 {
	return float64(s.Head.Turns) / float64(max(s.Head.Prompts, 1))
}

func (s *Source) prompt(number int32) *Prompt {
	e := &s.index.entries[number]
	return &Prompt{
		Number: int(number), Category: s.index.categories[e.category], MaxTokens: int(e.maxTokens),
		Turns: 1 + int(e.later), Bytes: int(e.bytes), LaterBytes: int(e.rest), source: s,
	}
}

// Next is the user's next turn in the prompt's conversation.
func (p *Prompt) Next() *Prompt {
	next := *p
	next.turn++
	next.Hash = ""
	return &next
}

func (p *Prompt) Line() string {
	return p.source.index.where(&p.source.index.entries[p.Number])
}

func (p *Prompt) Truncated(cut int) (*Content, error) {
	short := *p
	short.cut = cut
	return short.Read()
}

// Read reads the prompt's text, and fills in what is known after that.
func (p *Prompt) Read() (*Content, error) {
	c, err := p.source.index.content(&p.source.index.entries[p.Number])
	if err != nil {
		return nil, err
	}
	if p.cut > 0 {
		if err := c.truncate(p.cut); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Line(), err)
		}
	}
	sum := sha256.Sum256(c.Bytes(p.turn))
	p.Hash, p.Expected, p.Fields = hex.EncodeToString(sum[:8]), c.expected, c.fields
	return c, nil
}

// Regular describes a regular file, which can be read more than once. It does not open it, since opening a pipe waits
// for a writer.
func Regular(name string) (fs.FileInfo, error) {
	info, err := os.Stat(name)
	call, failed := errors.AsType[*fs.PathError](err)
	switch {
	case failed:
		return nil, fmt.Errorf("%s: %w", name, call.Err)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return info, nil
}

// LastText is the text that truncation shortens: the prompt, or the last message of a user; false if it is no text.
func (c *Content) LastText() (string, bool) {
	if c.Messages == nil {
		return text(c.Text)
	}
	list, _ := c.messages()
	var last struct {
		Role    string
		Content json.RawMessage
	}
	if json.Unmarshal(list[len(list)-1], &last) != nil || last.Role != "user" {
		return "", false
	}
	return text(last.Content)
}

// messages are those of the prompt, and the last of them.
func (c *Content) messages() (list []json.RawMessage, last record) {
	_ = json.Unmarshal(c.Messages, &list) // parse has read it
	_ = json.Unmarshal(list[len(list)-1], &last)
	return list, last
}

// truncate keeps the first cut bytes of the last text, or fewer: only whole characters. All other messages stay as they
// are.
func (c *Content) truncate(cut int) error {
	s, ok := c.LastText()
	if !ok {
		return errors.New("the last message is no text of the user: it cannot be truncated")
	}
	cut = min(cut, len(s))
	for cut > 0 && cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut--
	}
	short := jsonOf(s[:cut])
	if c.Messages == nil {
		c.Text = short
		return nil
	}
	list, last := c.messages()
	last["content"] = short
	list[len(list)-1] = jsonOf(last)
	c.Messages = []byte{'['}
	for _, raw := range list {
		c.Messages = append(append(c.Messages, raw...), ',')
	}
	c.Messages[len(c.Messages)-1] = ']'
	return nil
}

// jsonOf encodes a value that always has a JSON form, without escapes for HTML.
func jsonOf(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}
