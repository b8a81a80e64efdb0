package verdict

import (
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func openBy(v *record.Verdict, d *end) {
	v.OpenedBy = d.codes
	decide(v, stats.Undecided, fmt.Sprintf("%s as measured (%s), undecided because of %s", v.Verdict, v.Why,
		strings.Join(d.causes, "; ")))
}

// valueText is the percentile at an end of what findings leave possible.
func (o *observed) valueText(v *record.Verdict) string {
	if v.Value == nil || o.value == nil || v.Unit != "ms" {
		return ""
	}
	return fmt.Sprintf("; %s as measured, %s if all of it is the finding's", unit.Format(*v.Value, v.Unit),
		unit.Format(*o.value, v.Unit))
}

// holdOpen takes the need from a limit that more requests cannot decide: they would show that the measured values
// miss it, and a finding leaves it possible that the true ones meet it. Of a finding on a number of requests, or with
// lowered values, a longer row shows more.
func (o *observed) holdOpen(v *record.Verdict, lowest *observed, low *end) {
	allowed := (1 - o.p) * float64(len(o.requests))
	if low.untouched() || low.requests > 0 || o.over <= allowed || lowest.over > allowed {
		return
	}
	why, _, _ := strings.Cut(v.Why, "; needs ")
	v.Need, v.OpenedBy = 0, low.codes
	v.Why = fmt.Sprintf("%s; more requests cannot decide it because of %s%s", why, strings.Join(low.causes, "; "),
		lowest.valueText(v))
}
