package page

import (
	"bench/report"
	"bench/report/compare"
)

type shadowView struct {
	report.ShadowView
	KPIs []kpi
}

func newShadowView(c *compare.ShadowComparison) *shadowView {
	if c == nil {
		return nil
	}
	v := &shadowView{ShadowView: report.ShadowAnswer(c)}
	v.KPIs = kpis(v.Counts)
	return v
}

func candidateChart(c *compare.ShadowComparison) chart {
	f := report.ShadowForest(c)
	out := forestChart("candidate-changes", "Change from A to B", f.Main, f.Reach)
	out.Table = report.TabCandidate
	return out
}
