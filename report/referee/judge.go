package referee

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Tolerances: a latency may be off by the larger of leastMs and share, the median of gaps by share, a number of tokens
// by tokenShare. What tools define in different ways, as over the whole run or from the first request on, may be off by
// looseShare.
const (
	leastMs    = 2.0
	share      = 0.05
	tokenShare = 0.01
	looseShare = 0.1
	mostLoose  = 0.3
)

type judge struct {
	load   Load
	truth  truth
	frozen []mock.Span
	seen   map[string]bool // prompts of earlier rounds; nil: there was none
	tool   *record.Summary
	host   delay
	lines  []Line
}

// add decides a line. got may be NaN: not reported. A machine that is late makes an error unclear.
func (j *judge) add(l Line, expected, got, delay float64) Line {
	l.Expected, l.Got = &expected, &got
	switch off := math.Abs(got - expected); {
	case math.IsInf(got, 0):
		l.Verdict, l.Why, l.Got = Wrong, "not a number", nil
	case math.IsNaN(off), math.IsInf(off, 0):
		if l.Verdict, l.Why, l.Got = NotShown, "", nil; math.IsNaN(expected) || math.IsInf(expected, 0) {
			l.Expected = nil
		}
	case off <= l.Tolerance:
		l.Verdict, l.Why = Right, ""
	case off <= l.Tolerance+delay:
		l.Verdict, l.Why = Unclear, "timers here are off by as much"
	default:
		l.Verdict = Wrong
	}
	j.lines = append(j.lines, l)
	return l
}

func (j *judge) latency(name string, of func(*request) []span, tool *stats.Summary, tolerance float64,
	statistics ...string) {
	low, high := j.truth.limits(of)
	if len(low) == 0 {
		return // no request ended well
	}
	tool = cmp.Or(tool, &stats.Summary{Mean: math.NaN(), P50: math.NaN(), P99: math.NaN()})
	for _, which := range statistics {
		least, expected, got, delay := stat.Mean(low, nil), stat.Mean(high, nil), tool.Mean, j.host.p50
		switch which {
		case "p50":
			least, expected, got = stats.Quantile(low, 0.5), stats.Quantile(high, 0.5), tool.P50
		case "p99":
			least, expected, got = stats.Quantile(low, 0.99), stats.Quantile(high, 0.99), tool.P99
			delay = j.host.p99
		}
		if got < expected { // the server may have been late to stamp the end of the write
			expected = max(least, got)
		}
		tolerance := max(leastMs, tolerance*expected)
		switch {
		case name == "TPOT":
			tolerance, delay = share*expected, delay/(output-1)
		case name == "ITL" && which == "p50":
			tolerance = share * expected
		case name != "ITL" && got < expected: // a late client sees nothing sooner
			delay = 0
		}
		j.add(Line{Question: name + " " + which, Unit: "ms", Tolerance: tolerance}, expected, got, delay)
	}
}

// ttft is from the send: a server sees no intended arrivals.
func (j *judge) ttft(statistics ...string) {
	j.latency("TTFT", ttftOf, cmp.Or(j.tool.TTFTFromSend, j.tool.TTFT), share, statistics...)
}

func (j *judge) role() {
	if api := j.truth[0].api; api == "completions" {
		j.lines = append(j.lines, Line{Question: "TTFT p50", Unit: "ms", Verdict: NotAsked,
			Why: api + " has no role event"})
		return
	}
	j.ttft("p50")
}

func (j *judge) plain() {
	j.ttft("p50", "p99")
	j.latency("ITL", gapsOf, j.tool.ITL, share, "p50", "p99")
	j.latency("TPOT", tpotOf, j.tool.TPOT, share, "p50")
	j.latency("E2E", e2eOf, cmp.Or(j.tool.E2EFromSend, j.tool.E2E), share, "p50", "p99")
	tokens := j.outputTokens()
	prompt := j.truth.sum(promptOf)
	why := "" // of other requests
	if q := &j.tool.Requests; q.Completed+q.Failed == len(j.truth) {
		why = "not as the server counts: another tokenizer, or no chat template?"
	}
	j.add(Line{Question: "prompt tokens", Unit: "tokens", Tolerance: looseShare * prompt, Why: why}, prompt,
		known(float64(j.tool.Tokens.Prompt)), 0)
	j.requests()
	begin, end := j.truth[0].at, j.truth[0].last.To
	for i := range j.truth {
		end = max(end, j.truth[i].last.To)
	}
	rate, flying := tokens/(end-begin).Seconds(), j.truth.inFlight(begin, end)
	loose := looseShare + float64(end-j.truth[len(j.truth)-1].at)/float64(end-begin)
	if loose < mostLoose { // else the load is too short for a rate
		j.add(Line{Question: "output tok/s", Unit: "tokens/s", Tolerance: loose * rate}, rate,
			known(j.tool.Throughput.OutputTokensPerS), 0)
		j.add(Line{Question: "requests in flight", Unit: "requests", Tolerance: max(0.5, loose*flying)}, flying,
			known(j.tool.Concurrency.Mean), 0)
	}
	if asked := float64(j.load.Concurrency); asked > 0 && len(j.truth) > 2*concurrency { // without its start and end
		j.add(Line{Question: "concurrency kept", Unit: "requests", Tolerance: looseShare * asked}, asked,
			j.truth.inFlight(j.truth[concurrency].at, j.truth[len(j.truth)-1].at), asked*j.host.p50/ms(ttft+output*itl))
	}
	j.arrivals()
}

