package why

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"bench/experiment/mock"
	"bench/experiment/twin"
)

// world is a simulated server and what it is sent.
type world struct {
	mock.Config
	prompts, outputs float64 // factors of the lengths
	frontEnd, lag    time.Duration
}

// serve is a side of which the twin knows what a client saw.
func (w world) serve(t *testing.T) *Side {
	t.Helper()
	const rate, n, prefix = 7, 500, 192
	rng := rand.New(rand.NewPCG(4, 2))
	length := func(median, spread float64) int { return int(median * math.Exp(spread*rng.NormFloat64())) }
	var jobs []mock.Job
	requests := map[string]twin.Request{}
	for at, i := 0.0, 0; i < n; at, i = at+rng.ExpFloat64()/rate, i+1 {
		prompt := make([]int32, prefix+length(300*w.prompts, 0.5))
		for k := range prompt {
			prompt[k] = int32(k + 1)
		}
		prompt[prefix] = int32(10_000 + i)
		lag := rng.ExpFloat64() * w.lag.Seconds()
		id := strconv.Itoa(i)
		requests[id] = twin.Request{Arrival: at + lag, Lag: lag, Window: i >= n/10}
		jobs = append(jobs, mock.Job{ID: id, At: time.Duration((at+lag)*1e9) + w.frontEnd, Prompt: prompt,
			Output: max(2, length(60*w.outputs, 0.4))})
	}
	slices.SortStableFunc(jobs, func(a, b mock.Job) int { return cmp.Compare(a.At, b.At) })
	records, _, err := mock.Simulate(w.Config, jobs, nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	trial := twin.Trial{Load: rate}
	for _, x := range records {
		r := requests[x.ID]
		r.Prompt, r.Cached, r.Output, r.Events = x.PromptTokens, x.CachedTokens, x.OutputTokens, []float64{}
		for _, due := range x.DueNS[1:] {
			r.Events = append(r.Events, float64(due)/1e9)
		}
		r.First, r.Last = float64(x.DueNS[0])/1e9, float64(x.DueNS[len(x.DueNS)-1])/1e9
		trial.Requests = append(trial.Requests, r)
	}
	slices.SortFunc(trial.Requests, func(a, b twin.Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	m, err := fit([]twin.Trial{trial}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &Side{Model: m, Trials: []Trial{{Trial: trial, Name: "r"}}}
}

var planted = map[string]func(*world){
	StepTime:  func(w *world) { w.StepBase += 700 * time.Microsecond },
	Prompts:   func(w *world) { w.prompts = 1.3 },
	CacheHits: func(w *world) { w.NoPrefixCaching = true },
	Batching:  func(w *world) { w.MaxNumBatchedTokens = 256 },
	FrontEnd:  func(w *world) { w.frontEnd = 6 * time.Millisecond },
	Client:    func(w *world) { w.lag = 8 * time.Millisecond },
}

// Planted causes have their shares of each figure, within 20 % or a point, and absent ones have none. The truth of a
// pair is the mean of its two orders. benchmarks/why has more causes, and many servers.
func TestPlanted(t *testing.T) {
	for _, names := range [][2]string{{StepTime, Prompts}, {CacheHits, Prompts}, {Batching, Batching},
		{FrontEnd, Client}} {
		var sides [4]*Side
		for set := range sides {
			w := world{Config: mock.Config{MaxNumSeqs: 32, MaxNumBatchedTokens: 2048, StepBase: 9 * time.Millisecond,
				StepPerSeq: 300 * time.Microsecond, StepPerPrefillToken: 30 * time.Microsecond}, prompts: 1, outputs: 1}
			for i, name := range names {
				if set>>i&1 == 1 {
					planted[name](&w)
				}
			}
			sides[set] = w.serve(t)
		}
		rows, leftOut := Explain(sides[0], sides[3], All)
		if len(leftOut) > 0 {
			t.Fatal(leftOut)
		}
		for i := range rows[0].Figures {
			checkPlanted(t, names, &rows[0].Figures[i], sides)
		}
	}
}

func checkPlanted(t *testing.T, names [2]string, f *Figure, sides [4]*Side) {
	k := slices.Index(figures, f.Metric)
	var log [4]float64
	for set, s := range sides {
		v, _ := s.Trials[0].Measured(limits()[k])
		log[set] = math.Log(v)
	}
	total := log[3] - log[0]
	truth := map[string]float64{}
	if f.changed() {
		factor := math.Expm1(total) / total
		truth[names[0]] += factor * (log[1] - log[0] + log[3] - log[2]) / 2
		truth[names[1]] += factor * (log[2] - log[0] + log[3] - log[1]) / 2
	}
	if names[0] == names[1] {
		truth[names[0]] = math.Expm1(total)
	}
	got := map[string]Part{}
	for _, p := range f.Parts {
		got[p.Cause] = p
	}
	for _, cause := range causes {
		p := got[cause]
		if want := truth[cause]; math.Abs(p.Share-want) > max(0.01, 0.2*math.Abs(want)) && f.changed() {
			t.Errorf("%s and %s: %s of %s is %v, planted %v", names[0], names[1], cause, f.Metric, p, want)
		}
	}
}
