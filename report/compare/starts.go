package compare

import (
	"slices"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// serverStart is a run, and between parts of one run a start of its server.
type serverStart struct {
	run   *Run
	start int
}

func areParts(base, changed Side) bool {
	if len(base.Runs) != 1 || len(changed.Runs) != 1 {
		return false
	}
	a, b := &base.Runs[0].Manifest, &changed.Runs[0].Manifest
	return a.Run != "" && a.Run == b.Run && a.Salt == b.Salt && a.StartedAt.Equal(b.StartedAt)
}

// startBefore is the number of the last start of the row's server by bench before the row; 0: bench did not start it.
func startBefore(starts []record.ServerStart, row *record.Row) int {
	n := 0
	for i := range starts {
		x := &starts[i]
		if len(x.Command) > 0 && x.Variant == row.Spec.Variant && !x.StartedAt.After(row.StartedAt) {
			n = x.N
		}
	}
	return n
}

// byRun groups the repeats of samples by run, in order of time. Between parts of one run each start of a server is
// one: those of a night share the night, and are no independent evidence on the next.
func (p pair) byRun(samples []sample, repeats []stats.Repeat) [][]stats.Repeat {
	var order []serverStart
	began := map[serverStart]time.Time{}
	groups := map[serverStart][]stats.Repeat{}
	for i := range samples {
		s := &samples[i]
		u, at := serverStart{run: s.run}, s.row.StartedAt
		if p.parts {
			u.start = startBefore(s.run.Manifest.Servers, s.row)
		}
		if was, known := began[u]; !known {
			order = append(order, u)
			began[u] = at
		} else if at.Before(was) {
			began[u] = at
		}
		groups[u] = append(groups[u], repeats[i])
	}
	slices.SortStableFunc(order, func(a, b serverStart) int { return began[a].Compare(began[b]) })
	var out [][]stats.Repeat
	for _, u := range order {
		out = append(out, groups[u])
	}
	return out
}

// likeBase are the nights with the workload of base; those of base with their requests.
func (p pair) likeBase() (out []sample) {
	first := p.base[0].row
	for _, s := range p.nights {
		same := func(other sample) bool { return s.run.Name == other.run.Name && s.row.ID == other.row.ID }
		if i := slices.IndexFunc(p.base, same); i >= 0 {
			out = append(out, p.base[i])
			continue
		}
		if s.row.Valid() && refusals(specDifferences(&first.Spec, &s.row.Spec)) == "" &&
			s.row.PromptForm == first.PromptForm {
			out = append(out, s)
		}
	}
	return out
}

// showing are the nights that show the spread of a figure. Among few ones one that differs by more than its threshold
// would hide the next one: many keep out what is far from the others by themselves.
func (p pair) showing(name string) []sample {
	if countRuns(p.nights) > fewNights {
		return p.nights
	}
	return p.unheld(name)
}

const fewNights = 8

// leastGood is the number of nights below which those of a full history are no base: they are an old level, or odd.
const leastGood = 3

// baseOf are the repeats of base of one figure. A run in which it differs by more than its threshold is no base: an
// earlier one takes its place. If nearly all nights are such, their level is the base.
func (p pair) baseOf(name string) []sample {
	unheld := p.unheld(name)
	x := GatedFigure{p.name, p.class, name}
	held := func(s sample) bool { return s.run.holds(x) }
	good := countRuns(unheld)
	if !slices.ContainsFunc(p.base, held) || good == 0 || good < leastGood && countRuns(p.nights) >= mostNights {
		return p.base
	}
	runs, most := map[string]bool{}, countRuns(p.base)
	var out []sample
	for _, s := range slices.Backward(unheld) {
		if runs[s.run.Name] || len(runs) < most {
			runs[s.run.Name] = true
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// unheld are the nights without those in which a figure differs by more than its threshold.
func (p pair) unheld(name string) []sample {
	x := GatedFigure{p.name, p.class, name}
	return slices.DeleteFunc(slices.Clone(p.nights), func(s sample) bool { return s.run.holds(x) })
}

func countRuns(samples []sample) int {
	runs := map[string]bool{}
	for _, s := range samples {
		runs[s.run.Name] = true
	}
	return len(runs)
}

// pairsOf are the repeats of the same number of both sides; nil: fewer than two.
func pairsOf(of [2][]sample, base, changed []stats.Repeat) (pairs [2][]stats.Repeat) {
	for i := range of[0] {
		k := slices.IndexFunc(of[1], func(s sample) bool { return s.row.Spec.Repeat == of[0][i].row.Spec.Repeat })
		if k >= 0 {
			pairs[0], pairs[1] = append(pairs[0], base[i]), append(pairs[1], changed[k])
		}
	}
	if len(pairs[0]) < 2 {
		return [2][]stats.Repeat{}
	}
	return pairs
}
