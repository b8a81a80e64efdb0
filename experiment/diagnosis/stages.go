package diagnosis

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// stages in their order: invalid figures get no verdict, users notice the first token before the others,
// and cost matters once latency is good enough.
var stages = []string{"validity", "ttft", "tpot", "throughput", "cost"}

// firstFailure is the first stage at which a series has no point left that passes.
type firstFailure struct {
	stage         string
	series, point int // the point that comes nearest to passing
	verdict       stats.Verdict
	limit         *record.Verdict // of the SLO; nil: the point is invalid
}

// evaluateStages evaluates one stage after the other while each series has a point that passes, and gives the
// advice for the first that fails.
func (d *Decision) evaluateStages(series []series.Series, diagnoses []Diagnosis, missing []string) {
	left := make([][]int, len(series)) // the points of each series that passed so far
	total := 0
	for i := range series {
		for j := range series[i].Points {
			left[i] = append(left[i], j)
			total++
		}
	}
	for _, stage := range stages {
		step, failure := evaluateStage(stage, series, left, total)
		d.Stages = append(d.Stages, step)
		if failure != nil {
			d.Next = failure.next(series, diagnoses)
			d.Advice = failure.advice(series, d.Next)
			return
		}
	}
	switch {
	case len(series) == 0:
		d.Advice = "no row has a result"
	case len(d.SLO) == 0:
		d.Advice = `no SLO is specified, so no point can meet one: add [slo] with ttft_p95 = "1s"`
	case len(missing) > 0:
		d.Advice = "all measured rows pass; finish the planned ones: bench sweep MATRIX --resume DIR"
	default:
		d.Advice = "every stage passes: stop, and keep this baseline"
	}
}

// advice states the failure and what to change. An invalid point only concerns its own row.
func (e *firstFailure) advice(series []series.Series, n *NextSweep) string {
	p := &series[e.series].Points[e.point]
	name := series[e.series].PointName(p)
	if e.limit == nil {
		return fmt.Sprintf("%s is invalid: %s. Fix that before tuning.", name, strings.TrimSuffix(findings(p)[0].Text, "."))
	}
	change := n.Variable
	if len(n.Values) > 0 {
		change += " = " + strings.Join(n.Values, ", ")
	}
	verb := "is undecided"
	if e.verdict == stats.Fail {
		verb = "fails"
	}
	stage := cmp.Or(map[string]string{"ttft": "TTFT", "tpot": "TPOT"}[e.stage], e.stage)
	return fmt.Sprintf("%s %s at %s; change one thing: %s", stage, verb, name, change)
}

// evaluateStage leaves in each series the points that pass a stage. failure is set if a series has none left:
// of several the first that fails, else the first that is undecided.
func evaluateStage(stage string, series []series.Series, left [][]int, total int) (Step, *firstFailure) {
	var failure *firstFailure
	limited, passing := false, 0
	for i := range series {
		var passed []int
		nearest := -1
		for _, j := range left[i] {
			v, limit := verdictAt(&series[i].Points[j], stage)
			limited = limited || limit != nil
			switch {
			case v == stats.Pass || v == "":
				passed = append(passed, j)
			case nearest < 0 || closerToPassing(stage, v, &series[i], nearest, j):
				nearest = j
			}
		}
		if len(passed) == 0 && nearest >= 0 {
			v, limit := verdictAt(&series[i].Points[nearest], stage)
			if failure == nil || failure.verdict != stats.Fail && v == stats.Fail {
				failure = &firstFailure{stage, i, nearest, v, limit}
			}
		}
		left[i] = passed
		passing += len(passed)
	}
	if failure != nil {
		return failure.step(series), failure
	}
	if stage != "validity" && !limited {
		return Step{Stage: stage, Why: "the SLO has no such limit"}, nil
	}
	return Step{Stage: stage, Verdict: stats.Pass, Why: fmt.Sprintf("%d of %d points pass so far, at least one of each series", passing, total)}, nil
}

// closerToPassing reports whether point j, at a higher load, is nearer to passing than the nearest so far: an
// undecided point is nearer than one that fails, and a throughput or cost limit is nearer at more output.
func closerToPassing(stage string, v stats.Verdict, s *series.Series, nearest, j int) bool {
	was, _ := verdictAt(&s.Points[nearest], stage)
	if was != v {
		return v == stats.Undecided
	}
	more := s.Points[j].OutputTokensPerS.Median > s.Points[nearest].OutputTokensPerS.Median
	return (stage == "throughput" || stage == "cost") && more
}

// verdictAt is the worst verdict of the point at a stage, and the limit with that verdict; nil: the SLO has
// no such limit.
func verdictAt(p *series.Point, stage string) (worst stats.Verdict, limit *record.Verdict) {
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
		step.Why = "no point of this series is valid; invalid here: " + strings.Join(record.Codes(findings(p), record.Invalid), ", ")
		return step
	}
	step.Why = fmt.Sprintf("no point of this series passes; nearest: %s, limit %s: %s", e.limit.Metric, unit.Format(e.limit.Limit, e.limit.Unit), e.limit.Why)
	if e.limit.Value != nil {
		step.Why += ", measured " + unit.Format(*e.limit.Value, e.limit.Unit)
	}
	return step
}
