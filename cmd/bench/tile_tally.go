package main

import (
	"cmp"
	"fmt"

	"bench/experiment/record"
)

// tally is what became of the requests of some time.
type tally struct {
	done, failed int
	ttft         []float64 // s, of those that are ok; of an interval only
	ttftSum      float64   // s
	ttfts        int
	decode       float64 // s from first to last token
	gaps         int
	prompt       int // tokens, of those whose cached tokens the server told
	cached, told int
}

// add takes a request that is over; one outside of the window that the row's end cut short is no error, and not counted.
func (t *tally) add(r *record.Record) {
	cut := r.Phase == record.PhaseCooldown || r.Phase == record.PhaseWarmup && r.Outcome == "unfinished"
	if !r.OK() && cut {
		return
	}
	t.done++
	if !r.OK() {
		t.failed++
		return
	}
	at, _ := r.At.Get()
	if first, ok := r.First.Get(); ok {
		last, _ := r.Last.Get()
		t.ttftSum += float64(first-at) / 1e6
		t.ttfts++
		t.ttft = append(t.ttft, float64(first-at)/1e6)
		t.decode += float64(last-first) / 1e6
		t.gaps += r.Gaps.Len()
	}
	if r.CachedTokens != nil {
		t.told++
		t.cached += *r.CachedTokens
		t.prompt += *cmp.Or(r.PromptTokens, &r.PromptAsked)
	}
}

// merge adds the requests of an interval to those of all.
func (t *tally) merge(o *tally) {
	t.done += o.done
	t.failed += o.failed
	t.ttftSum += o.ttftSum
	t.ttfts += o.ttfts
	t.decode += o.decode
	t.gaps += o.gaps
	t.prompt += o.prompt
	t.cached += o.cached
	t.told += o.told
}

func mean(sum float64, n, digits int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, sum/float64(n))
}

func rateOf(n, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", n/seconds)
}

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}