// known is NaN for 0, which stands for a figure that a file lacks.
func known(x float64) float64 {
	if x == 0 {
		return math.NaN()
	}
	return x
}

// outputTokens are those of the requests that ended well.
func (j *judge) outputTokens() float64 {
	tokens := j.truth.sum(outputOf)
	if tokens > 0 {
		j.add(Line{Question: "output tokens", Unit: "tokens", Tolerance: tokenShare * tokens}, tokens,
			float64(j.tool.Tokens.Output), 0)
	}
	return tokens
}

// accepted are answers that a tool should not take for failures.
func (j *judge) accepted(why string) {
	j.add(Line{Question: "answers accepted", Unit: "requests", Why: why}, float64(len(j.truth)),
		float64(j.tool.Requests.Completed), 0)
}

func (j *judge) requests() {
	if q := &j.tool.Requests; j.load.Requests > 0 {
		j.add(Line{Question: "requests in the result", Unit: "requests"}, float64(j.load.Requests),
			float64(q.Completed+q.Failed), 0)
	}
}

func (j *judge) empty() {
	j.accepted("an event without data, and one without text, before each token")
	j.ttft("p50")
	j.latency("ITL", gapsOf, j.tool.ITL, share, "p50")
	j.outputTokens()
}

func (j *judge) tokens() {
	j.accepted("")
	j.outputTokens()
	j.latency("TPOT", tpotOf, j.tool.TPOT, share, "p50")
}

func (j *judge) failures() {
	kinds := map[int]int{} // by the tokens before the failure, which differ
	all := 0
	for i := range j.truth {
		if j.truth[i].failed {
			kinds[j.truth[i].output]++
			all++
		}
	}
	j.add(Line{Question: "failures counted", Unit: "requests",
		Why: fmt.Sprintf("%d of %d counted; planted: %s inside a 200 stream, %s, %s", j.tool.Requests.Failed, all,
			unit.Plural(kinds[beforeError], "error"), unit.Plural(kinds[beforeCut], "cut stream"),
			unit.Plural(kinds[0], "HTML page"))}, float64(all), float64(j.tool.Requests.Failed), 0)
	j.requests()
}

func (j *judge) cache() {
	j.add(Line{Question: "prompt tokens found in the cache", Unit: "share", Tolerance: 0.02,
		Why: "prompts repeat within the run"}, 0, j.truth.sum(cachedOf)/max(1, j.truth.sum(promptOf)), 0)
	if j.seen == nil {
		return
	}
	again := 0
	for i := range j.truth {
		if j.seen[j.truth[i].hash] {
			again++
		}
	}
	j.add(Line{Question: "prompts of earlier runs", Unit: "share", Tolerance: 0.02,
		Why: "a second run finds a warm cache"}, 0, float64(again)/float64(len(j.truth)), 0)
}

// tick is how late this process woke up at a time.
type tick struct {
	at     int64 // ns since the Unix epoch
	lateMs float64
}

func watch(done <-chan struct{}) (out []tick) {
	const each = 5 * time.Millisecond
	for {
		due := time.Now().Add(each)
		select {
		case <-done:
			return out
		case <-time.After(each):
			out = append(out, tick{due.UnixNano(), ms(time.Since(due))})
		}
	}
}

// delay is how late this process woke up, in ms.
type delay struct{ p50, p99 float64 }

// delayOf is of the ticks while the server had requests.
func delayOf(ticks []tick, served mock.Truth) delay {
	late, from, to := []float64{0}, int64(math.MaxInt64), int64(0)
	for _, r := range served.Records {
		from, to = min(from, r.ArrivalUnixNS), max(to, r.ArrivalUnixNS)
	}
	for _, t := range ticks {
		if t.at >= from && t.at <= to+int64(ttft+output*itl) {
			late = append(late, t.lateMs)
		}
	}
	slices.Sort(late)
	return delay{stats.Quantile(late, 0.5), stats.Quantile(late, 0.99)}
}
