package diagnosis

import (
	"fmt"
	"math"

	"bench/experiment/series"
	"bench/experiment/verdict"
)

// Lines of the rules. They were chosen on one half of simulated servers with known causes and are reported on the other: docs/diagnosis.md.
const (
	capLine       = 0.2  // share of the readings at the power cap, of a slow point
	preemptedLine = 0.02 // preemptions for each completed request
	fullLine      = 0.9  // share of the KV cache that counts as full
	missedLine    = 0.8  // share of what a cache could find that it should
	worthFinding  = 0.05 // share of the prompt tokens, below which nobody minds
	gainedLine    = 0.5  // TTFT that a warm prefix saves, over its share of the prompt
	tailLine      = 3.0  // TTFT p99 over p50, beyond what the prompts' own lengths make
	lateLine      = 2.0  // TTFT p50 over the band of computing the prompt
	laterLine     = 5.0  // TTFT p50 over that of the series' lowest load
	waitShare     = 0.5  // of TTFT's median that a request waits in the server's queue
	standingLine  = 0.25 // requests waiting for each that runs, from which on a queue does not come from users in step
	waitingLine   = 0.1  // requests waiting, mean
	capWaitLine   = 0.5  // share of TTFT's p99 that requests wait under the cap
	prefillLine   = 0.5  // share of the time in which the server computes prompts
)

// rules in their order. One that masks leaves nothing to be said of the point beside it.
var rules = []struct {
	look  func(v *pointMetrics, all []pointMetrics) *Diagnosis
	masks bool
}{
	{lookClient, true},
	{lookPower, true},
	{lookDrift, false},
	{lookPool, true},
	{lookCache, false},
	{lookQueue, false},
	{lookSlow, false},
	{lookPrompts, false},
	{lookBatching, false},
	{lookBeside, false},
	{lookMemory, false},
}

// Diagnose reads the points of a run, each by itself and beside the others. Every point has a diagnosis; of several the first is
// the one to act on.
func Diagnose(series []series.Series) []Diagnosis {
	out := []Diagnosis{}
	all := pointMetricsOf(series)
	for i := range all {
		out = append(out, all[i].diagnose(all)...)
	}
	return out
}

func (v *pointMetrics) diagnose(all []pointMetrics) []Diagnosis {
	var found []Diagnosis
	add := func(d *Diagnosis) {
		d.Series, d.Point, d.Name = v.series, v.point, v.name
		if d.Missing == nil {
			d.Missing = []string{}
		}
		found = append(found, *d)
	}
	for _, rule := range rules {
		if d := rule.look(v, all); d != nil {
			add(d)
			if rule.masks {
				return found
			}
		}
	}
	if len(found) == 0 {
		add(v.nothing())
	}
	return found
}

func fact(figure string, x float64, unit string) Evidence {
	return Evidence{Figure: figure, Value: x, Unit: unit}
}

func atLeast(figure string, x float64, unit string, line float64) Evidence {
	return Evidence{figure, x, unit, "≥", line}
}

func below(figure string, x float64, unit string, line float64) Evidence {
	return Evidence{figure, x, unit, "<", line}
}

// known drops the evidence that nobody told, and what is over nothing: a result can't hold it.
func reported(all ...Evidence) []Evidence {
	out := []Evidence{}
	for _, e := range all {
		if known(e.Value) && !math.IsInf(e.Value, 0) {
			out = append(out, e)
		}
	}
	return out
}

// lookClient: what the client could not send or read in time says nothing of the server.
func lookClient(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !v.hasFinding("client_bound", "client_cpu") {
		return nil
	}
	return &Diagnosis{
		Symptom: "the client itself was late, or its machine was short of cores", Regime: ClientBound,
		Evidence: reported(fact("lag p99", v.lag, "ms"), fact("the client's share of its cores", v.cpu, "share"), fact("cores' time that went to other virtual machines", v.steal, "share")),
		Confirm:  "the same row from a larger client machine; or bench selftest --save, which says up to which load this one is right",
		Response: "measure again from a larger or quieter machine, or with less load; read nothing else into this point",
	}
}

// lookPower: heat and supply always count; the power cap only where the point is slow, for many GPUs run at it by design.
func lookPower(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Symptom: "GPU clocks were held down while the row ran", Regime: PowerLimited,
		Confirm:  "the same row with clocks locked below the limit (nvidia-smi -lgc): the drift goes, the speed stays",
		Response: "look at cooling, power supply and power limit (nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER)",
	}
	shown := reported(fact("temperature, highest", v.heat, "°C"), fact("power", v.watts, "W"), fact("TPOT p50", v.tpot, "ms"))
	switch {
	case v.thermal > verdict.Slowed:
		d.Evidence = append(reported(atLeast("readings with clocks held down by heat or supply", v.thermal, "share", verdict.Slowed)), shown...)
	case v.capped >= capLine && v.slow():
		d.Evidence = append(reported(atLeast("readings at the power cap", v.capped, "share", capLine), v.overBand()), shown...)
		d.Symptom = "decode is slow, and the GPU is at its power cap"
	default:
		return nil
	}
	return d
}

