package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
)

const farOff = 0.1

// otherLength compares mean lengths of requests that have them. A latency follows a length at most by its square, as
// attention does; a queue near its limit by more.
func otherLength(e *evidence, kind, hint string, of func(*record.Record) (requested, counted int, ok bool)) result {
	var requested, counted, n float64
	for r := range record.Completed(e.records) {
		if asked, got, ok := of(r); ok {
			requested, counted, n = requested+float64(asked), counted+float64(got), n+1
		}
	}
	if n == 0 {
		return noData
	}
	requested, counted = requested/n, counted/n
	off := math.Abs(counted - requested)
	if off <= tolerated*requested {
		return passed()
	}
	text := fmt.Sprintf("requested %s %s, server counted %s (mean)", unit.Brief(requested, 4), kind,
		unit.Brief(counted, 4))
	if off > farOff*requested {
		return invalid(hint, "%s", text)
	}
	way, ratio := record.Inflated, counted/requested
	if ratio < 1 {
		way, ratio = record.Lowered, 1/ratio
	}
	return caution(hint, "%s", text).touching(byFactor(way, ratio*ratio, firstToken, lastToken, betweenIt))
}

func checkPromptLength(e *evidence) result {
	return otherLength(e, "prompt tokens", "compare rows by the counted tokens, not by the requested ones",
		func(r *record.Record) (requested, counted int, ok bool) {
			if r.PromptTokens == nil || r.PromptRequested <= 0 { // a real prompt is as long as it is
				return 0, 0, false
			}
			return r.PromptRequested, *r.PromptTokens, true
		})
}

func checkOutputLength(e *evidence) result {
	ignores := map[string]bool{} // by class
	return otherLength(e, "output tokens with ignore_eos",
		`compare rows by the counted tokens; or use natural EOS: stop = "natural"`,
		func(r *record.Record) (requested, counted int, ok bool) {
			if _, known := ignores[r.Class]; !known {
				ignores[r.Class] = e.Spec.ClassIgnoresEOS(r.Class)
			}
			return r.OutputRequested, r.OutputTokens, ignores[r.Class]
		})
}

func checkTokenCounts(e *evidence) result {
	var such *record.Usage
	refused, n := e.completed(func(r *record.Record) bool {
		such = cmp.Or(such, r.Impossible)
		return r.Impossible != nil
	})
	impossible, _ := e.completed(func(r *record.Record) bool {
		return r.OutputTokens > r.OutputRequested || r.OutputTokens == 0 && !r.First.IsZero()
	})
	switch {
	case n == 0:
		return noData
	case refused > 0:
		text, _ := json.Marshal(such) // of numbers
		return invalid("report it to the maker of the server or the gateway; figures use the client's own token counts instead",
			"usage of %d of %d answers is impossible, such as %s", refused, n,
			strings.ReplaceAll(string(text), `"`, ""))
	case impossible > 0:
		return invalid("ignore figures per token: the server's usage is wrong",
			"usage of %d of %d answers is impossible: more tokens than requested, or none despite text", impossible, n)
	}
	if e.Summary.Tokens.Estimated {
		return caution("enable usage on the server (stream_options.include_usage)",
			"the server did not report usage: token counts are the client's estimate").touching(estimatedTokens(e.records))
	}
	return passed()
}

// estimatedTokens: an event has one token or more, and an answer at most the requested ones.
func estimatedTokens(records []*record.Record) (out []Effect) {
	var decode, all, counted float64
	prompts := false
	for r := range record.Completed(records) {
		most := r.OutputTokens
		if prompts = prompts || r.PromptTokens == nil; r.Estimated {
			most = r.OutputRequested
		}
		all, counted = all+float64(most), counted+float64(r.OutputTokens)
		if r.Estimated && r.OutputTokens > 1 {
			decode = max(decode, float64(most-1)/float64(r.OutputTokens-1))
		}
	}
	if decode > 1 {
		out = append(out, byFactor(record.Inflated, decode, []string{"tpot"})...)
	}
	if all > counted && counted > 0 {
		out = append(out, byFactor(record.Lowered, all/counted, []string{"output_tokens_per_s"})...)
	}
	if prompts {
		out = append(out, unbounded(record.Unknown, []string{"prompt_tokens_per_s"})...)
	}
	return out
}

func checkTokensPerEvent(e *evidence) result {
	x := e.Summary.TokensPerEvent
	if e.Summary.ITL == nil || x == 0 {
		return noData
	}
	if x > 1.05 || x < 0.95 {
		return note("read tpot, which is per token", "an event has %s tokens (mean): itl is per event, not per token",
			unit.Brief(x, 3))
	}
	return passed()
}

