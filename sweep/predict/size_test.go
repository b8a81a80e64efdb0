package predict

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/twin"
	"bench/experiment/workload"
	"bench/report/foreign"
	"bench/report/size"
	"bench/sweep/matrix"
)

// routed is the simulated servers behind a router that is written here again: what a fleet does, without a twin.
type routed struct {
	engines []*engine
	router  string
	next    int
	flight  []int
	last    map[uint64]int
}

func (f *routed) choose(q *workload.Request) (to int) {
	n := len(f.engines)
	least := f.next
	for k := range n {
		if i := (f.next + k) % n; f.flight[i] < f.flight[least] {
			least = i
		}
	}
	switch f.router {
	case twin.RoundRobin:
		to = f.next
	case twin.LeastLoad:
		to = least
	default:
		to = least
		if q.Own > 0 && q.Own < q.Input {
			group := q.Blocks[0].ID
			if was, ok := f.last[group]; ok && float64(f.flight[was]) <= 1.5*float64(f.flight[least])+4 {
				to = was
			}
			f.last[group] = to
		}
	}
	f.next = (to + 1) % n
	return to
}

// percentiles are ln(percentile ÷ limit) of the largest limit, of the servers at a rate.
func (d *drawnServer) behindRouter(t testing.TB, router string, replicas int, rate float64, requests int) float64 {
	m, p, err := planned(t, d.matrix+d.row+"rate = 1\nduration = \"1s\"\n")
	if err != nil {
		t.Fatal(err)
	}
	spec := m.Points[0]
	f := &routed{router: router, flight: make([]int, replicas), last: map[uint64]int{}}
	for range replicas {
		c := p.servers[""].config
		c.Queue = 1 << 30
		sim, err := newEngine(c, &spec, thoughts{})
		if err != nil {
			t.Fatal(err)
		}
		f.engines = append(f.engines, sim.(*engine))
	}
	w := spec.Workload
	w.Rate = workload.Rate(rate)
	plan := workload.NewPlan(w, 977, "fleet")
	times := map[string][]float64{}
	n := 0
	take := func(r *mock.Record, at time.Duration, output int) {
		if n++; n < requests/10 {
			return
		}
		first, last := time.Duration(r.DueNS[0]), time.Duration(r.DueNS[len(r.DueNS)-1])
		times["ttft"] = append(times["ttft"], (first - at).Seconds())
		times["e2e"] = append(times["e2e"], (last - at).Seconds())
		if output > 1 {
			times["tpot"] = append(times["tpot"], (last-first).Seconds()/float64(output-1))
		}
	}
	type sent struct {
		at     time.Duration
		output int
	}
	jobs := map[string]sent{}
	until := func(at time.Duration) {
		for i, e := range f.engines {
			for r := e.sim.Next(at); r != nil; r = e.sim.Next(at) {
				f.flight[i]--
				take(r, jobs[r.ID].at, jobs[r.ID].output)
				delete(jobs, r.ID)
			}
		}
	}
	for i := range requests {
		q := plan.Next()
		until(q.At)
		to := f.choose(&q)
		id := fmt.Sprint(i)
		jobs[id] = sent{q.At, q.Output}
		f.engines[to].sim.Add(mock.Job{ID: id, At: q.At, Prompt: f.engines[to].vocab.TokenIDs(nil, &q), Output: q.Output})
		f.flight[to]++
	}
	until(forever)
	limits, _, err := series.LatencyLimits(&spec)
	if err != nil {
		t.Fatal(err)
	}
	most := math.Inf(-1)
	for _, l := range limits {
		v := times[l.Metric]
		slices.Sort(v)
		most = max(most, math.Log(v[int(l.P*float64(len(v)-1))]/l.Value))
	}
	return most
}

// addPrefix lets six groups of requests share a half of their prompts, where they all have one length.
func (d *drawnServer) addPrefix() {
	var input int
	if _, rest, ok := strings.Cut(d.row, "input = "); ok {
		fmt.Sscanf(rest, "%d", &input)
	}
	if input > 64 {
		d.kind = "prefix"
		d.row += fmt.Sprintf("prefix = { tokens = %d, groups = 6 }\n", input/32*16)
	}
}

