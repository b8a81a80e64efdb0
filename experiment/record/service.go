package record

import (
	"gonum.org/v1/gonum/floats"

	"bench/experiment"
	"bench/experiment/stats"
)

// Service is how the classes of a mix shared the server in the window.
type Service struct {
	Classes []ClassService `json:"classes"` // in the order of the mix
	// of the tokens that each class got over its fair share; absent = no rate: none asks for more than it gets
	Jain *Bounded `json:"jain,omitempty"`
}

// ClassService is a class's part of the tokens that came in the window.
type ClassService struct {
	Class  string  `json:"class"`
	Tokens Bounded `json:"token_share"`        // of prompts, at their first output token, and of outputs
	Output Bounded `json:"output_token_share"` // of outputs alone
	// tokens over the fair share: all classes get the same, none more than it asks for; absent as jain
	OfFair *float64 `json:"of_fair_share,omitempty"`
}

type Bounded struct {
	Value float64        `json:"value"`
	CI95  stats.Interval `json:"ci95"`
}

// ServiceOf is nil without several classes, or if one of them sent next to nothing in the window.
func ServiceOf(records []*Record, w Window, s *experiment.Spec) *Service {
	if len(s.Mix) < 2 || w.Seconds() <= 0 {
		return nil
	}
	own := map[string][]*Record{}
	for _, r := range records {
		own[r.Class] = append(own[r.Class], r)
	}
	var output, all, asked [][]float64 // tokens by class and part of the window
	sum := 0.0
	for i, c := range s.Mix {
		demand, requests := askedInParts(own[c.Name], w)
		if requests < stats.LeastPairs {
			return nil
		}
		output, all = append(output, nil), append(all, nil)
		asked = append(asked, demand)
		for _, n := range countInParts(own[c.Name], w, stats.PartsOfShare) {
			output[i], all[i] = append(output[i], n.output), append(all[i], n.prompt+n.output)
			sum += n.output
		}
	}
	if sum == 0 {
		return nil
	}
	out := &Service{}
	for i, c := range s.Mix {
		out.Classes = append(out.Classes, ClassService{c.Name, partOf(all, i), partOf(output, i), nil})
	}
	if f, ok := stats.FairnessOf(all, asked, 0.95); ok && s.Timed() {
		out.Jain = &Bounded{f.Index, f.Within}
		for i := range out.Classes {
			out.Classes[i].OfFair = &f.OfShare[i]
		}
	}
	return out
}

// askedInParts are the tokens that requests ask for when they arrive; of a complete one those that it got.
func askedInParts(own []*Record, w Window) (tokens []float64, requests int) {
	tokens = make([]float64, stats.PartsOfShare)
	for _, r := range own {
		if !w.has(r.Arrival) {
			continue
		}
		requests++
		output := r.OutputRequested
		if r.OK() {
			output = r.OutputTokens
		}
		tokens[w.part(r.Arrival, stats.PartsOfShare)] += float64(r.Prompt() + output)
	}
	return tokens, requests
}

func partOf(tokens [][]float64, class int) Bounded {
	rest := make([]float64, stats.PartsOfShare)
	for i, own := range tokens {
		if i != class {
			floats.Add(rest, own)
		}
	}
	share, within := stats.ShareOf(tokens[class], rest, 0.95)
	return Bounded{share, within}
}
