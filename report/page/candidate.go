package page

import (
	"bench/report"
	"bench/report/compare"
)

// shadowView is the verdict on a candidate for the template.
type shadowView struct {
	report.ShadowView
	KPIs []kpi
}

// newShadowView is the view of a comparison; nil: there is none.
func newShadowView(c *compare.ShadowComparison) *shadowView {
	if c == nil {
		return nil
	}
	v := &shadowView{ShadowView: report.ShadowAnswer(c)}
	for _, x := range v.Counts {
		v.KPIs = append(v.KPIs, kpi{Name: x.Name, Value: x.Value})
	}
	return v
}

// candidateChart is the changes of a candidate, each with its interval.
func candidateChart(c *compare.ShadowComparison) (chart, error) {
	f := report.ShadowForest(c)
	out, err := forestChart("candidate-changes", "Change from A to B", f.Main, f.Reach)
	out.Table = report.TabCandidate
	return out, err
}
