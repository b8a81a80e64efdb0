package forecast

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/experiment/workload/prompts"
)

// promptTexts describe the real prompts of a point's first repeat, a line for each class that has some. requests is their
// number in the window; 0 = not known.
func promptTexts(s *experiment.Spec, requests int) []string {
	if s.Repeat > 1 {
		return nil
	}
	var out []string
	total := s.TotalWeight()
	for _, c := range s.Classes() {
		if c.Prompts == nil {
			continue
		}
		name := s.Label()
		if c.Name != "" {
			name += " " + c.Name
		}
		out = append(out, name+": "+promptText(c.Prompts, int(float64(requests)*c.Weight/total/c.Prompts.MeanTurns())))
	}
	return out
}

// promptText describes the prompts of one class; drawn is how many its requests draw, 0 = not known.
func promptText(p *prompts.Source, drawn int) string {
	h := p.Head
	parts := []string{fmt.Sprintf("%s (%s): %s", p.File, h.Format, unit.Plural(p.Drawn(), "prompt"))}
	if p.Drawn() < h.Prompts {
		parts[0] += " of " + unit.Count(h.Prompts)
	}
	if h.Conversations > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s turns on average", unit.Plural(h.Conversations, "conversation"), unit.Brief(p.MeanTurns(), 2)))
	}
	if len(h.Categories) > 0 {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(h.Categories)) {
			names = append(names, fmt.Sprintf("%s %s", name, unit.Count(h.Categories[name])))
		}
		parts = append(parts, "by category: "+strings.Join(names, ", "))
	}
	if drawn > p.Drawn() {
		parts = append(parts, fmt.Sprintf("%s of %s requests repeat a prompt of the row", unit.Count(drawn-p.Drawn()), unit.Count(drawn)))
	}
	if p.Counts() {
		parts = append(parts, "the server counts their tokens before the row")
	}
	if h.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("left out: %s without a message of the user", unit.Plural(h.Skipped, "conversation")))
	}
	if len(h.NotSent) > 0 {
		parts = append(parts, "not sent: "+strings.Join(h.NotSent, ", "))
	}
	return strings.Join(parts, "; ")
}

// promptShape is the lengths of a class with real prompts.
func promptShape(p *prompts.Source, output string) Shape {
	s := Shape{Input: unit.Plural(p.Drawn(), "prompt"), Output: output}
	if p.Head.OwnOutput == p.Head.Prompts {
		s.Output = "max_tokens"
	} else if p.Head.OwnOutput > 0 {
		s.Output = "max_tokens, " + output
	}
	return s
}
