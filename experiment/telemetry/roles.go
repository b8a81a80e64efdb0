package telemetry

import (
	"slices"
	"strings"
)

// RoleReading is the reading of one page of several.
type RoleReading struct {
	Role   string         `json:"role,omitempty"` // empty: a replica that does everything
	Source string         `json:"source"`         // URL without user info
	Server *ServerReading `json:"server"`
}

// RoleUsage is what one page of several reported over a window.
type RoleUsage struct {
	Role  string       `json:"role,omitempty"` // empty: a replica that does everything
	Usage *ServerUsage `json:"usage"`
}

// Combine is the reading of the whole server: figures of its engines are summed, of shares the largest counts. With
// pages for prefill and for decode, what concerns prompts is of the former, and what concerns answers of the latter,
// since both count every request. A router counts for the latencies only.
func Combine(parts []RoleReading) *ServerReading {
	engines := ofRoles(parts, RolePrefill, RoleDecode, "")
	prompts, answers := engines, engines
	split := len(ofRoles(parts, RolePrefill)) > 0 && len(ofRoles(parts, RoleDecode)) > 0
	if split {
		prompts, answers = ofRoles(parts, RolePrefill, ""), ofRoles(parts, RoleDecode, "")
	}
	out := &ServerReading{Engine: engines[0].Engine, PrefixUnit: prompts[0].PrefixUnit}
	for name := range serverFigures {
		of := engines
		switch {
		case strings.HasPrefix(name, "prefix_"), name == "prompt_tokens":
			of = prompts
		case slices.Contains(ofAnswers, name):
			of = answers
		}
		*out.Figure(name) = combined(of, name)
	}
	for _, r := range answers {
		for i, n := range r.AcceptedAt {
			if i == len(out.AcceptedAt) {
				out.AcceptedAt = append(out.AcceptedAt, 0)
			}
			out.AcceptedAt[i] += n
		}
	}
	out.Times = combinedTimes(prompts, answers, ofRoles(parts, RoleRouter), split)
	return out
}

var ofAnswers = []string{"generation_tokens", "requests", "aborted", "drafts", "draft_tokens", "accepted_tokens",
	"acceptance_length", "acceptance_rate"}

func ofRoles(parts []RoleReading, roles ...string) (out []*ServerReading) {
	for _, p := range parts {
		if slices.Contains(roles, p.Role) {
			out = append(out, p.Server)
		}
	}
	return out
}

// combined is the sum, or the largest, of those that report the figure; nil: none does.
func combined(of []*ServerReading, name string) (out *float64) {
	for _, r := range of {
		switch v := *r.Figure(name); {
		case v == nil:
		case out == nil:
			out = new(*v)
		case slices.Contains(Largest, name):
			*out = max(*out, *v)
		default:
			*out += *v
		}
	}
	return out
}

// combinedTimes: with pages for prefill and for decode, the time to the first token is the router's, else that of
// the prefill; only a router has the time of a whole request then.
func combinedTimes(prompts, answers, routers []*ServerReading, split bool) TimeReading {
	t := TimeReading{
		TTFT:    sumOfHistograms(routers, func(t *TimeReading) *Histogram { return t.TTFT }),
		Queue:   sumOfHistograms(prompts, func(t *TimeReading) *Histogram { return t.Queue }),
		Prefill: sumOfHistograms(prompts, func(t *TimeReading) *Histogram { return t.Prefill }),
		Decode:  sumOfHistograms(answers, func(t *TimeReading) *Histogram { return t.Decode }),
		E2E:     sumOfHistograms(routers, func(t *TimeReading) *Histogram { return t.E2E }),
	}
	if t.TTFT == nil {
		t.TTFT = sumOfHistograms(prompts, func(t *TimeReading) *Histogram { return t.TTFT })
	}
	if t.E2E == nil && !split {
		t.E2E = sumOfHistograms(answers, func(t *TimeReading) *Histogram { return t.E2E })
	}
	return t
}

// sumOfHistograms is nil if none reports it. Without the same edges it has no buckets.
func sumOfHistograms(of []*ServerReading, get func(*TimeReading) *Histogram) (out *Histogram) {
	for _, r := range of {
		h := get(&r.Times)
		switch {
		case h == nil:
		case out == nil:
			out = &Histogram{Count: h.Count, Sum: h.Sum, Buckets: slices.Clone(h.Buckets)}
		default:
			out.Count, out.Sum = out.Count+h.Count, out.Sum+h.Sum
			sameEdges := slices.EqualFunc(out.Buckets, h.Buckets, func(a, b [2]float64) bool { return a[0] == b[0] })
			if !sameEdges {
				out.Buckets = nil
			}
			for i := range out.Buckets {
				out.Buckets[i][1] += h.Buckets[i][1]
			}
		}
	}
	return out
}

func usageOfRoles(samples []Sample, startUs, endUs int64) (out []RoleUsage) {
	n := 0
	for i := range samples {
		n = max(n, len(samples[i].Roles))
	}
	for i := range n {
		var own []Sample
		u := RoleUsage{}
		var from Source
		for _, s := range samples {
			switch {
			case s.Source != SourceServer:
				continue
			case i < len(s.Roles):
				part := s.Roles[i]
				u.Role, from.Name = part.Role, part.Source
				s.Server = part.Server
			}
			s.Roles = nil
			own = append(own, s)
		}
		u.Usage = SummarizeServer(from, own, startUs, endUs)
		out = append(out, u)
	}
	return out
}

// TTFTOfPrefill reports whether the time to the first token is that of the prefill alone, without the decode that
// sends it: prefill and decode have pages of their own, and no router reports it.
func (u *ServerUsage) TTFTOfPrefill() bool {
	has := func(role string) bool {
		return slices.ContainsFunc(u.Roles, func(r RoleUsage) bool {
			return r.Role == role && (role != RoleRouter || r.Usage.Whole != nil && r.Usage.Whole.Times.TTFT != nil)
		})
	}
	return has(RolePrefill) && has(RoleDecode) && !has(RoleRouter)
}
