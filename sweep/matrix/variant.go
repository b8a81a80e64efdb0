package matrix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/server"
)

// Variant is one of several servers of a matrix: one that bench starts with its knobs, or one of several
// endpoints.
type Variant struct {
	Name     string         // as in Spec.Variant
	Settings server.Variant // the knobs; nil for an endpoint
	Endpoint string         // as written; empty for a server that bench starts

	Axes []experiment.Axis // its differences from the others
}

// Varies reports whether bench starts servers or changes endpoints during the run.
func (m *Matrix) Varies() bool { return len(m.Variants) > 0 }

// Simulated reports whether the matrix runs against the embedded server. Servers of [server] and several endpoints
// leave [target] endpoint empty.
func (m *Matrix) Simulated() bool {
	return (m.Target.Endpoint == "" || m.Target.Endpoint == "mock") && !m.Varies()
}

// classEndpoints lists the servers that classes of the points name for themselves, each once.
func (m *Matrix) classEndpoints(points []experiment.Spec) (list []string) {
	for _, r := range experiment.Routes(points, m.Target) {
		if r.Endpoint != "" && !slices.Contains(list, r.Endpoint) {
			list = append(list, r.Endpoint)
		}
	}
	return list
}

func (m *Matrix) Variant(name string) *Variant {
	at := slices.IndexFunc(m.Variants, func(v Variant) bool { return v.Name == name })
	return &m.Variants[at]
}

func (r *reader) readVariants(given bool) {
	m := r.m
	if given {
		m.Server.Check(m.Target.Endpoint != "" && m.Target.Endpoint != "mock", r.under("server"))
	}
	if given && len(m.Target.Endpoints) > 0 {
		r.bad("target.endpoints", "[server] starts one server, but endpoints has several",
			"write endpoint, and what varies in [server.knobs]; or remove [server]")
	}
	if given && len(m.Target.Replicas) > 0 {
		r.bad("target.replicas", "[server] starts one server, but replicas has several",
			"remove [server]: start the replicas yourself")
	}
	if len(r.problems) > 0 {
		return
	}
	if !given {
		for _, e := range m.Target.Endpoints {
			name := experiment.EndpointName(e)
			axes := []experiment.Axis{{Key: "endpoint", Value: name}}
			m.Variants = append(m.Variants, Variant{Name: "endpoint=" + name, Endpoint: e, Axes: axes})
		}
		return
	}
	variants, ok := m.Server.Variants(r.doc.Keys("server.knobs"), m.Tune != nil)
	if !ok {
		r.bad("server.knobs", "the knobs have too many combinations to start", "write fewer values")
	}
	for _, v := range variants {
		m.Variants = append(m.Variants, Variant{Name: v.String(), Settings: v, Axes: variedKnobs(v, m.Server.Knobs)})
	}
}

func variedKnobs(v server.Variant, k server.Knobs) []experiment.Axis {
	var out []experiment.Axis
	for _, s := range v {
		if len(k.Values[s.Knob]) > 1 {
			out = append(out, experiment.Axis{Key: s.Knob, Value: s.Value})
		}
	}
	return out
}

func (m *Matrix) forVariants(points []experiment.Spec) []experiment.Spec {
	if !m.Varies() {
		return points
	}
	var out []experiment.Spec
	for _, v := range m.Variants {
		for _, p := range points {
			p.Point = slices.Concat(p.Point, v.Axes)
			p.Variant = v.Name
			out = append(out, p)
		}
	}
	return out
}

