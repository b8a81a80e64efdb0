// Package measured turns what a client measured of an answer into the record that is stored: times rounded to µs,
// absent if they did not happen. Sweeps and recordings of live traffic share it, so that their figures are the same.
package measured

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"bench/experiment/openai"
	"bench/experiment/record"
)

// Record is the record of a result alone. The caller adds what the result lacks: the request's number, its arrival
// and what it asked for. Error, Finish and ServerID are the server's texts.
func Record(r *openai.Result) *record.Record {
	rec := &record.Record{
		ServerID: r.ServerID, Sent: Offset(r.Sent), FirstEvent: Offset(r.FirstEvent), First: Offset(r.First),
		Last: Offset(r.Last),
		End:  Offset(r.End), OutputTokens: r.OutputTokens, Estimated: r.Estimated, ThinkTag: r.ThinkTag,
		Outcome: string(r.Outcome), Error: r.Error, Status: r.Status, Finish: r.Finish,
		Server: serverTimes(r.Server), Gaps: record.RoundGaps(r.First, r.Gaps),
		TokensPerEvent: record.Pack(r.TokensPerEvent...),
	}
	if r.HasUsage {
		rec.PromptTokens = new(r.PromptTokens)
	}
	if r.HasCached {
		rec.CachedTokens = new(r.CachedTokens)
	}
	if r.HasReasoning && r.ReasoningTokens > 0 {
		rec.FirstAnswer = Offset(r.FirstAnswer)
		rec.ReasoningTokens, rec.ReasoningEstimated = new(r.ReasoningTokens), r.ReasoningEstimated
	}
	if s := r.Speculation; s.Drafted > 0 {
		rec.DraftTokens, rec.AcceptedTokens = new(s.Drafted), new(s.Accepted)
		if s.Steps > 0 {
			rec.Drafts = new(s.Steps)
		}
	}
	if u := r.Impossible; u != nil {
		rec.Impossible = &record.Usage{Prompt: u.Prompt, Cached: u.Cached, Output: u.Output}
	}
	if r.Connect > 0 {
		rec.ConnectUs = new(record.RoundMicros(r.Connect))
	}
	return rec
}

func serverTimes(t openai.ServerTimes) *record.ServerTimes {
	if !t.HasQueue && !t.HasPrefill && !t.HasDecode {
		return nil
	}
	us := func(d time.Duration, known bool) *int64 {
		if !known {
			return nil
		}
		return new(record.RoundMicros(d))
	}
	return &record.ServerTimes{Queue: us(t.Queue, t.HasQueue), Prefill: us(t.Prefill, t.HasPrefill),
		Decode: us(t.Decode, t.HasDecode)}
}

// Offset is a timestamp as the record has it; absent for openai.Never.
func Offset(d time.Duration) record.Micros {
	if d == openai.Never {
		return record.Micros{}
	}
	return record.At(record.RoundMicros(d))
}

var bounds = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second,
	10 * time.Second, 20 * time.Second, 50 * time.Second, 100 * time.Second,
}

// Histogram counts times for Prometheus.
type Histogram struct {
	counts [len(bounds) + 1]int
	sum    time.Duration
}

func (h *Histogram) Add(d time.Duration) {
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += d
}

// Write writes the samples; labels may be empty.
func (h *Histogram) Write(w io.Writer, name, labels string) {
	inner, outer := "", ""
	if labels != "" {
		inner, outer = labels+",", "{"+labels+"}"
	}
	total := 0
	for i, n := range h.counts {
		total += n
		le := "+Inf"
		if i < len(bounds) {
			le = seconds(bounds[i])
		}
		fmt.Fprintf(w, "%s_bucket{%sle=%q} %d\n", name, inner, le, total)
	}
	fmt.Fprintf(w, "%s_sum%s %s\n%s_count%s %d\n", name, outer, seconds(h.sum), name, outer, total)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) }

func (h *Histogram) merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.sum += other.sum
}

// ClientTimes are the histograms that OpenTelemetry's conventions for generative AI ask of a client, of completed
// requests: gen_ai.client.operation.duration, .time_to_first_chunk and .time_per_output_chunk, the latter two of streams.
type ClientTimes struct{ duration, firstChunk, perChunk Histogram }

// Add counts all from the send. A first event without a token is a chunk too.
func (c *ClientTimes) Add(r *record.Record) {
	sent, ok := r.Sent.Get()
	if !ok || !r.OK() {
		return
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	c.duration.Add(us(r.End.Us() - sent))
	event, ok := r.FirstEvent.Get()
	if !ok {
		return
	}
	c.firstChunk.Add(us(event - sent))
	if first, ok := r.First.Get(); ok && first > event {
		c.perChunk.Add(us(first - event))
	}
	for gap := range r.Gaps.All() {
		c.perChunk.Add(us(gap))
	}
}

func (c *ClientTimes) Merge(other *ClientTimes) {
	c.duration.merge(&other.duration)
	c.firstChunk.merge(&other.firstChunk)
	c.perChunk.merge(&other.perChunk)
}

// Write writes them under their names in Prometheus. Series of other labels follow without heads.
func (c *ClientTimes) Write(w io.Writer, labels string, heads bool) {
	for _, x := range []struct {
		name, help string
		of         *Histogram
	}{
		{"duration", "Time from sending to the answer's end, of completed requests.", &c.duration},
		{"time_to_first_chunk", "Time from sending to the first event of any kind, of completed streams.",
			&c.firstChunk},
		{"time_per_output_chunk", "Time from one event to the next, of completed streams.", &c.perChunk},
	} {
		name := "gen_ai_client_operation_" + x.name + "_seconds"
		if heads {
			fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s histogram\n", name, x.help, name)
		}
		x.of.Write(w, name, labels)
	}
}