// lookDrift: tokens that slow down while the load stays are something that the server does not tell by itself.
func lookDrift(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !verdict.Moves(v.slowing) || v.slowing.Change < 0 || verdict.Moves(v.queue) {
		return nil
	}
	d := &Diagnosis{
		Symptom: "tokens slow down through the window, and the load does not rise", Regime: UnknownRegime,
		Evidence: reported(atLeast("TPOT's rise through the window", v.slowing.Change, "share", verdict.MovedBy), fact("TPOT p50", v.tpot, "ms")),
		Missing:  []string{v.unseen()},
		Confirm:  "the same row for twice as long, with clocks, temperature and throttle reasons recorded",
		Response: v.record() + ", and look for what else began on the server in that time",
	}
	if known(v.thermal) {
		d.Missing = []string{"what changed on the server: clocks were not held down by heat or supply, so its log and its other work"}
	}
	return d
}

// lookPool: the KV cache is full, so that requests lose their blocks or wait for some.
func lookPool(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Symptom: "requests lose their place in the batch, and are computed again", Regime: KVPressure,
		Confirm:  "half the concurrency, or twice the KV cache: preemptions end, and TTFT's tail falls",
		Response: "give the KV cache more room (--gpu-memory-utilization, an 8-bit KV cache), or admit fewer at once (--max-num-seqs)",
	}
	shown := reported(fact("KV cache in use, mean", v.kv, "share"), fact("requests waiting, mean", v.waiting, ""), fact("TTFT p99", v.ttftP99, "ms"))
	switch full := known(v.kvMax); {
	case v.preempted >= preemptedLine && (!full || v.kvMax >= fullLine):
		d.Evidence = reported(atLeast("preemptions for each completed request", v.preempted, "", preemptedLine), atLeast("KV cache in use, highest", v.kvMax, "share", fullLine))
	case v.kv >= fullLine && v.waiting >= waitingLine:
		d.Symptom = "requests wait, and the KV cache is full"
		d.Evidence = reported(atLeast("KV cache in use, mean", v.kv, "share", fullLine), atLeast("requests waiting, mean", v.waiting, "", waitingLine))
		shown = shown[1:]
	default:
		return nil
	}
	d.Evidence = append(d.Evidence, shown...)
	return d
}

// lookCache: what the plan lets a cache find was not found.
func lookCache(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Symptom: "prompts share what the server computes again each time", Regime: CacheMiss,
		Confirm:  "the same row with one prefix group: if it is found then, the others were evicted; if not, caching is off or prefixes differ",
		Response: "look whether prefix caching is on; else fewer groups, a larger KV cache, or requests of a group sent to the same replica",
	}
	switch {
	case v.possible >= worthFinding && v.cached < missedLine*v.possible:
		d.Evidence = reported(below("prompt tokens found in the cache", v.cached, "share", missedLine*v.possible), fact("prompt tokens that a cache could find", v.possible, "share"),
			fact("KV cache in use, highest", v.kvMax, "share"), fact("TTFT p50", v.ttft, "ms"))
		if v.cached > 0 {
			d.Symptom = "a part of the shared prefixes is computed again: evicted before it was used again"
		}
		return d
	case known(v.cached):
		return nil
	}
	cold := v.coldPair(all)
	if cold == nil {
		return nil
	}
	shared := float64(v.spec.WarmTokens("")) / v.input
	saved := 1 - v.ttft/cold.ttft
	if !(saved < gainedLine*shared) {
		return nil
	}
	d.Beside, d.Symptom = cold.name, "a warm prefix is hardly faster than a cold one"
	d.Evidence = reported(below("TTFT p50 that the warm prefix saves", saved, "share", gainedLine*shared), fact("its share of the prompt", shared, "share"), below("hit rate of the prefix cache", v.hitRate, "share", worthFinding))
	if !(v.hitRate < worthFinding) {
		d.Regime, d.Missing = UnknownRegime, []string{"how many prompt tokens were found in the cache: vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report"}
		d.Evidence = d.Evidence[:2]
		d.Response = "let the server tell its cached tokens, and run the pair again"
	}
	return d
}

