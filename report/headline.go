package report

import (
	"cmp"
	"strings"

	"bench/experiment/record"
	"bench/report/compare"
)

func (r *Run) Headline() *compare.Headline {
	o := r.Analyze()
	h := &compare.Headline{State: r.Manifest.State, Rows: len(r.Stored()), Planned: len(r.Stored()) +
		len(r.Missing), Server: r.engine(),
		Workloads: len(o.Answer.Workloads), Verdict: string(o.Answer.Verdict),
		Invalid: o.Answer.Trust.Invalid, Cautions: o.Answer.Trust.Cautions,
		Trust: o.Answer.Trust.Text}
	if tag := r.Tag(); tag != "" {
		h.Server = strings.ToLower(tag)
	}
	if a := o.Time.Answer; a != nil {
		h.GPUSeconds = a.GPUSeconds
	}
	s, p := o.HeadlinePoint()
	if p == nil {
		return h
	}
	first, _ := o.First()
	h.Answer, h.Point = first.Lead, s.PointName(p)
	if !p.Valid {
		return h
	}
	if e := first.Estimate; e != nil && e.Best != nil && e.Passed == nil { // LIKELY: no probe is the answer
		h.Point = s.Label() + ", " + first.Ruler.Load
		h.OutputTokensPerS, h.PerGPU = *cmp.Or(e.OutputTokensPerS, new(float64)), e.OutputTokensPerSPerGPU
		return h
	}
	h.OutputTokensPerS = p.OutputTokensPerS.Median
	if g := p.OutputTokensPerSPerGPU; g != nil {
		h.PerGPU = &g.Median
	}
	if len(p.Classes) > 0 { // those of all classes describe none
		return h
	}
	h.TTFT = headlinePercentile(p.TTFT, o.limitedStat("ttft"))
	h.TPOT = headlinePercentile(p.TPOT, o.limitedStat("tpot"))
	return h
}

func headlinePercentile(ps record.Percentiles, stat string) *compare.Percentile {
	p, measured := ps.Get(stat)
	if !measured {
		return nil
	}
	_, ms, bounded := p.Mark()
	if !bounded {
		return nil
	}
	return &compare.Percentile{Stat: stat, Text: LatencyCell(ps, stat).Text, Ms: ms}
}
