package sweep

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"bench/experiment"
)

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

// TellingFirst orders rows that run as written for a budget that is too short for all of them: of each row the middle
// point first, then the middles of its halves, and so on.
func (m *Matrix) TellingFirst() {
	if m.Order != "" && m.Order != OrderListed {
		return
	}
	type row struct{ variant, name string }
	variants, index, size := map[string]int{}, map[string]int{}, map[row]int{}
	for i := range m.Points {
		s := &m.Points[i]
		if _, known := variants[s.Variant]; !known {
			variants[s.Variant] = len(variants)
		}
		if s.Repeat == 1 {
			of := row{s.Variant, s.Name}
			index[s.Label()] = size[of]
			size[of]++
		}
	}
	type place struct{ variant, repeat, depth int }
	places := map[string]place{}
	for i := range m.Points {
		s := &m.Points[i]
		places[ID(s)] = place{variants[s.Variant], s.Repeat, halvings(index[s.Label()], size[row{s.Variant, s.Name}])}
	}
	slices.SortStableFunc(m.Points, func(a, b experiment.Spec) int {
		x, y := places[ID(&a)], places[ID(&b)]
		return cmp.Or(cmp.Compare(x.variant, y.variant), cmp.Compare(x.repeat, y.repeat), cmp.Compare(x.depth, y.depth))
	})
}

// halvings is how often n things are halved until the middle is the one at an index.
func halvings(at, n int) int {
	for low, high, depth := 0, n, 0; ; depth++ {
		switch middle := (low + high) / 2; {
		case low >= high || at == middle:
			return depth
		case at < middle:
			high = middle
		default:
			low = middle + 1
		}
	}
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
