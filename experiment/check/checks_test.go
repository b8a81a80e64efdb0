package check

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// flawless is a row without a finding, of which nothing was left unchecked: 100 requests, a slot
// each for 10 ms after the other.
func flawless() *evidence {
	e := &evidence{Row: &record.Row{}}
	e.Spec = fixture.Spec()
	e.Spec.Rate, e.Spec.Concurrency, e.Spec.Warmup = 100, 1, workload.Extent{Requests: 1}
	e.Spec.Arrival.Process = "constant"
	e.Window = record.Window{StartUs: 0, EndUs: 1_000_000}
	warm := fixture.OKRequest(-19000, -18000, -17000)
	warm.Phase = record.PhaseWarmup
	e.records = append(e.records, warm)
	for i := range int64(100) {
		r := fixture.OKRequest(i*10_000, i*10_000+5000, i*10_000+9999)
		r.CachedTokens = new(0)
		e.records = append(e.records, r)
	}
	e.Clock = record.Clock{Stamps: "kernel", KernelStamps: 200}
	e.Roofline = &record.Roofline{TPOT: roofline.Bound{FloorMs: 1}}
	e.Client = &telemetry.Usage{Samples: 4, SpanS: 1, MaxProcs: 2, LongestGap: new(260.0), CPUMean: new(0.5), Steal: new(0.0), StealMaxMs: new(0.0), SchedP99: new(5.0)}
	e.Connections.Sockets = &telemetry.SocketUsage{Segments: telemetry.Segments{SegmentsOut: 5000, SegmentsIn: 5000}}
	e.told()
	return e
}

func (e *evidence) inWindow() []*record.Record { return e.records[1:] }

func (e *evidence) checked() *evidence {
	e.Summary = record.Summarize(e.records, e.Window, record.ModeOf(&e.Spec), nil, 0)
	e.Lengths = record.LengthsOf(e.records)
	e.run()
	return e
}

