package verdict

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// muchSlower is the smallest factor between a replica and the others that is a finding, at the near end of its interval.
const muchSlower = 1.1

// replicaNotes are about replicas that are not the same: by what they report, and by their latencies.
func (e *Measured) replicaNotes() (out []record.Finding) {
	for i, r := range e.Server.Replicas {
		if len(r.Differs) == 0 {
			continue
		}
		out = append(out, record.Finding{Code: "replicas_differ", Severity: record.Caution,
			Text: fmt.Sprintf("replica %d (%s) is not the same server as the first: %s", i, r.Endpoint, unit.ClipBytes(strings.Join(r.Differs, "; "), 300)),
			Hint: "give all replicas the same model, version and flags, or measure each alone: [target] endpoints"})
	}
	return append(out, e.slowReplica()...)
}

// slowMetrics are the latencies by which replicas are compared.
var slowMetrics = []string{"ttft", "tpot", "e2e"}

// slowReplica finds the replica whose median latency is most certainly above the others' together, in every
// latency that it has. Of all intervals, 95 % of rows have all right.
func (e *Measured) slowReplica() []record.Finding {
	if len(e.Replicas) < 2 {
		return nil
	}
	var slowest slowness
	looks := len(e.Replicas) * len(slowMetrics)
	for i, r := range e.Server.Replicas {
		own, there := e.Replicas[r.Endpoint]
		if !there {
			continue
		}
		rest := filter(e.Records, func(r *record.Record) bool { return r.Endpoint != nil && *r.Endpoint != i })
		others := record.Summarize(rest, e.Window, e.Spec.Streams(), nil, 0)
		for _, metric := range slowMetrics {
			if s, ok := compareMedians(own.Latency(metric), others.Latency(metric), looks); ok && s.within.Lo > slowest.within.Lo {
				s.replica, s.metric = i, metric
				slowest = s
			}
		}
	}
	if !(slowest.within.Lo > muchSlower) {
		return nil
	}
	r := e.Server.Replicas[slowest.replica]
	return []record.Finding{{Code: "replica_slow", Severity: record.Note,
		Text: fmt.Sprintf("replica %d (%s) is slower: its %s p50 is %s times the p50 of the others (interval %s to %s, 95 %% over all %d comparisons): figures of the row pool all replicas",
			slowest.replica, r.Endpoint, slowest.metric, unit.Brief(slowest.factor, 3), unit.Brief(slowest.within.Lo, 3), unit.Brief(slowest.within.Hi, 3), looks),
		Hint: "compare the replicas' hardware, flags and other load; or route fewer requests to it"}}
}

// slowness is how much slower a replica is than the others.
type slowness struct {
	replica int
	metric  string
	factor  float64 // between the medians
	within  stats.Interval
}

// compareMedians is not ok without an interval of both medians. Its interval is one of several (looks), all right
// together at 95 % (Bonferroni): wider by the ratio of normal quantiles, on the logarithms.
func compareMedians(own, others *stats.Summary, looks int) (s slowness, ok bool) {
	if own == nil || others == nil || own.P50 <= 0 || others.P50 <= 0 {
		return s, false
	}
	a, okA := logInterval(own.CI95["p50"])
	b, okB := logInterval(others.CI95["p50"])
	if !okA || !okB {
		return s, false
	}
	d := stats.Difference(math.Log(others.P50), math.Log(own.P50), b, a)
	centre := math.Log(own.P50 / others.P50)
	wider := distuv.UnitNormal.Quantile(1-0.025/float64(looks)) / distuv.UnitNormal.Quantile(0.975)
	return slowness{factor: math.Exp(centre),
		within: stats.Interval{Lo: math.Exp(centre - wider*(centre-d.Lo)), Hi: math.Exp(centre + wider*(d.Hi-centre))}}, true
}

func logInterval(iv stats.Interval) (stats.Interval, bool) {
	if !(iv.Lo > 0) || math.IsInf(iv.Hi, 0) {
		return iv, false
	}
	return stats.Interval{Lo: math.Log(iv.Lo), Hi: math.Log(iv.Hi)}, true
}
