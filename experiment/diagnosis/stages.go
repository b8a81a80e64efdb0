package diagnosis

import (
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// stages of the walk, in order: what can't be trusted is not weighed; a user waits for the first token before any other; and what it
// costs matters once it is fast enough.
var stages = []string{"validity", "ttft", "tpot", "throughput", "cost"}

// stuck is where the walk ended: at a stage that no point of a series passes of those that had passed all before.
type firstFailure struct {
	stage         string
	series, point int // the point that is nearest
	verdict       stats.Verdict
	limit         *record.Verdict // the line of the SLO that fails; nil: the point is doubted
}

// walk goes from stage to stage as long as every series has a point that passes, and says what to do at the first that has none.
func (d *Decision) evaluateStages(m *record.Manifest, series []series.Series, found []Diagnosis, missing []string) {
	left := make([][]int, len(series)) // the points of each series that passed so far
	total := 0
	for i := range series {
		for j := range series[i].Points {
			left[i] = append(left[i], j)
			total++
		}
	}
	for _, stage := range stages {
		step, end := filterStage(stage, series, left, total)
		d.Walk = append(d.Walk, step)
		if end == nil {
			continue
		}
		d.Next = end.next(series, found)
		d.Advice = fmt.Sprintf("%s is the first that %s, at %s; change one thing: %s", stage, map[bool]string{true: "fails", false: "is undecided"}[end.verdict == stats.Fail],
			series[end.series].PointName(&series[end.series].Points[end.point]), d.Next.change())
		return
	}
	d.Advice = d.keep(series, missing)
}

// keep is the advice where no stage fails.
func (d *Decision) keep(series []series.Series, missing []string) string {
	switch {
	case len(series) == 0:
		return "no row has a result"
	case len(d.SLO) == 0:
		return `no SLO is stated, so nothing can be accepted: write [slo] and below it ttft_p95 = "1s"`
	case len(missing) > 0:
		return "all that was measured passes; finish the planned rows first: bench sweep MATRIX --resume DIR"
	}
	return "all pass: stop, keep this baseline"
}

// pass leaves in each series the points that pass a stage. end is where a series has none left: of several the first that fails, else
// the first that is undecided.
func filterStage(stage string, series []series.Series, left [][]int, total int) (Step, *firstFailure) {
	var end *firstFailure
	stated, kept := false, 0
	for i := range series {
		var passed []int
		nearest := -1
		for _, j := range left[i] {
			v, limit := verdictAt(&series[i].Points[j], stage)
			stated = stated || limit != nil
			switch {
			case v == stats.Pass || v == "":
				passed = append(passed, j)
			case nearest < 0 || closerToLimit(stage, v, &series[i], nearest, j):
				nearest = j
			}
		}
		if len(passed) == 0 && nearest >= 0 {
			v, limit := verdictAt(&series[i].Points[nearest], stage)
			if end == nil || end.verdict != stats.Fail && v == stats.Fail {
				end = &firstFailure{stage, i, nearest, v, limit}
			}
		}
		left[i] = passed
		kept += len(passed)
	}
	if end != nil {
		return end.step(series), end
	}
	if stage != "validity" && !stated {
		return Step{Stage: stage, Why: "the SLO has no limit on it"}, nil
	}
	return Step{Stage: stage, Verdict: stats.Pass, Why: fmt.Sprintf("%d of %d points pass so far, and every row has one", kept, total)}, nil
}

// nearer says whether point j, at the next higher load, is nearer to passing than the nearest so far: an undecided one is; and to a
// throughput or a price a higher load.
func closerToLimit(stage string, v stats.Verdict, s *series.Series, nearest, j int) bool {
	was, _ := verdictAt(&s.Points[nearest], stage)
	if was != v {
		return v == stats.Undecided
	}
	more := s.Points[j].OutputTokensPerS.Median > s.Points[nearest].OutputTokensPerS.Median
	return (stage == "throughput" || stage == "cost") && more
}

// at is the worst verdict of the point at a stage, and the limit that it comes from; nil: there is none.
func verdictAt(p *series.SeriesPoint, stage string) (worst stats.Verdict, limit *record.Verdict) {
	if stage == "validity" {
		if p.Valid {
			return stats.Pass, nil
		}
		return stats.Fail, nil
	}
	for _, r := range p.Rows {
		for i := range r.SLO {
			v := &r.SLO[i]
			if series.StageOf(v.Metric) != stage {
				continue
			}
			if limit == nil || v.Verdict == string(stats.Fail) && worst != stats.Fail || worst == stats.Pass && v.Verdict != string(stats.Pass) {
				worst, limit = stats.Verdict(v.Verdict), v
			}
		}
	}
	return worst, limit
}

func (e *firstFailure) step(series []series.Series) Step {
	p := &series[e.series].Points[e.point]
	step := Step{Stage: e.stage, Verdict: e.verdict, Name: series[e.series].PointName(p)}
	if e.limit == nil {
		step.Why = "no point of the row is valid; nearest: doubted for " + strings.Join(findingCodes(p), ", ")
		return step
	}
	step.Why = fmt.Sprintf("no point of the row passes; nearest: %s, limit %s: %s", e.limit.Metric, unit.Format(e.limit.Limit, e.limit.Unit), e.limit.Why)
	if e.limit.Value != nil {
		step.Why += ", measured " + unit.Format(*e.limit.Value, e.limit.Unit)
	}
	return step
}
