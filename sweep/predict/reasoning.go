package predict

import (
	"maps"

	"bench/experiment"
	"bench/experiment/mock"
)

type reasoning struct {
	target experiment.Target
	stated bool // the number of reasoning tokens, none included
}

type thoughts struct {
	byClass map[string]mock.Thoughts
	unknown bool // the row depends on a number of reasoning tokens that is not stated: the engine writes none
}

// of reads what the bodies of a point say about reasoning. Lines of its prompts can say more, which is not read.
func (r *reasoning) of(s *experiment.Spec) (thoughts, error) {
	t, asked := thoughts{byClass: map[string]mock.Thoughts{}}, false
	for _, c := range s.Classes() {
		fields := map[string]any{}
		maps.Copy(fields, r.target.ExtraBody)
		maps.Copy(fields, c.Extra)
		own, err := mock.ReadThoughts(s.RouteOf(&c, r.target).API, fields)
		if err != nil {
			return t, err
		}
		if !r.stated {
			asked, own = asked || own.Asked(), mock.NoThoughts
		}
		t.byClass[c.Name] = own
	}
	t.unknown = !r.stated && (asked || s.LimitsMetric("ttfo"))
	return t, nil
}

// unsimulated is why a row cannot be simulated; empty: it can.
func (r *reasoning) unsimulated(s *experiment.Spec) string {
	if !r.stated && s.Search != nil && s.LimitsMetric("ttfo") {
		return "its search needs ttfo, and how many reasoning tokens the server writes is not specified: write reasoning_tokens into [mock]"
	}
	return ""
}
