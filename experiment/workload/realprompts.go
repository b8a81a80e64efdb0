package workload

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment/prompts"
)

func (c *Class) Conversations() bool { return c.Session != nil || c.Prompts.IsConversation() }

func (w *Workload) HasPrompts() bool {
	return slices.ContainsFunc(w.Classes(), func(c Class) bool { return c.Prompts != nil })
}

func (w *Workload) CountsPrompts() bool {
	return slices.ContainsFunc(w.Classes(), func(c Class) bool { return c.Prompts != nil && c.Prompts.Counts() })
}

func (c *Class) checkPrompts(key string, bad func(key, problem, hint string)) {
	switch {
	case c.Input.set() || c.Pairs != nil:
		bad(key+"prompts", "real prompts have lengths of their own",
			"remove input and pairs; min_input, max_input and cap_input in [row.prompts] select prompts by length")
	case c.Prefix != nil:
		bad(key+"prompts", "real prompts have beginnings of their own", "remove prefix")
	case c.Images != nil:
		bad(key+"prompts", "images are added to synthetic prompts only",
			"remove images; messages in the file can have images of their own")
	}
	if s := c.Session; s != nil && (s.Turns.set() || s.User.set()) {
		bad(key+"session", "the file of prompts sets the turns of conversations",
			"remove turns and user; think remains")
	}
	if h := c.Prompts.Head; h.Prompts > 0 && h.OwnOutput < h.Prompts && !c.Output.set() {
		bad(key+"output", fmt.Sprintf("%d of %d prompts have no max_tokens of their own", h.Prompts-h.OwnOutput,
			h.Prompts),
			"write output = 512 (the most tokens of an answer)")
	}
}

func (w *Workload) PromptProblems(api string, bad func(key, problem, hint string)) {
	for key, c := range w.tables {
		if c.Prompts == nil {
			continue
		}
		if problem, hint := c.Prompts.Problem(cmp.Or(c.API, api)); problem != "" {
			bad(key+"prompts.file", problem, hint)
		}
	}
}

type realPrompts struct {
	samples   []*prompts.Sample // nil = a class without a file
	drawn     []int
	estimates bool
}

// Prompts is the sample of real prompts of a class; nil = it has none. The class is named as in Request.
func (p *Plan) Prompts(class string) *prompts.Sample {
	if i := slices.IndexFunc(p.classes, func(c Class) bool { return c.Name == class }); i >= 0 {
		return p.real.samples[i]
	}
	return nil
}

// drawPrompt gives arrival i of a class with real prompts the next one of the class's sample.
func (p *Plan) drawPrompt(r *Request, class, i int) {
	c := &p.classes[class]
	r.Prompt = p.real.samples[class].Draw(p.real.drawn[class])
	p.real.drawn[class]++
	if r.Output = r.Prompt.MaxTokens; r.Output == 0 {
		r.Output = c.Output.Draw(p.rand(streamOutput, uint64(i)))
	}
	if c.Prompts.IsConversation() {
		r.Session, r.Turns = i, r.Prompt.Turns
	}
	if p.real.estimates {
		r.Input = estimateTokens(r.Prompt.Bytes)
		r.Blocks = p.oneBlock(nil, r.Input, blockReal, uint64(class), uint64(r.Prompt.Number))
	}
}

// nextPrompt gives the turn after r the user's next prompt.
func (p *Plan) nextPrompt(next, r *Request, class int) {
	next.Prompt = r.Prompt.Next()
	if next.Output = r.Prompt.MaxTokens; next.Output == 0 {
		next.Output = p.classes[class].Output.Draw(p.turn(streamOutput, r.Session, next.Turn))
	}
	if p.real.estimates {
		added := estimateTokens(r.Prompt.LaterBytes / (r.Turns - 1))
		next.Context = r.Input + r.sentBack()
		next.Input = next.Context + added
		next.Blocks = append(append([]Block{}, r.Blocks...), p.Answer(r)...)
		next.Blocks = p.oneBlock(next.Blocks, added, blockReal, uint64(class), uint64(r.Prompt.Number), uint64(next.Turn))
	}
}

// Estimated makes the plan give real prompts an estimated length and blocks, in which only equal prompts are equal: for
// what sends nothing. It returns the plan, which must be new.
func (p *Plan) Estimated() *Plan {
	p.real.estimates = true
	return p
}

// oneBlock appends a block with n tokens: of a real text no part is shared, only the whole.
func (s seeds) oneBlock(out []Block, n int, parts ...uint64) []Block {
	return append(out, Block{ID: s.blockBase(parts), Tokens: n})
}

// bytesPerToken is the usual size of a token of text, to estimate lengths that are not counted.
const bytesPerToken = 4

func estimateTokens(bytes int) int { return bytes/bytesPerToken + 1 }

// EstimatedLongest is Longest, with an estimate for real prompts: of conversations, if every answer has its full
// length.
func (w Workload) EstimatedLongest() int {
	longest := w.Longest()
	for _, c := range w.Classes() {
		if c.Prompts == nil {
			continue
		}
		h := c.Prompts.Head
		longest = max(longest, estimateTokens(int(h.MostBytes))+h.MostTurns*c.longestAnswer())
	}
	return longest
}

func (c *Class) longestAnswer() int { return max(c.Prompts.Head.MostOutput, c.Output.most()) }