// lookQueue: requests wait before anything is done for them.
func lookQueue(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Regime:   Queueing,
		Confirm:  "the same row at half the rate, or with twice the slots: TTFT's p99 falls to its p50 while TPOT stays",
		Response: "lower the rate, or raise the slots (--max-num-seqs) as far as TPOT's limit and the KV cache allow; else add a replica",
	}
	if v.capWait >= capWaitLine*v.ttftP99 {
		d.Symptom = "requests wait for a slot under the row's own cap"
		d.Evidence = reported(atLeast("wait under the cap p99", v.capWait, "ms", capWaitLine*v.ttftP99), fact("TTFT p99", v.ttftP99, "ms"))
		d.Response = "raise concurrency in the row: the cap is the client's, and the server may take more"
		return d
	}
	l := v.tooLate(all)
	if l == nil || v.prefillShare() >= prefillLine {
		return nil
	}
	d.Symptom, d.Evidence = l.symptom, l.evidence
	switch waits := v.waitMs(); {
	case l.median && waits >= waitShare*v.ttft && (!l.together || v.waiting >= standingLine*v.running):
		d.Evidence = append(d.Evidence, reported(atLeast("wait in the server's queue, mean by Little's law", waits, "ms", waitShare*v.ttft))...)
	case !l.median && v.waiting >= waitingLine:
		d.Evidence = append(d.Evidence, atLeast("requests waiting, mean", v.waiting, "", waitingLine))
	case !known(v.waiting):
		if l.together {
			return nil
		}
		d.Regime, d.Missing, d.Response = UnknownRegime, []string{missingServer}, "record the server's metrics ([telemetry] server), and run the row again"
		return d
	case l.together || v.slow(): // slow steps are slow for the first token, too
		return nil
	default:
		d.Evidence = append(d.Evidence, fact("requests waiting, mean", v.waiting, ""))
		d.Regime = UnknownRegime
		d.Missing = []string{"where the time goes before the first token: the server's queue does not explain it, so the path to it (a gateway, its tokenizer) and its log"}
		d.Response = "compare ttfe with the server's own time to first token, with and without what stands between"
		return d
	}
	d.Evidence = append(d.Evidence, reported(fact("requests waiting, most", v.waitingMax, ""), fact("requests running, mean", v.running, ""), fact("KV cache in use, highest", v.kvMax, "share"))...)
	return d
}

// waitMs is how long a request waits in the server's queue on average: as many wait as arrive in that time.
func (v *pointMetrics) waitMs() float64 { return 1e3 * v.waiting / v.requestsS }

// lateness is how the first token is late.
type lateness struct {
	symptom  string
	evidence []Evidence
	median   bool // at the median already
	together bool // no later than the prompts of the whole batch take one after the other, as where users come in step
}

// late is nil where the first token is not late.
func (v *pointMetrics) tooLate(all []pointMetrics) *lateness {
	line := tailLine
	if known(v.spread) {
		line *= math.Max(1, v.spread)
	}
	lonely := v.lowestLoad(all)
	switch tail := v.ttftP99 / v.ttft; {
	case verdict.Moves(v.queue) && v.queue.Change > 0 && v.spec.Rate > 0:
		return &lateness{symptom: fmt.Sprintf("the queue grows: requests in flight rise by %.0f %% through the window", 100*v.queue.Change),
			evidence: reported(atLeast("rise of the requests in flight", v.queue.Change, "share", verdict.MovedBy), fact("TTFT p50", v.ttft, "ms"))}
	case v.ttft >= lateLine*v.firstHigh:
		return &lateness{symptom: "the first token comes long after its prompt could have been computed", median: true, together: v.ttft <= v.batch*v.firstHigh+2*v.tpot,
			evidence: reported(atLeast("TTFT p50", v.ttft, "ms", lateLine*v.firstHigh), fact("computing the prompt, expected", v.first, "ms"))}
	case !known(v.first) && lonely != nil && v.ttft >= max(laterLine, v.p.LoadValue/lonely.p.LoadValue)*lonely.ttft:
		return &lateness{symptom: "the first token takes much longer than at the lowest load", median: true,
			evidence: reported(atLeast("TTFT p50 over that of "+lonely.p.Load, v.ttft/lonely.ttft, "", max(laterLine, v.p.LoadValue/lonely.p.LoadValue)), fact("TTFT p50", v.ttft, "ms"))}
	case tail >= line:
		return &lateness{symptom: "TTFT is fine at the median and bad at p99",
			evidence: reported(atLeast("TTFT p99 over p50", tail, "", line), fact("TTFT p50", v.ttft, "ms"), fact("TTFT p99", v.ttftP99, "ms"))}
	}
	return nil
}

// prefillShare is the share of the time in which the server computes prompts, by the arithmetic; NaN: there is no bound. Reading the
// weights is not in it: a step that decodes reads them anyway, so that short prompts in a busy batch cost little.
func (v *pointMetrics) prefillShare() float64 { return v.requestsS * v.computing / 1e3 }