func TestFindings(t *testing.T) {
	fail := func(n int, outcome string) func(*evidence) {
		return func(e *evidence) {
			for i, r := range e.inWindow()[:n] {
				*r = *failedRequest(r.Arrival.Us(), outcome)
				r.I = i
			}
		}
	}
	each := func(change func(*record.Record)) func(*evidence) {
		return func(e *evidence) {
			for _, r := range e.inWindow() {
				change(r)
			}
		}
	}
	lagging := func(lag int64, ttft int64) func(*evidence) {
		return each(func(r *record.Record) {
			r.Ready = r.Ready.Add(-lag)
			r.Arrival = r.Ready
			r.First = record.At(r.Arrival.Us() + ttft)
			r.Gaps = record.Pack(r.Last.Us() - r.First.Us())
		})
	}
	keep := func(n int) func(*evidence) { return func(e *evidence) { e.records = e.records[:n+1] } }
	prefix := func(state string, cached int) func(*evidence) {
		return func(e *evidence) {
			e.Spec.Prefix = &workload.Prefix{Tokens: 100, Groups: 2, State: state} // 96 tokens in whole blocks
			each(func(r *record.Record) { r.CachedTokens = new(cached) })(e)
		}
	}
	overhead := func(n, cached int) func(*evidence) {
		return func(e *evidence) {
			e.PromptOverhead = &n
			each(func(r *record.Record) { r.CachedTokens = new(cached) })(e)
		}
	}
	lateSends := func(n int) func(*evidence) {
		return func(e *evidence) {
			for _, r := range e.inWindow()[5 : 5+n] {
				r.Ready = r.Ready.Add(-9000)
				r.Arrival = r.Ready
				r.First = record.At(r.Arrival.Us() + 9000)
				r.Gaps = record.Pack(r.Last.Us() - r.First.Us())
			}
		}
	}
	then := func(changes ...func(*evidence)) func(*evidence) {
		return func(e *evidence) {
			for _, c := range changes {
				c(e)
			}
		}
	}
	sessions := func(started, completed, cut int) func(*evidence) {
		return func(e *evidence) {
			e.Sessions = &record.Sessions{Started: started, Completed: completed, Cut: cut}
		}
	}
	const (
		passed, impossible           = "passed", "not possible"
		silent                       = "unverified"
		isInvalid, isCaution, isNote = "invalid", "caution", "note"
	)
	for _, c := range []struct {
		code, what string
		change     func(*evidence)
		want       string
		text       string // a part of the finding
	}{
		{"errors", "one in a hundred", fail(1, "status"), passed, ""},
		{"errors", "two in a hundred", fail(2, "status"), isInvalid, "2 of 100 requests failed (2 status): percentiles cover the others; first error: status it was"},
		{"errors", "an empty window", keep(0), isInvalid, "the window has no request"},
		{"errors", "text with a percent sign", each(func(r *record.Record) { *r = *failedRequest(0, "status"); r.Error = "100%d" }), isInvalid, "first error: 100%d"},
		{"unfinished", "all finished", fail(1, "timeout"), passed, ""},
		{"unfinished", "one is not", fail(1, "unfinished"), isNote, "1 requests of the window had not ended 120 s after it"},
		{"unfinished", "two are not, of a hundred", fail(2, "unfinished"), isInvalid, "2 requests of the window had not ended"},
		{"short", "one in a hundred", func(e *evidence) { e.inWindow()[0].Outcome = "short" }, passed, ""},
		{"short", "two in a hundred", func(e *evidence) { e.inWindow()[0].Outcome, e.inWindow()[1].Outcome = "short", "short" }, isInvalid, "2 of 100 answers"},
		{"short", "it may stop", func(e *evidence) { e.Spec.Stop = "natural"; e.inWindow()[0].Outcome = "short" }, impossible, ""},
		{"short", "nothing completed", fail(100, "status"), impossible, ""},
		{"client_bound", "1 ms", lagging(1000, 9000), passed, ""},
		{"client_bound", "more than 1 ms", lagging(1001, 9000), isCaution, "client lag p50 1 ms is part of ttft and e2e"},
		{"client_bound", "two late sends of 100, which are no p99", lateSends(2), passed, ""},
		{"client_bound", "ten late sends of 100", lateSends(10), isCaution, "client lag p95 9 ms"},
		{"client_bound", "2 ms of a ttft of 40 ms", lagging(2000, 40_000), passed, ""},
		{"client_bound", "more than that", lagging(2001, 40_000), isCaution, "client lag p50 2 ms is part"},
		{"client_bound", "a connection's set-up", each(func(r *record.Record) {
			r.Ready = r.Ready.Add(-5000)
			r.Arrival = r.Ready
			r.ConnectUs = new(int64(4500))
		}), passed, ""},
		{"connections", "two in a hundred", func(e *evidence) {
			for _, r := range e.inWindow()[:2] {
				r.ConnectUs = new(int64(4000))
			}
		}, isCaution, "2 of 100 requests opened a connection: 4 ms"},
		{"connections", "one in a hundred", func(e *evidence) { e.inWindow()[0].ConnectUs = new(int64(4000)) }, passed, ""},
		{"connections", "no time to speak of", each(func(r *record.Record) { r.ConnectUs = new(int64(50)) }), passed, ""},
		{"connections", "nothing completed", fail(100, "connect"), impossible, ""},
		{"client_bound", "nothing completed", fail(100, "status"), impossible, ""},
		{"client_cpu", "nine tenths of its cores", func(e *evidence) { e.Client.CPUMean = new(1.8) }, passed, ""},
		{"client_cpu", "more", func(e *evidence) { e.Client.CPUMean = new(1.81) }, isCaution, "the client used 1.81 of its 2 cores"},
		{"client_cpu", "stolen, one in twenty", func(e *evidence) { e.Client.Steal = new(0.05) }, passed, ""},
		{"client_cpu", "more of it", func(e *evidence) { e.Client.Steal = new(0.06) }, isCaution, "CPU steal 6 %"},
		{"client_cpu", "late readers, stamped by the kernel", func(e *evidence) { e.Client.SchedP99 = new(9.0) }, passed, ""},
		{"client_cpu", "late readers that stamp", func(e *evidence) { e.Clock = record.Clock{UserStamps: 200}; e.Client.SchedP99 = new(1.01) }, isCaution, "scheduler latency, p99 1.01 ms"},
		{"client_cpu", "1 ms", func(e *evidence) { e.Clock = record.Clock{UserStamps: 200}; e.Client.SchedP99 = new(1.0) }, passed, ""},
		{"client_cpu", "saturated and stolen", func(e *evidence) { e.Client.CPUMean, e.Client.Steal = new(1.9), new(0.1) }, isCaution, "late reads can slow the server; CPU steal 10 %"},
		{"client_cpu", "no sample", func(e *evidence) { e.Client = nil }, impossible, ""},
		{"client_cpu", "less than a second", func(e *evidence) { e.Client.Samples = 3; e.Client.CPUMean = new(2.0) }, impossible, ""},
		{"client_cpu", "a system that does not tell", func(e *evidence) { e.Client.CPUMean = nil }, impossible, ""},
		{"network", "one in a thousand", func(e *evidence) { e.Connections.Sockets.Retransmits = 5 }, passed, ""},
		{"network", "more", func(e *evidence) { e.Connections.Sockets.Retransmits = 6 }, isCaution, "6 of 5000 TCP segments of the requests were retransmitted"},
		{"network", "sent again without need", func(e *evidence) { e.Connections.Sockets.Retransmits, e.Connections.Sockets.Needless = 600, 598 }, passed, ""},
		{"network", "duplicates of another window", func(e *evidence) { e.Connections.Sockets.Retransmits, e.Connections.Sockets.Needless = 0, 9 }, passed, ""},
		{"network", "most of them", func(e *evidence) { e.Connections.Sockets.Retransmits, e.Connections.Sockets.Needless = 600, 594 }, isCaution, "6 of 5000"},
		{"network", "few of very few", func(e *evidence) { e.Connections.Sockets.SegmentsOut, e.Connections.Sockets.Retransmits = 100, 4 }, passed, ""},
		{"network", "out of order", func(e *evidence) { e.Connections.Sockets.OutOfOrder = 6 }, isCaution, "6 of 5000 TCP segments of the answers arrived out of order"},
		{"network", "both", func(e *evidence) { e.Connections.Sockets.OutOfOrder, e.Connections.Sockets.Retransmits = 6, 7 }, isCaution, "were retransmitted: these requests arrived late; 6 of 5000"},
		{"network", "a proxy", func(e *evidence) { e.Connections.Sockets = nil }, impossible, ""},
		{"network", "nothing was sent", func(e *evidence) { e.Connections.Sockets = &telemetry.SocketUsage{} }, impossible, ""},
		{"stamps", "one in two hundred", func(e *evidence) { e.Clock.UserStamps = 2 }, passed, ""},
		{"stamps", "more than one in a hundred", func(e *evidence) { e.Clock.UserStamps, e.Clock.ReadLagMaxMs = 3, 4 }, isCaution, "3 of 203 arrivals have no kernel timestamp: they are up to 4 ms late"},
		{"stamps", "as late as an answer", func(e *evidence) { e.Clock.UserStamps, e.Clock.ReadLagMaxMs = 3, 400 }, isInvalid, "3 of 203 arrivals"},
		{"stamps", "no lag measured", func(e *evidence) { e.Clock.UserStamps = 3 }, isInvalid, "3 of 203 arrivals"},
		{"stamps", "most", func(e *evidence) { e.Clock.UserStamps, e.Clock.ReadLagMaxMs = 201, 4 }, isInvalid, "201 of 401 arrivals"},
		{"stamps", "no kernel stamps", func(e *evidence) { e.Clock = record.Clock{UserStamps: 100} }, impossible, ""},
		{"rate_not_achieved", "as few as chance may bring", each(func(r *record.Record) {
			if r.Arrival.Us() >= 800_000 {
				r.Last = r.Last.Add(1_000_000)
			}
		}), passed, ""},
		{"rate_not_achieved", "fewer", each(func(r *record.Record) {
			if r.Arrival.Us() >= 790_000 {
				r.Last = r.Last.Add(1_000_000)
			}
		}), isCaution, "79 of 100 requests/s"},
		{"rate_not_achieved", "a window before the first answers", func(e *evidence) { e.records[0].Arrival = record.At(-1) }, impossible, ""},
		{"rate_not_achieved", "closed loop", func(e *evidence) { e.Spec.Rate = 0 }, impossible, ""},
		{"rate_not_achieved", "all at once", func(e *evidence) { e.Spec.Rate = workload.Rate(math.Inf(1)) }, impossible, ""},
		{"rate_not_achieved", "19 requests", keep(19), impossible, ""},
		{"concurrency", "one more in flight", func(e *evidence) { e.inWindow()[0].End = e.inWindow()[0].End.Add(10_000) }, isInvalid, "2 requests were in flight, requested 1"},
		{"concurrency", "open loop", func(e *evidence) { e.Spec.Concurrency = 0 }, impossible, ""},
		{"concurrency", "a cap that is not reached", func(e *evidence) { e.Spec.Concurrency = 9 }, passed, ""},
		{"concurrency", "slots that stay empty", func(e *evidence) { e.Spec.Rate, e.Spec.Concurrency = 0, 2 }, isCaution, "mean concurrency 1, requested 2: the point counts as concurrency 1"},
		{"concurrency", "nine in ten full", func(e *evidence) { e.Spec.Rate = 0; e.records = e.records[:92] }, passed, ""},
		{"concurrency", "slots emptied by failures", func(e *evidence) { e.Spec.Rate, e.Spec.Concurrency = 0, 2; fail(2, "connect")(e) }, impossible, ""},
		{"concurrency", "nothing completed", fail(100, "status"), impossible, ""},
		{"warmup", "none", func(e *evidence) { e.records = e.inWindow() }, isNote, "no warm-up"},
		{"warmup", "none, and the window shows it", func(e *evidence) {
			*e = *steadyRow(2000, func(at float64) float64 { return 50 + 500*math.Exp(-at/0.04) })
			e.records = e.records[1:]
		}, isCaution, "no warm-up"},
		{"warmup", "all at once", func(e *evidence) { e.Spec.Rate = workload.Rate(math.Inf(1)); e.records = e.inWindow() }, impossible, ""},
		{"prompt_length", "a hundredth more", each(func(r *record.Record) { r.PromptRequested, r.PromptTokens = 1000, new(1010) }), passed, ""},
		{"prompt_length", "more than that", each(func(r *record.Record) { r.PromptRequested, r.PromptTokens = 1000, new(1011) }), isCaution, "requested 1,000 prompt tokens, server counted 1,011 (mean)"},
		{"prompt_length", "fewer", each(func(r *record.Record) { r.PromptRequested, r.PromptTokens = 1000, new(989) }), isCaution, "server counted 989 (mean)"},
		{"prompt_length", "a tenth more", each(func(r *record.Record) { r.PromptRequested, r.PromptTokens = 1000, new(1100) }), isCaution, "counted 1,100"},
		{"prompt_length", "another workload", each(func(r *record.Record) { r.PromptRequested, r.PromptTokens = 1000, new(1101) }), isInvalid, "counted 1,101"},
		{"prompt_length", "not counted", each(func(r *record.Record) { r.PromptTokens = nil }), impossible, ""},
		{"token_counts", "one estimate", func(e *evidence) { e.inWindow()[3].Estimated = true }, isCaution, "the client's estimate"},
		{"token_counts", "more than were allowed", func(e *evidence) { e.inWindow()[3].OutputTokens = e.inWindow()[3].OutputRequested + 1 }, isInvalid, "1 of 100 answers is impossible: more tokens"},
		{"token_counts", "none although text came", func(e *evidence) { e.inWindow()[3].OutputTokens = 0 }, isInvalid, "1 of 100 answers"},
		{"token_counts", "two thousand million", func(e *evidence) {
			e.inWindow()[3].Impossible = &record.Usage{Output: new(2_000_000_000)}
		}, isInvalid, `usage of 1 of 100 answers is impossible, such as {output_tokens:2000000000}`},
		{"token_counts", "fewer than none", func(e *evidence) { e.inWindow()[3].Impossible = &record.Usage{Prompt: new(12), Output: new(-1)} }, isInvalid, "1 of 100 answers is impossible, such as {"},
		{"token_counts", "fewer prompt tokens than none", func(e *evidence) {
			e.inWindow()[3].PromptTokens, e.inWindow()[3].Impossible = nil, &record.Usage{Prompt: new(-5), Cached: new(1)}
		}, isInvalid, "1 of 100 answers is impossible, such as {"},
		{"token_counts", "no number", func(e *evidence) { e.inWindow()[3].Impossible = &record.Usage{} }, isInvalid, "1 of 100 answers is impossible, such as {"},
		{"token_counts", "more cached than there is", func(e *evidence) {
			e.inWindow()[3].Impossible = &record.Usage{Prompt: new(16), Cached: new(999_999)}
		}, isInvalid, "1 of 100 answers is impossible, such as {"},
		{"buffered", "answers all at once", each(func(r *record.Record) {
			r.Gaps = record.Pack(0, 0, 0)
			r.Last = r.First
		}), isCaution, "100 of 100 answers with 4 or more events arrived all at once"},
		{"buffered", "some answers of four tokens", func(e *evidence) {
			for _, r := range e.inWindow()[:7] {
				r.Gaps, r.Last = record.Pack(0, 0, 0), r.First
			}
		}, isCaution, "7 of 7 answers with 4 or more events arrived all at once"},
		{"buffered", "three at a time", each(func(r *record.Record) {
			r.Gaps = record.Pack(0, 0, 4000, 0, 0)
			r.Last = record.At(r.First.Us() + 4000)
		}), isCaution, "400 of 500 events arrived together"},
		{"buffered", "two at a time", each(func(r *record.Record) {
			r.Gaps = record.Pack(0, 2000, 0, 2000)
			r.Last = record.At(r.First.Us() + 4000)
		}), passed, ""},
		{"buffered", "not streamed", each(func(r *record.Record) { r.First, r.Gaps = record.Micros{}, record.Packed{} }), impossible, ""},
		{"sessions_cut", "the row ended in one of ten", sessions(10, 9, 1), passed, ""},
		{"sessions_cut", "in two of ten", sessions(10, 8, 2), isCaution, "the row ended in 2 of 10 sessions: session times are of the shorter ones"},
		{"sessions_cut", "two of ten failed", sessions(10, 8, 0), passed, ""},
		{"sessions_cut", "none began in the window", sessions(0, 0, 0), impossible, ""},
		{"token_counts", "nothing completed", fail(100, "connect"), impossible, ""},
		{"tokens_per_event", "105 in 100", func(e *evidence) { // of 200 events
			for _, r := range e.inWindow()[:10] {
				r.OutputTokens = 3
			}
		}, passed, ""},
		{"tokens_per_event", "more", each(func(r *record.Record) { r.OutputTokens = 3 }), isNote, "an event has 1.5 tokens"},
		{"tokens_per_event", "fewer", each(func(r *record.Record) { r.OutputTokens = 1 }), isNote, "an event has 0.5 tokens"},
		{"tokens_per_event", "not streamed", func(e *evidence) { e.Spec.Stream = new(false) }, impossible, ""},
		{"prefix_cache", "cold, a block for each", overhead(0, 16), passed, ""},
		{"prefix_cache", "cold, more", overhead(0, 17), isInvalid, "the row is cold, but 1700 prompt tokens"},
		{"prefix_cache", "cold, the template is the same", overhead(5, 21), passed, ""},
		{"prefix_cache", "warm", prefix(workload.Warm, 87), passed, ""},
		{"prefix_cache", "warm and not resident", prefix(workload.Warm, 86), isInvalid, "only 8600 of 9600 prefix tokens"},
		{"prefix_cache", "shared", prefix(workload.Shared, 0), impossible, ""},
		{"prefix_cache", "shared, as much as can be", then(prefix(workload.Shared, 80), func(e *evidence) {
			e.Reuse = &record.Reuse{Requests: 100, PossibleTokens: 6400, CachedTokens: 8000}
		}), passed, ""},
		{"prefix_cache", "shared, more than that", then(prefix(workload.Shared, 80), func(e *evidence) {
			e.Reuse = &record.Reuse{Requests: 100, PossibleTokens: 6400, CachedTokens: 8001}
		}), isInvalid, "8001 prompt tokens were cached, but the row's own requests allow at most 6400"},
		{"prefix_cache", "stated cold", prefix(workload.Cold, 90), isInvalid, "the row is cold"},
		{"prefix_cache", "not told", each(func(r *record.Record) { r.CachedTokens = nil }), impossible, ""},
		{"prefix_cache", "warm, and the server is silent", then(prefix(workload.Warm, 96), each(func(r *record.Record) { r.CachedTokens = nil })), silent, "neither usage nor counters"},
		{"prefix_cache", "warm, and nothing completed", then(prefix(workload.Warm, 96), fail(100, "status")), impossible, ""},
		{"output_length", "a hundredth fewer", each(func(r *record.Record) { r.OutputRequested, r.OutputTokens = 1000, 990 }), passed, ""},
		{"output_length", "fewer than that", each(func(r *record.Record) { r.OutputRequested, r.OutputTokens = 1000, 989 }), isCaution, "requested 1,000 output tokens with ignore_eos, server counted 989"},
		{"output_length", "half of it", each(func(r *record.Record) { r.OutputRequested, r.OutputTokens = 1000, 500 }), isInvalid, "server counted 500"},
		{"output_length", "it may stop", func(e *evidence) {
			e.Spec.Stop = "natural"
			each(func(r *record.Record) { r.OutputRequested, r.OutputTokens = 1000, 500 })(e)
		}, impossible, ""},
		{"output_length", "only a class that may stop does", func(e *evidence) {
			e.Spec.Mix = []workload.Class{{Name: "agent", Stop: "natural"}, {Name: "batch"}}
			each(func(r *record.Record) { r.Class, r.OutputRequested, r.OutputTokens = "agent", 1000, 500 })(e)
			e.records[50].Class, e.records[50].OutputTokens = "batch", 1000
		}, passed, ""},
		{"prefix_cache", "priming failed", then(prefix(workload.Warm, 96), func(e *evidence) { e.FailedPriming = 2 }), isInvalid, "2 requests that prime"},
		{"faster_than_bound", "at the bound", func(e *evidence) { e.Roofline.TPOT.FloorMs = 4.999 }, passed, ""},
		{"faster_than_bound", "below it", func(e *evidence) { e.Roofline.TPOT.FloorMs = 5 }, isInvalid, "tpot p50 5 ms is below the roofline floor of 5 ms"},
		{"faster_than_bound", "no bound", func(e *evidence) { e.Roofline = nil }, impossible, ""},
		{"faster_than_bound", "no tpot", func(e *evidence) { e.Spec.Stream = new(false) }, impossible, ""},
	} {
		e, code := flawless(), ""
		c.change(e)
		only(c.code, func(of string) { e.checked(); code = of })
		v := e.Checks
		failed := c.want == isInvalid || c.want == isCaution || c.want == isNote
		for name, codes := range map[string][]string{passed: v.Passed, "failed": v.Failed, impossible: v.NotPossible, silent: v.Unverified} {
			if has := slices.Contains(codes, code); has != (name == c.want || name == "failed" && failed) {
				t.Errorf("%s, %s: want %s; %s: %t", c.code, c.what, c.want, name, has)
			}
		}
		i := slices.IndexFunc(e.Findings, func(d record.Finding) bool { return d.Code == code })
		severity := record.Severity(c.want)
		if c.want == silent {
			severity = record.Caution
		}
		if (i >= 0) != (failed || c.want == silent) {
			t.Errorf("%s, %s: findings %v", c.code, c.what, e.Findings)
		} else if i >= 0 && (e.Findings[i].Severity != severity || !strings.Contains(e.Findings[i].Text, c.text) || e.Findings[i].Hint == "") {
			t.Errorf("%s, %s: %+v, want %s", c.code, c.what, e.Findings[i], c.text)
		}
		if all := e.checked().Checks.Total(); all != len(askedOf(e)) {
			t.Errorf("%d of %d checks are accounted for", all, len(askedOf(e)))
		}
	}
}

