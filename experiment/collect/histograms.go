package collect

import (
	"bench/experiment/telemetry"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// engineHistograms are the names of the latency histograms, in s, with underscores for colons: vLLM (V0, and V1:
// vllm/v1/metrics/loggers.py), SGLang (srt/metrics/collector.py), TGI (router/src/server.rs) and TensorRT-LLM
// (metrics/collector.py).
var engineHistograms = [][]string{ // in the order of telemetry.TimeReading.Fields
	{"vllm_time_to_first_token_seconds", "sglang_time_to_first_token_seconds", "trtllm_time_to_first_token_seconds"},
	{"vllm_request_queue_time_seconds", "sglang_queue_time_seconds", "tgi_request_queue_duration",
		"trtllm_request_queue_time_seconds"},
	{"vllm_request_prefill_time_seconds", "trtllm_request_prefill_time_seconds"},
	{"vllm_request_decode_time_seconds", "trtllm_request_decode_time_seconds"},
	{"vllm_e2e_request_latency_seconds", "sglang_e2e_request_latency_seconds", "tgi_request_duration",
		"trtllm_e2e_request_latency_seconds"},
}

type histogramPart struct {
	engine string
	index  int    // of engineHistograms
	suffix string // _bucket, _count or _sum
}

var histogramSeries = func() map[string]histogramPart {
	out := map[string]histogramPart{}
	for i, names := range engineHistograms {
		for _, name := range names {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				out[name+suffix] = histogramPart{engineOf(name), i, suffix}
			}
		}
	}
	return out
}()

// readTimes reads the latency histograms of an engine. Those of several engines behind one page are summed.
func readTimes(p metricsPage, engine string) (t telemetry.TimeReading) {
	sums := make([]histogramSum, len(engineHistograms))
	for _, s := range p.series {
		if part, ok := histogramSeries[s.name]; ok && part.engine == engine && s.value >= 0 && firstRank(s) {
			sums[part.index].add(part.suffix, s)
		}
	}
	for i, field := range t.Fields() {
		*field = sums[i].histogram()
	}
	return t
}

type histogramSum struct {
	count, sum       float64
	hasCount, hasSum bool
	upTo             map[float64]float64 // values up to an edge, without +Inf
}

func (h *histogramSum) add(suffix string, s series) {
	switch suffix {
	case "_count":
		h.count, h.hasCount = h.count+s.value, true
	case "_sum":
		h.sum, h.hasSum = h.sum+s.value, true
	case "_bucket":
		edge, err := strconv.ParseFloat(strings.TrimSpace(s.labels["le"]), 64)
		if err != nil || math.IsNaN(edge) || math.IsInf(edge, 0) {
			return
		}
		if h.upTo == nil {
			h.upTo = map[float64]float64{}
		}
		h.upTo[edge] += s.value
	}
}

// histogram is nil without a count and a sum.
func (h *histogramSum) histogram() *telemetry.Histogram {
	if !h.hasCount || !h.hasSum {
		return nil
	}
	out := &telemetry.Histogram{Count: h.count, Sum: h.sum}
	for edge, n := range h.upTo {
		out.Buckets = append(out.Buckets, [2]float64{edge, n})
	}
	slices.SortFunc(out.Buckets, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	return out
}
