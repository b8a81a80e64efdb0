package compare

import (
	"math"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

// trafficDifferences are what specs lack, of two recordings and of files of other tools. Without its load such a file
// could have any.
func trafficDifferences(base, changed sample) (out []Difference) {
	imported := base.imported() && changed.imported()
	if was, is := base.load(), changed.load(); was == notReported || is == notReported {
		out = append(out, Difference{What: "load", Base: was, New: is, Key: "workload"})
	}
	if !imported && !(base.row.Observed && changed.row.Observed) {
		return out
	}
	add := func(key, what, effect string, was, is *stats.Summary) {
		if was != nil && is != nil && math.Abs(is.Mean/was.Mean-1) > alikeTraffic {
			out = append(out, Difference{What: what, Base: unit.Digits(was.Mean), New: unit.Digits(is.Mean), Key: key,
				Effect: effect})
		}
	}
	a, b := base.row.Lengths, changed.row.Lengths
	key := map[bool]string{true: "workload"}[imported]
	add(key, "prompt tokens, mean", "longer prompts take longer to prefill",
		a.PromptTokens, b.PromptTokens)
	add(key, "output tokens, mean", "longer answers take longer, at the same TPOT", a.OutputTokens, b.OutputTokens)
	return out
}

// alikeTraffic is the largest relative difference of mean lengths that is not reported.
const alikeTraffic = 0.05

// imported reports whether another tool measured the sample: its spec is only the load.
func (s *sample) imported() bool { return s.run.Manifest.Client.Tool != "" }

func (s *sample) load() string {
	if spec := &s.row.Spec; s.imported() && spec.Closed() && spec.Concurrency == 0 {
		return notReported
	}
	return s.row.Spec.Label()
}