// askedOf are the codes of checks of what the row asks for.
func askedOf(e *evidence) map[string]bool {
	codes := map[string]bool{}
	for _, c := range checks {
		if c.check(e).outcome != notAsked {
			codes[c.code] = true
		}
	}
	return codes
}

// The gravest result of the checks of a code counts, and a code is in one list.
func TestOneCodeOfSeveralChecks(t *testing.T) {
	e := flawless()
	e.Client.CPUMean, e.Clock.UserStamps = new(2.0), 3 // a caution of one check, and one that is invalid
	for _, r := range e.inWindow() {
		r.Ready = r.Ready.Add(-9000)
		r.Arrival = r.Ready
	}
	e.checked()
	n := map[string]int{}
	for _, f := range e.Findings {
		n[f.Code]++
	}
	if n["client_bound"] != 2 || n["client_machine"] != 1 {
		t.Errorf("%+v", e.Findings)
	}
	all := slices.Concat(e.Checks.Passed, e.Checks.Failed, e.Checks.NotPossible, e.Checks.Unverified)
	if slices.Sort(all); len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("%q", all)
	}
	if !slices.Contains(e.Checks.Failed, "client_bound") || !slices.Contains(e.Checks.Failed, "client_machine") {
		t.Errorf("%+v", e.Checks)
	}
	causes := map[string]bool{}
	for _, x := range e.run() {
		if x.Metric != "e2e" {
			continue
		}
		if causes[x.Cause] = true; x.Code != "client_bound" || x.Direction != record.Inflated {
			t.Errorf("%+v", x)
		}
	}
	if len(causes) != 2 {
		t.Errorf("%v", causes)
	}
}

func TestFlawlessRowHasNoFinding(t *testing.T) {
	e := flawless().checked()
	if !e.Valid() || len(e.Findings) > 0 || !slices.Equal(e.Checks.NotPossible, []string{}) {
		t.Errorf("%+v %+v", e.Findings, e.Checks)
	}
}

// A finding tells the grace period that was in force.
func TestUnfinishedTellsTheGrace(t *testing.T) {
	e := flawless()
	e.Spec.Grace = workload.Span(1500 * time.Millisecond)
	e.inWindow()[0].Outcome = "unfinished"
	e.checked()
	if i := slices.IndexFunc(e.Findings, func(d record.Finding) bool { return strings.Contains(d.Text, "had not ended 1.5 s after") }); i < 0 {
		t.Errorf("%+v", e.Findings)
	}
}

// failedRequest is a request of the window that ended with a failing outcome 10 µs after it was sent.
func failedRequest(at int64, outcome string) *record.Record {
	sent := record.At(at)
	return &record.Record{Phase: record.PhaseWindow, Arrival: sent, Ready: sent, Sent: sent, End: record.At(at + 10),
		PromptRequested: 10, Outcome: outcome, Error: outcome + " it was"}
}
