package trace

import (
	"fmt"
	"io"
	"math"
	"time"
)

// SchemaReport heads the report of an inspection in JSON.
const SchemaReport = "bench/trace-report/v1"

// Report is what a trace holds: of the requests that the options keep, as they change them.
type Report struct {
	Schema string `json:"schema"`
	File   string `json:"file"`
	Info
	Counts
	Requests int            `json:"requests"` // kept
	SpanS    float64        `json:"span_s"`   // from the start to the last request
	Arrivals *Arrivals      `json:"arrivals"` // null: no times
	Input    Lengths        `json:"input_tokens"`
	Output   Lengths        `json:"output_tokens"`
	Sessions *Sessions      `json:"sessions"` // null: not told
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

// Note is what one must know before a replay, with what to do about it.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// Inspect reads a trace to its end. Memory goes with the number of different lengths, blocks, sessions and classes, not with the number of
// requests. The hits are given for caches of these sizes, in blocks; none = round ones.
func Inspect(r *Reader, sizes []int) (*Report, error) { return inspect(r, math.MaxInt, sizes) }

// InspectFirst reads the first n requests of a trace, or all where it has fewer.
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

// note says what is doubtful in a replay at that speed.
func (r *Report) note(speed float64) {
	add := func(code, text, hint string) { r.Notes = append(r.Notes, Note{code, text, hint}) }
	if a := r.Arrivals; a != nil && a.StepS > 0 {
		step := time.Duration(math.Round(a.StepS * speed * float64(time.Second))) // of the file's times
		add("quantised", fmt.Sprintf("times are in steps of %v: a replay sends %.0f %% of the requests at the moment of the one before", step, 100*a.SameTime),
			fmt.Sprintf("jitter = \"%v\" spreads them over the step", step))
	}
	if r.Estimated {
		add("estimated", "lengths are estimated from the bytes of the text", "bytes_per_token makes them fit your model's tokenizer")
	}
	if c := r.Cache; c != nil && c.Unchained > 0 {
		add("unchained", fmt.Sprintf("%d block numbers stand at several places of prompts: they don't name whole prefixes, and a prefix cache hits less than said here", c.Unchained),
			"give each block the hash of all the prompt up to its end")
	}
	if r.Requests == 0 {
		add("empty", "no request is kept", "widen the window and the filters")
	}
}
