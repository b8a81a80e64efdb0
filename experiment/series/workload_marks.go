package series

import (
	"fmt"
	"time"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

func marksOf(r *record.Row) []string {
	s := &r.Spec
	var out []string
	if s.IsColdStart() {
		out = append(out, fmt.Sprintf("cold starts: one request at a time on a new connection, %v idle in between",
			time.Duration(s.EffectiveLoad().Idle)))
	}
	if s.ReplaysSessions() {
		out = append(out, "sessions of "+s.Trace.String()+": "+s.Trace.Describe())
	} else if s.HasConversations() {
		in := s.ClassesWhere(func(c workload.Class) bool { return c.Conversations() })
		out = append(out, "conversations"+in+": each later turn contains the server's earlier answers")
	}
	for _, c := range s.Classes() {
		sum, in := &r.Summary, ""
		if own, ok := r.Classes[c.Name]; ok && c.Name != "" {
			sum, in = &own, " in "+c.Name
		}
		if n := sum.Requests.Completed; !s.ClassIgnoresEOS(c.Name) && n > 0 {
			out = append(out, fmt.Sprintf("natural EOS%s: answers have %s tokens on average", in,
				unit.Digits(float64(sum.Tokens.Output)/float64(n))))
		}
	}
	return out
}
