package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func openBy(v *record.Verdict, d *end) {
	v.OpenedBy = d.codes
	decide(v, stats.Undecided, fmt.Sprintf("%s as measured (%s), undecided because of %s", v.Verdict, v.Why, strings.Join(d.causes, "; ")))
}

// openBy adds the measured percentile and the one at the end that opens the verdict, if that is finite.
func (o *observed) openBy(v *record.Verdict, d *end) {
	openBy(v, d)
	v.Why += o.valueText(v, d)
}

func (o *observed) valueText(v *record.Verdict, d *end) string {
	if v.Value == nil || v.Unit != "ms" || o.limit.Metric == "itl" {
		return ""
	}
	at := slices.Sorted(slices.Values(d.values(o.requests, o.values)))
	x := stats.QuantileWithMissing(at[:len(at)-o.failed], o.failed, o.p)
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("; %s as measured, %s if all of it is the finding's", unit.Format(*v.Value, v.Unit), unit.Format(x, v.Unit))
}

// holdOpen takes the need from a limit that more requests cannot decide: they would show that the measured values
// miss it, and a finding leaves it possible that the true ones meet it. Of a finding on a number of requests, or with
// lowered values, a longer row shows more.
func (o *observed) holdOpen(v *record.Verdict, low *end) {
	allowed := (1 - o.p) * float64(len(o.requests))
	if v.Need == 0 || low.untouched() || low.requests > 0 || o.over <= allowed || o.overAt(low) > allowed {
		return
	}
	why, _, _ := strings.Cut(v.Why, "; need ")
	v.Need, v.OpenedBy = 0, low.codes
	v.Why = fmt.Sprintf("%s; more requests cannot decide it because of %s%s", why, strings.Join(low.causes, "; "), o.valueText(v, low))
}