// Attribution is a note about variants whose difference has several causes; empty: no pair differs in two
// knobs.
func (m *Matrix) Attribution() string {
	var pairs []string
	if m.Tune != nil { // the race says which knobs interact
		return ""
	}
	for i, v := range m.Variants {
		for _, w := range m.Variants[:i] {
			if v.Settings.Differ(w.Settings) > 1 {
				pairs = append(pairs, fmt.Sprintf("%s and %s", w.Name, v.Name))
			}
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	const shown = 3
	more := ""
	if len(pairs) > shown {
		more = fmt.Sprintf(", and %d more pairs", len(pairs)-shown)
	}
	return "these variants differ in two or more knobs, so their difference cannot be attributed to one: " +
		strings.Join(pairs[:min(shown, len(pairs))], "; ") + more
}

const (
	OrderListed      = "listed"      // as written; the default
	OrderBlocked     = "blocked"     // randomized blocks: shuffled by the seed within each round of repeats
	OrderInterleaved = "interleaved" // variants alternate A B B A
)

func (m *Matrix) OrderText() string {
	switch m.Order {
	case OrderBlocked:
		return "randomized blocks"
	case OrderInterleaved:
		return "interleaved (ABBA)"
	}
	return "as written"
}

// inOrder takes one entry for each point and variant, and returns those of all repeats in order of execution.
// As written, each variant runs all of its rows before the next one, so its server starts once. Randomized
// blocks and the interleaved order start servers more often, which puts the difference between two starts
// into the spread of the repeats.
func (m *Matrix) inOrder(points []experiment.Spec) []experiment.Spec {
	rank := map[string]int{}
	for i, v := range m.Variants {
		rank[v.Name] = i
	}
	rounds := rounds(points)
	switch m.Order {
	case OrderInterleaved:
		return interleave(rounds, rank)
	case OrderBlocked:
		return randomize(rounds, rank, m.Seed)
	}
	out := slices.Concat(rounds...)
	slices.SortStableFunc(out, func(a, b experiment.Spec) int { return rank[a.Variant] - rank[b.Variant] })
	return out
}

func rounds(points []experiment.Spec) [][]experiment.Spec {
	most := 0
	for _, p := range points {
		most = max(most, p.Repeats, 1)
	}
	out := make([][]experiment.Spec, most)
	for i := range out {
		for _, p := range points {
			if p.Repeat = i + 1; p.Repeat <= max(p.Repeats, 1) {
				out[i] = append(out[i], p)
			}
		}
	}
	return out
}

// randomize shuffles the variants within each round, and the points of each variant.
func randomize(rounds [][]experiment.Spec, rank map[string]int, seed uint64) []experiment.Spec {
	points := rand.New(rand.NewPCG(seed, 0x6f72646572))
	variants := rand.New(rand.NewPCG(seed, 0x76617279))
	for _, round := range rounds {
		points.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		if len(rank) > 0 {
			place := variants.Perm(len(rank))
			slices.SortStableFunc(round, func(a, b experiment.Spec) int {
				return place[rank[a.Variant]] - place[rank[b.Variant]]
			})
		}
	}
	return slices.Concat(rounds...)
}

// interleave runs each point on all variants before the next point. The next point, and the same point in the
// next round, runs on them in reverse: A B B A, with three variants A B C C B A. Over an even number of rounds
// every variant of a point has the same mean position, so a linear drift affects all of them alike.
func interleave(rounds [][]experiment.Spec, rank map[string]int) []experiment.Spec {
	var out []experiment.Spec
	index := map[string]int{} // of a point in the first round, by its name on the first variant
	for i, round := range rounds {
		byVariant := make([][]experiment.Spec, len(rank))
		for _, p := range round {
			byVariant[rank[p.Variant]] = append(byVariant[rank[p.Variant]], p)
		}
		for j, first := range byVariant[0] {
			if i == 0 {
				index[first.Label()] = j
			}
			from := len(out)
			for _, points := range byVariant {
				out = append(out, points[j])
			}
			if (index[first.Label()]+i)%2 == 1 {
				slices.Reverse(out[from:])
			}
		}
	}
	return out
}

func (m *Matrix) Starts() int {
	n := 0
	for i := range m.Points {
		if m.Server.Runs() && (i == 0 || m.Points[i].Variant != m.Points[i-1].Variant) {
			n++
		}
	}
	return n
}