// TestSize: the interval of the number of replicas, by the twin of one measured server, holds the number that the
// simulated servers behind a router need. SIZE=FROM-TO/SALT draws more.
func TestSize(t *testing.T) {
	from, to, requests, salt := uint64(18), uint64(19), 5_000, uint64(9)
	if list := os.Getenv("SIZE"); list != "" {
		requests = 20_000
		fmt.Sscanf(list, "%d-%d/%d", &from, &to, &salt)
	}
	truths := readTruths(t)
	n, held, exact, narrow, without, wide := 0, 0, 0, 0, 0, 0
	for seed := from; seed < to; seed++ {
		alone, ok := truths[seed]
		if !ok {
			continue
		}
		d := drawServer(seed)
		rng := rand.New(rand.NewPCG(seed, salt))
		if rng.IntN(6) == 0 {
			d.addPrefix()
		}
		rate := alone * (0.3 + 7.4*rng.Float64())
		router := twin.Routers[rng.IntN(3)]
		got, err := d.sized(t, rate, router)
		if err != "" {
			without++
			t.Logf("%3d %-8s no number: %s", seed, d.kind, err)
			continue
		}
		need := max(1, got.Best)
		for need > 1 && d.behindRouter(t, router, need-1, rate, requests) <= 0 {
			need--
		}
		for need < 40 && d.behindRouter(t, router, need, rate, requests) > 0 {
			need++
		}
		n++
		if got.Low <= need && need <= got.High {
			held++
		}
		if got.Best == need {
			exact++
		}
		if need < 8 {
			if wide++; got.High-got.Low <= 1 {
				narrow++
			}
		}
		t.Logf("%3d %-8s %-12s rate %8.4g  needed %2d  estimated %2d [%d, %d]", seed, d.kind, router, rate, need, got.Best,
			got.Low, got.High)
	}
	t.Logf("%d fleets: the interval holds the needed number in %d, the estimate is it in %d; below 8 replicas %d of %d are at "+
		"most 1 wide; %d had no number", n, held, exact, narrow, wide, without)
	if n == 0 || n-held > n/10 {
		t.Errorf("the interval holds the needed number in %d of %d", held, n)
	}
}

// sized measures one server with a search, and sizes the fleet by its twin.
func (d *drawnServer) sized(t testing.TB, rate float64, router string) (size.Number, string) {
	m, p, err := planned(t, d.matrix+d.row+fmt.Sprintf("warmup = \"5s\"\nrate = { search = \"slo\", tolerance = \"5%%\", budget = %q }\n",
		cmp.Or(os.Getenv("SIZE_BUDGET"), "2m")))
	if err != nil {
		t.Fatal(err)
	}
	run, err := foreign.Load(searched(t, m, p))
	if err != nil {
		t.Fatal(err)
	}
	all := series.FromRows(run.Live())
	fitted, err := series.FitTwin(all[0].Rows(), 0, run.Requests, nil)
	if err != nil {
		return size.Number{}, err.Error()
	}
	q := size.Question{Rate: rate, Router: router, Traffic: fitted.Traffic(), Limits: fitted.Limits()}
	plan := size.Make(&q, []size.Candidate{size.OfTwin(fitted, nil, nil, "")})[0]
	if plan.AtMost {
		return size.Number{}, "at most"
	}
	return plan.Replicas, plan.Refused
}

// recorded is what a proxy would see of a simulated server whose rate goes up and down between shares of what it
// carries.
func (d *drawnServer) recorded(t testing.TB, carries float64, requests int, seed uint64) (*record.Row, []*record.Record) {
	m, p, err := planned(t, d.matrix+d.row+"rate = 1\nduration = \"1s\"\n")
	if err != nil {
		t.Fatal(err)
	}
	spec := m.Points[0]
	sim, err := newEngine(p.servers[""].config, &spec, thoughts{})
	if err != nil {
		t.Fatal(err)
	}
	e := sim.(*engine)
	w := spec.Workload
	w.Rate = 1
	plan := workload.NewPlan(w, seed, "recorded")
	rng := rand.New(rand.NewPCG(seed, 11))
	us := func(x time.Duration) record.Micros { return record.At(x.Microseconds()) }
	var out []*record.Record
	var sent []workload.Request
	take := func(until time.Duration) {
		for r := e.sim.Next(until); r != nil; r = e.sim.Next(until) {
			var i int
			fmt.Sscan(r.ID, &i)
			n := len(r.DueNS)
			x := &record.Record{I: i, Phase: record.PhaseWindow, Outcome: "ok", Arrival: us(sent[i].At),
				First: us(time.Duration(r.DueNS[0])), Last: us(time.Duration(r.DueNS[n-1])), PromptRequested: sent[i].Input,
				PromptTokens: &r.PromptTokens, CachedTokens: &r.CachedTokens, OutputTokens: n}
			for k := range n - 1 {
				x.Gaps = x.Gaps.Append(time.Duration(r.DueNS[k+1]).Microseconds() - time.Duration(r.DueNS[k]).Microseconds())
			}
			out = append(out, x)
		}
	}
	at := time.Duration(0)
	for i := range requests {
		q := plan.Next()
		share := 0.6 + 0.35*math.Sin(float64(i)/float64(requests)*6*math.Pi+float64(seed))
		at += time.Duration(rng.ExpFloat64() / (share * carries) * float64(time.Second))
		q.At = at
		take(at)
		sent = append(sent, q)
		e.sim.Add(mock.Job{ID: fmt.Sprint(i), At: at, Prompt: e.vocab.TokenIDs(nil, &q), Output: q.Output})
	}
	take(forever)
	slices.SortFunc(out, func(a, b *record.Record) int { return cmp.Compare(a.I, b.I) })
	row := &record.Row{ID: "live", Observed: true}
	row.Spec.SLO = spec.SLO
	return row, out
}

