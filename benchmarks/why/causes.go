package main

import (
	"math"
	"time"

	"bench/report/why"
)

// cause is a change of a world by a size, which is beside what the world was before any change; and the names of it in
// bench why: several are one together.
type cause struct {
	name  string
	named []string
	plant func(w, was *world, size float64)
}

var causes = []cause{
	{"step base", []string{why.StepTime}, func(w, was *world, size float64) {
		w.server.StepBase = times(w.server.StepBase, 1+size)
	}},
	{"step per sequence", []string{why.StepTime}, func(w, was *world, size float64) {
		batch, step := was.batch()
		w.server.StepPerSeq += seconds(size * step / batch)
	}},
	{"step per context token", []string{why.StepTime}, func(w, was *world, size float64) {
		batch, step := was.batch()
		w.server.StepPerContextToken += seconds(size * step / batch / was.input.mean())
	}},
	{"prefill token", []string{why.Prefill}, func(w, was *world, size float64) {
		w.server.StepPerPrefillToken = times(w.server.StepPerPrefillToken, 1+2*size)
	}},
	{"fewer sequences", []string{why.Batching}, func(w, was *world, size float64) {
		batch, _ := was.batch()
		w.server.MaxNumSeqs = min(w.server.MaxNumSeqs, 1+int(batch*(1.7-size)))
	}},
	{"fewer tokens of a step", []string{why.Batching}, func(w, was *world, size float64) {
		w.server.MaxNumBatchedTokens = max(2*w.server.MaxNumSeqs, 128, 1<<int(math.Log2(was.input.mean()*(1-size))))
	}},
	{"prefix cache off", []string{why.CacheHits}, func(w, _ *world, _ float64) { w.server.NoPrefixCaching = true }},
	{"longer prompts", []string{why.Prompts}, func(w, was *world, size float64) { w.input.median *= 1 + size }},
	{"longer responses", []string{why.Outputs}, func(w, was *world, size float64) { w.output.median *= 1 + size }},
	{"higher rate", []string{why.Arrivals}, func(w, was *world, size float64) {
		for i := range w.rates {
			w.rates[i] *= 1 + size
		}
	}},
	{"burstier arrivals", []string{why.Arrivals}, func(w, was *world, size float64) { w.shape = 0.9 - size }},
	{"front end", []string{why.FrontEnd}, func(w, was *world, size float64) { w.frontEnd += was.share(size) }},
	{"client lag", []string{why.Client}, func(w, was *world, size float64) { w.lag += was.share(size) }},
	{"CPU quota", []string{why.StepTime, why.Prefill}, func(w, was *world, size float64) { w.quota = 1 / (1 + size) }},
}

// share is a part of about the time to a first token.
func (w *world) share(size float64) time.Duration {
	_, step := w.batch()
	prompt := w.input.mean()
	if !w.server.NoPrefixCaching {
		prompt -= float64(w.prefix)
	}
	return seconds(size * (1.5*step + prompt*w.server.StepPerPrefillToken.Seconds()))
}

func times(d time.Duration, factor float64) time.Duration { return time.Duration(float64(d) * factor) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
