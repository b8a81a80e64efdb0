package record

import (
	"fmt"

	"bench/experiment/unit"
)

// Prompts says which real prompts the requests of the window had; later turns of conversations do not count.
type Prompts struct {
	Requests  int `json:"requests"`
	Different int `json:"different"` // prompts
	Repeated  int `json:"repeated"`  // requests whose prompt an earlier request of the row had, also of the warm-up
	// Known are the requests with the first use of their prompt of which the server reports the cached tokens; Warm of
	// them had all but the last block of their prompt in the cache.
	Known int `json:"first_uses_known"`
	Warm  int `json:"first_uses_warm"`
}

// fewestWarmBlocks is the length of a prompt, in blocks of the cache, from which on a cached one is no chance.
const fewestWarmBlocks = 3

func PromptsOf(records []*Record, block int) *Prompts {
	var p Prompts
	seen, inWindow := map[string]bool{}, map[string]bool{}
	for _, r := range byArrival(append([]*Record(nil), records...)) {
		if r.PromptHash == "" || r.Turn != nil && *r.Turn > 0 {
			continue
		}
		before := seen[r.PromptHash]
		seen[r.PromptHash] = true
		if r.Phase != PhaseWindow {
			continue
		}
		p.Requests++
		inWindow[r.PromptHash] = true
		if before {
			p.Repeated++
			continue
		}
		p.addFirstUse(r, block)
	}
	if p.Different = len(inWindow); p.Requests == 0 {
		return nil
	}
	return &p
}

func (p *Prompts) addFirstUse(r *Record, block int) {
	if !r.OK() || r.PromptTokens == nil || r.CachedTokens == nil || *r.PromptTokens < fewestWarmBlocks*block {
		return
	}
	if p.Known++; *r.CachedTokens >= *r.PromptTokens-block {
		p.Warm++
	}
}

type RefusedPrompts struct {
	N       int             `json:"n"`
	Counted int             `json:"counted"` // prompts that the server was asked to count
	First   []RefusedPrompt `json:"first"`   // up to 20
}

type RefusedPrompt struct {
	Line  string `json:"line"`  // where it stands: "prompts.jsonl:17"
	Error string `json:"error"` // of the server, without text of the prompt
}

const mostRefused = 20 // lines that are named

func (p *RefusedPrompts) Add(line, reason string) {
	if p.N++; len(p.First) < mostRefused {
		p.First = append(p.First, RefusedPrompt{line, reason})
	}
}

func (p *RefusedPrompts) String() string {
	return fmt.Sprintf("%s of %s left out that the server refused to count: %s: %s",
		unit.Count(p.N), unit.Plural(p.Counted, "prompt"), p.First[0].Line, p.First[0].Error)
}
