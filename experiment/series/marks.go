package series

import (
	"fmt"
	"time"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// marks are what sets a row's figures apart from those of a load of single requests whose lengths are forced.
func marksOf(r *record.Row) []string {
	s := &r.Spec
	var out []string
	if s.Cold() {
		out = append(out, fmt.Sprintf("cold starts: one request at a time, over a new connection, %v after the last", time.Duration(s.Phases().Idle)))
	}
	if s.Converses() {
		out = append(out, "conversations"+s.ClassesWhere(func(c workload.Class) bool { return c.Session != nil })+": each later turn sends the server's own answers back")
	}
	for _, c := range s.Classes() {
		sum, in := &r.Summary, ""
		if own, ok := r.Classes[c.Name]; ok && c.Name != "" {
			sum, in = &own, " in "+c.Name
		}
		if n := sum.Requests.Completed; !s.ClassForced(c.Name) && n > 0 {
			out = append(out, fmt.Sprintf("natural stop%s: answers of %s tokens on average, as the model ended them", in, unit.Digits(float64(sum.Tokens.Output)/float64(n))))
		}
	}
	return out
}
