package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// setting is a simulated server with a known cause, and the telemetry that it has.
type setting struct {
	name  string
	cause Bottleneck // of the last of the rows
	rows  []experiment.Spec

	maxSeqs, blocks, budget int     // of the server; 0: its default
	memory                  float64 // share of the memory bandwidth that it reaches; 0: the default
	overheadMs              float64 // of a step; 0: the default
	drift                   string

	blind    bool // no server metrics
	uncached bool // no cached tokens
	gpu      bool // GPU metrics
	throttle bool // clocks throttled by heat
	lagMs    float64
	unstated bool // no hardware specified
	readings int  // of the server's metrics in the window; 0: four a second

	diesAfter  float64       // s from the start of the load: every later request fails; 0: it lives
	fails      float64       // share of the requests that end with HTTP 500
	stallAfter time.Duration // from the start of the load; the server does nothing for stallFor
	stallFor   time.Duration

	gatewayMs, frontendMs float64 // before the server, and in it before the queue
	times                 bool    // the server reports its own times
}

// big is a model with the shape of an 8B one.
func big(t *testing.T) roofline.Models {
	t.Helper()
	models, err := roofline.ParseModels([]byte(`{"about": "a test", "models": [{"id": "eight", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128,
		"intermediate": 14336, "vocab": 128256, "max_context": 131072, "source": "made up for this test"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// config is the server. The efficiency that it reaches is not known to the roofline.
func (s *setting) config(t *testing.T) mock.Config {
	table := roofline.BuiltinHardware()
	table.Efficiency.Memory = cmp.Or(s.memory, table.Efficiency.Memory)
	table.Efficiency.StepMs = cmp.Or(s.overheadMs, table.Efficiency.StepMs)
	c := mock.Config{Model: "eight", Hardware: "h100-sxm", MaxNumSeqs: s.maxSeqs, KVBlocks: s.blocks, MaxNumBatchedTokens: s.budget, Drift: s.drift,
		Queue: 1 << 20, MaxModelLen: 16384, Models: big(t), Devices: table}
	if s.blocks > 0 {
		c.MaxModelLen = min(c.MaxModelLen, 16*s.blocks)
	}
	return c
}

// simulated runs the rows of a setting, each on a server of its own, and sorts them into series.
func (s *setting) simulated(t *testing.T) []series.Series {
	t.Helper()
	rows := make([]record.Row, len(s.rows))
	for i := range s.rows {
		rows[i] = *s.row(t, s.rows[i])
	}
	return series.FromRows(rows)
}

// after is the start of the load, when priming is over.
const after = 100 * time.Second

func (s *setting) row(t *testing.T, spec experiment.Spec) *record.Row {
	t.Helper()
	run := replay{s: s, spec: spec, plan: spec.Plan(s.name), asked: map[string]workload.Request{}}
	c := s.config(t)
	records, moments, err := mock.Simulate(c, run.jobs(), run.next, 250*time.Millisecond)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	row := &record.Row{Schema: record.SchemaRow, ID: spec.Label(), Spec: spec, Simulated: true, PromptForm: "token_ids", Clock: record.Clock{Stamps: "kernel", KernelStamps: 1}}
	row.Window = record.Window{StartUs: record.RoundMicros(time.Duration(spec.Warmup.Time)), EndUs: record.RoundMicros(run.end() - after)}
	e := &verdict.Measured{Row: row}
	for _, r := range records {
		if r.ID != "" {
			e.Records = append(e.Records, run.record(r, row.Window))
		}
	}
	s.fail(e.Records)
	var samples []telemetry.Sample
	for _, m := range moments {
		samples = append(samples, s.sample(m, e.Records)...)
	}
	samples = s.thinned(samples)
	row.Server.Metrics = telemetry.SummarizeServer(telemetry.Source{}, samples, row.Window.StartUs, row.Window.EndUs)
	row.GPU = telemetry.SummarizeGPUs(telemetry.Source{}, samples, row.Window.StartUs, row.Window.EndUs)
	row.Client = &telemetry.Usage{Samples: 100, SpanS: 60, MaxProcs: 8, CPUMean: new(0.4)}
	target := experiment.Target{Hardware: "h100-sxm", GPUs: 1}
	if s.unstated {
		target.Hardware = ""
	}
	if s.times {
		row.Server.Metrics.Whole = &telemetry.ServerCounts{Times: s.serverTimes(e.Records)}
	}
	e.Reuse = check.CompareReuse(e.Row, e.Records)
	e.Conclude(target, record.NewRooflineSource(big(t), roofline.BuiltinHardware(), "eight", target))
	return row
}

var vocabulary = workload.Vocabulary{FirstID: 100, IDs: 30000}

// replay turns a plan into jobs, and their results into records.
type replay struct {
	s     *setting
	spec  experiment.Spec
	plan  *workload.Plan
	asked map[string]workload.Request
}

func (r *replay) end() time.Duration {
	return after + time.Duration(r.spec.Warmup.Time) + time.Duration(r.spec.Duration)
}

func (r *replay) late() time.Duration { return time.Duration(r.s.lagMs * float64(time.Millisecond)) }

func (r *replay) job(q workload.Request, at time.Duration) mock.Job {
	id := strconv.Itoa(q.Index)
	q.At = at
	r.asked[id] = q
	return mock.Job{ID: id, At: r.s.serverTime(at + r.late() + r.s.before()), Prompt: vocabulary.TokenIDs(nil, &q), Output: q.Output}
}

func (r *replay) jobs() []mock.Job {
	var out []mock.Job
	for q := range r.plan.Priming {
		out = append(out, mock.Job{At: time.Duration(len(out)) * time.Second, Prompt: vocabulary.TokenIDs(nil, &q), Output: 1})
	}
	for i := range r.spec.Concurrency {
		out = append(out, r.job(r.plan.Next(), after+time.Duration(i)*time.Millisecond))
	}
	for r.spec.Rate > 0 {
		q := r.plan.Next()
		if after+q.At >= r.end() {
			break
		}
		out = append(out, r.job(q, after+q.At))
	}
	return out
}

func (r *replay) next(done *mock.Record) (mock.Job, bool) {
	at := r.s.clientTime(time.Duration(done.DueNS[len(done.DueNS)-1]))
	if r.spec.Rate > 0 || done.ID == "" || at >= r.end() {
		return mock.Job{}, false
	}
	return r.job(r.plan.Next(), at), true
}

func (r *replay) record(m *mock.Record, w record.Window) *record.Record {
	q := r.asked[m.ID]
	times := make([]time.Duration, len(m.DueNS))
	var gaps []time.Duration
	for i, due := range m.DueNS {
		times[i] = r.s.clientTime(time.Duration(due)) - after
		if i > 0 {
			gaps = append(gaps, times[i]-times[i-1])
		}
	}
	at := q.At - after
	first, last := record.At(record.RoundMicros(times[0])), record.At(record.RoundMicros(times[len(times)-1]))
	rec := &record.Record{I: q.Index, Phase: record.PhaseCooldown, Arrival: record.At(record.RoundMicros(at)), Ready: record.At(record.RoundMicros(at)), Sent: record.At(record.RoundMicros(at + r.late())), FirstEvent: first, First: first, Last: last, End: last,
		Gaps: record.RoundGaps(times[0], gaps), PromptRequested: q.Input, PromptTokens: &m.PromptTokens, OutputRequested: q.Output, OutputTokens: m.OutputTokens, Outcome: "ok", Finish: "length"}
	if !r.s.uncached {
		rec.CachedTokens = &m.CachedTokens
	}
	switch us := record.RoundMicros(at); {
	case us < w.StartUs:
		rec.Phase = record.PhaseWarmup
	case us < w.EndUs:
		rec.Phase = record.PhaseWindow
	}
	return rec
}

// sample is what /metrics and a GPU exporter would have reported. The simulator has no GPU: its activity
// follows from the hidden constants, that of its memory from the share of the bandwidth that they reach.
func (s *setting) sample(m mock.Moment, records []*record.Record) []telemetry.Sample {
	t := record.RoundMicros(s.clientTime(m.At) - after)
	var out []telemetry.Sample
	if !s.blind {
		of := func(n int) *float64 { return new(float64(n)) }
		reading := &telemetry.ServerReading{Engine: "vllm", Running: of(m.Running), Waiting: of(m.Waiting), KVUsage: &m.KVUsage, Preemptions: of(m.Preemptions), Prompt: of(m.Prompt), Generated: of(m.Generated)}
		if !s.uncached {
			reading.PrefixQueries, reading.PrefixHits, reading.PrefixUnit = of(m.Queried), of(m.Hit), "tokens"
		}
		out = append(out, telemetry.Sample{Source: telemetry.SourceServer, TUs: t, Server: reading})
	}
	if s.gpu {
		usual := roofline.BuiltinHardware().Efficiency
		overhead := cmp.Or(s.overheadMs, usual.StepMs)
		engine := 1 - overhead/max(overhead, stepOf(records))
		g := telemetry.GPUReading{GPU: "0", EngineActive: &engine, DRAMActive: new(engine * cmp.Or(s.memory, usual.Memory)), Temperature: new(61.), PowerW: new(480.), Unthrottled: !s.throttle}
		if s.throttle {
			g.Throttled, g.Temperature = []string{"sw_thermal"}, new(88.)
		}
		out = append(out, telemetry.Sample{Source: telemetry.SourceGPU, TUs: t, GPUs: []telemetry.GPUReading{g}})
	}
	return out
}

// stepOf is the step of the first request that has one, ms.
func stepOf(records []*record.Record) float64 {
	for _, r := range records {
		var gaps []float64
		for us := range r.Gaps.All() {
			gaps = append(gaps, float64(us)/1e3)
		}
		if len(gaps) > 0 {
			slices.Sort(gaps)
			return stats.Quantile(gaps, 0.5)
		}
	}
	return math.NaN()
}

// closed is a row of a closed loop; rated is one with a rate.
func closed(name string, concurrency, input, output int) experiment.Spec {
	return experiment.Spec{Name: name, Point: []experiment.Axis{{Key: "concurrency", Value: strconv.Itoa(concurrency)}}, Repeat: 1, Workload: workload.Workload{Input: workload.Fixed(input), Output: workload.Fixed(output), Seed: 7},
		Load: workload.Load{Concurrency: concurrency, Warmup: workload.Extent{Time: workload.Span(20 * time.Second)}, Duration: workload.Span(40 * time.Second)}}
}

func rated(name string, rate float64, input, output int) experiment.Spec {
	s := closed(name, 0, input, output)
	s.Point, s.Rate = []experiment.Axis{{Key: "rate", Value: fmt.Sprint(rate)}}, workload.Rate(rate)
	s.Duration = workload.Span(60 * time.Second)
	return s
}

func prefixed(s experiment.Spec, tokens, groups int, state string) experiment.Spec {
	s.Prefix = &workload.Prefix{Tokens: tokens, Groups: groups, State: state}
	s.Point = append(slices.Clone(s.Point), experiment.Axis{Key: "prefix.state", Value: state})
	return s
}