func checkTokenTimes(e *evidence) result {
	if !e.Spec.Streams() || e.Summary.Requests.Completed == 0 {
		return noData
	}
	unknown, whole, n := 0, 0, 0
	for r := range record.Completed(e.records) {
		n++
		switch {
		case e.Observed && r.FirstEvent.IsZero(): // its caller asked for no stream
			whole++
		case TimeUnknown(r):
			unknown++
		}
	}
	if whole > 0 && unknown == 0 {
		return found(record.Note, "", "%d of %d answers were not streamed: no TTFT, no TPOT", whole, n)
	}
	severity := record.Caution
	switch {
	case unknown == 0:
		return passed()
	case float64(unknown) <= tolerated*float64(n):
		severity = record.Note
	}
	return found(severity,
		"use a server that lists token ids (vLLM: return_token_ids), or ask for answers of plain text",
		"%d of %d answers have no text in their first or last events: their ttft, tpot or e2e is not known", unknown,
		n).
		touching(onRequests(record.Unknown, unknown, []string{"ttft", "ttft_from_send", "tpot", "itl"}, lastToken))
}

// TimeUnknown: if all completed answers are such, the failed requests are a latency's only values, and decide
// nothing.
func TimeUnknown(r *record.Record) bool { return r.OK() && (r.First.IsZero() || r.Last.IsZero()) }

// checkBuffered finds events that arrived together: a proxy buffers them, or the engine sends several at once. What
// arrives at once after a stall is no buffering.
func checkBuffered(e *evidence) result {
	whole, n, zero, gaps := 0, 0, 0, 0
	for r := range record.Completed(e.records) {
		gaps += r.Gaps.Len()
		for us := range r.Gaps.All() {
			if us == 0 {
				zero++
			}
		}
		if r.Gaps.Len()+1 < fewestEvents || during(r, e.disturbed.spans) {
			continue
		}
		if n++; atOnce(r) {
			whole++
		}
	}
	bundled := 2*zero > gaps
	switch {
	case gaps == 0:
		return noData
	case whole > 0 && float64(whole) > tolerated*float64(n):
		effects := append(heldBack(e, atOnce), onRequests(record.Unknown, whole, []string{"itl"})...)
		if bundled && whole < n { // the others are bundled in part
			effects = append(heldBack(e, func(*record.Record) bool { return true }),
				unbounded(record.Inflated, []string{"tpot"})...)
			effects = append(effects, unbounded(record.Unknown, []string{"itl"})...)
		}
		return caution("disable buffering between server and client (nginx: proxy_buffering off), or use a less busy machine",
			"%d of %d answers with %d or more events arrived all at once: their tpot and itl can't be measured", whole, n,
			fewestEvents).touching(effects)
	case bundled:
		return caution("read tpot, not itl",
			"%d of %d events arrived together with the previous one: itl is not the time between tokens", zero, gaps).
			touching(unbounded(record.Unknown, []string{"itl"}))
	}
	return passed()
}

const fewestEvents = 4

// atOnce reports whether the tokens of an answer arrived less than 1 µs apart on average.
func atOnce(r *record.Record) bool {
	return r.Gaps.Len()+1 >= fewestEvents && !r.Last.IsZero() && r.Last.Us()-r.First.Us() < int64(r.Gaps.Len())
}

// heldBack is the effect on tpot: the first token was made after the request was sent, the last before it arrived.
func heldBack(e *evidence, which func(*record.Record) bool) []Effect {
	own := func(r *record.Record) float64 {
		tpot, ok := r.Latency("tpot", e.Spec.Streams())
		if !ok || !which(r) {
			return 0
		}
		return float64(r.Last.Us()-r.Sent.Us())/record.UsPerMs/float64(r.OutputTokens-1) - tpot
	}
	return exactly(record.Lowered, most(record.Completed(e.records), own), own, []string{"tpot"})
}

// checkSpeculation: the acceptance of synthetic prompts says nothing about real text.
func checkSpeculation(e *evidence) result {
	synthetic, n := e.completed(func(r *record.Record) bool { return r.PromptHash == "" })
	switch {
	case n == 0:
		return noData
	case e.Speculation == nil, float64(synthetic) <= tolerated*float64(n):
		return passed()
	}
	length := ""
	if x, _ := e.Speculation.Step(); x > 1 {
		length = " (" + unit.Brief(x, 3) + " tokens per step)"
	}
	return caution(`send real prompts: [row.prompts] file = "prompts.jsonl"; or compare with a server without speculation`,
		"the server speculates%s on %d synthetic prompts of %d: random tokens have another acceptance than real text, "+
			"so tpot and throughput hold for them alone",
		length, synthetic, n)
}