// TestBacktest: the second half of a recording is predicted from the first, within its intervals. BACKTEST=FROM-TO
// draws more.
func TestBacktest(t *testing.T) {
	from, to := uint64(10), uint64(14)
	if list := os.Getenv("BACKTEST"); list != "" {
		fmt.Sscanf(list, "%d-%d", &from, &to)
	}
	truths := readTruths(t)
	points, covered := 0.0, 0.0
	var misses []float64
	for seed := from; seed < to; seed++ {
		if carries, ok := truths[seed]; ok {
			d := drawServer(seed)
			row, records := d.recorded(t, carries, 3000, seed)
			s := size.Server{}
			if err := s.Recorded(row, records); err != nil {
				t.Logf("%3d %-8s %v", seed, d.kind, err)
				continue
			}
			b := s.Size(nil).Backtest
			t.Logf("%3d %-8s error %.3f covered %.2f of %d", seed, d.kind, b.Error, b.Covered, len(b.Points))
			points, covered = points+float64(len(b.Points)), covered+b.Covered*float64(len(b.Points))
			misses = append(misses, b.Error)
		}
	}
	slices.Sort(misses)
	t.Logf("%d recordings: %.3f of %.0f figures within their interval, median of the median errors %.3f", len(misses),
		covered/points, points, misses[len(misses)/2])
	if len(misses) < 3 || covered < 0.88*points || misses[len(misses)/2] > 0.1 {
		t.Errorf("%d recordings: %.3f covered", len(misses), covered/points)
	}
}

func searched(t testing.TB, m *matrix.Matrix, p *Plan) (dir string) { return ran(t, m, p).Dir }

// A roofline's fleet of one is the simulated server of the same hardware, which searches find.
func TestSizeOfRooflineIsTheSimulatedServer(t *testing.T) {
	for _, text := range []string{
		"[slo]\ntpot_p95 = \"60ms\"\n[[row]]\nname = \"r\"\ninput = { dist = \"lognormal\", p50 = 300, p95 = 2000 }\noutput = 200\n",
	} {
		m, p, err := planned(t, strings.Replace(head, "h100-sxm", "l40s", 1)+text+"rate = { search = \"slo\", tolerance = \"10%\", budget = \"3m\" }\n")
		if err != nil {
			t.Fatal(err)
		}
		found := manifest(t, searched(t, m, p)).Searches[0]
		spec := m.Points[0]
		traffic, err := series.TrafficOf(&spec)
		if err != nil {
			t.Fatal(err)
		}
		limits, _, err := series.LatencyLimits(&spec)
		if err != nil {
			t.Fatal(err)
		}
		sim, err := mock.NewEngine(p.servers[""].config)
		if err != nil {
			t.Fatal(err)
		}
		setup, err := sim.Setup()
		if err != nil {
			t.Fatal(err)
		}
		q := size.Question{Rate: 1, Traffic: traffic, Limits: limits}
		plan := size.Make(&q, []size.Candidate{size.OfRoofline(size.Setups{To: setup}, nil, traffic, limits)})[0]
		if plan.CapacityEach == nil || *plan.CapacityEach < 0.93**found.Low || *plan.CapacityEach > 1.07**found.High {
			t.Errorf("%s\ncapacity %v, the search found %v to %v", text, plan.CapacityEach, *found.Low, *found.High)
		}
	}
}
