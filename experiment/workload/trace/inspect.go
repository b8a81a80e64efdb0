package trace

import (
	"fmt"
	"io"
	"math"
	"time"
)

// SchemaReport is the schema of a report in JSON.
const SchemaReport = "bench/trace-report/v1"

// Report describes the requests of a trace that the options keep, as the options change them.
type Report struct {
	Schema string `json:"schema"`
	File   string `json:"file"`
	Info
	Counts
	Requests int            `json:"requests"` // kept
	SpanS    float64        `json:"span_s"`   // from the start to the last request
	Arrivals *Arrivals      `json:"arrivals"` // null: no timestamps
	Input    Lengths        `json:"input_tokens"`
	Output   Lengths        `json:"output_tokens"`
	Sessions *Sessions      `json:"sessions"` // null: no session ids
	Classes  map[string]int `json:"classes,omitempty"`
	Cache    *Cache         `json:"cache"` // null: no blocks
	Notes    []Note         `json:"notes"`
}

// Sessions are the conversations of a trace.
type Sessions struct {
	Count     int     `json:"count"`
	MeanTurns float64 `json:"mean_turns"`
	MaxTurns  int     `json:"max_turns"`
}

// Note is a caution about replaying a trace, and what to do.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// Inspect reads a trace to its end. Memory grows with the number of distinct lengths, blocks, sessions and
// classes, not with the number of requests. sizes are the cache sizes in blocks for hit rates; nil = round
// sizes.
func Inspect(r *Reader, sizes []int) (*Report, error) { return inspect(r, math.MaxInt, sizes) }

// InspectFirst reads the first n requests of a trace, or all if there are fewer.
func InspectFirst(r *Reader, n int) (*Report, error) { return inspect(r, n, nil) }

func inspect(r *Reader, most int, sizes []int) (*Report, error) {
	var (
		out      = &Report{Schema: SchemaReport, File: r.name, Info: r.Info, Classes: map[string]int{}, Notes: []Note{}}
		arrive   = newArrivals()
		input    = tally{}
		output   = tally{}
		sessions = map[int]int{}
		reuse    = newReuse()
	)
	for out.Requests < most {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		out.Requests++
		out.SpanS = e.At.Seconds()
		arrive.add(e.At)
		input[e.Input]++
		output[e.Output]++
		if e.Session > 0 {
			sessions[e.Session]++
		}
		if e.Class != "" {
			out.Classes[e.Class]++
		}
		reuse.request(e.Blocks, e.Input, r.Info.BlockTokens)
	}
	out.Counts = r.Counts
	out.Input, out.Output = input.lengths(), output.lengths()
	if r.Info.Timed {
		out.Arrivals = arrive.result()
	}
	if len(sessions) > 0 {
		out.Sessions = conversations(sessions)
	}
	if reuse.blocks > 0 {
		out.Cache = reuse.cache(r.Info.BlockTokens, sizes)
	}
	out.note(r.o.speed())
	return out, nil
}

func conversations(turns map[int]int) *Sessions {
	s := &Sessions{Count: len(turns)}
	sum := 0
	for _, n := range turns {
		sum += n
		s.MaxTurns = max(s.MaxTurns, n)
	}
	s.MeanTurns = float64(sum) / float64(s.Count)
	return s
}

// note adds cautions about a replay at that speed.
func (r *Report) note(speed float64) {
	add := func(code, text, hint string) { r.Notes = append(r.Notes, Note{code, text, hint}) }
	if a := r.Arrivals; a != nil && a.StepS > 0 {
		step := time.Duration(math.Round(a.StepS * speed * float64(time.Second))) // in the file's time
		add("quantised", fmt.Sprintf("timestamps are rounded to %v: a replay sends %.0f %% of the requests together with the previous one", step, 100*a.SameTime),
			fmt.Sprintf("jitter = \"%v\" spreads them over the step", step))
	}
	if r.Estimated {
		add("estimated", "token counts are estimated from the bytes of the text", "set bytes_per_token for your model's tokenizer")
	}
	if c := r.Cache; c != nil && c.Unchained > 0 {
		add("unchained", fmt.Sprintf("%d block hashes occur at several positions in prompts: they do not identify whole prefixes, and the real hit rate is lower", c.Unchained),
			"hash each block together with the prompt before it")
	}
	if r.Requests == 0 {
		add("empty", "the window and the filters exclude every request", "widen the window and the filters")
	}
}
