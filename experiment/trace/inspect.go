package trace

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"
)

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

// Note is a caution about replaying a trace, and what to do.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Hint string `json:"hint"`
}

// Inspect reads the first requests of a trace, about as many as most; 0 = all. Memory grows with the number of
// distinct lengths, blocks, sessions and classes, not with the number of requests.
func Inspect(r *Reader, most int) (*Report, error) {
	if most == 0 {
		most = math.MaxInt
	}
	i := &inspector{
		out:    &Report{Schema: SchemaReport, File: r.name, Info: r.Info, Classes: map[string]int{}, Notes: []Note{}},
		arrive: newArrivals(), sessions: tally{}, reuse: newReuse(),
	}
	if r.Info.Grouped {
		if err := i.runs(r, most); err != nil {
			return nil, err
		}
	}
	if !r.Info.Grouped || r.Info.Timed {
		if err := i.requests(r, most); err != nil {
			return nil, err
		}
	}
	if i.out.Requests == 0 {
		return nil, r.empty()
	}
	return i.report(r), nil
}

type inspector struct {
	out      *Report
	arrive   *arrivals
	input    tally
	output   tally
	sessions tally   // requests by session
	graphs   *graphs // nil = a format without graphs
	reuse    *reuse
}

func (i *inspector) requests(r *Reader, most int) error {
	for i.out.Requests < most {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		i.out.SpanS = e.At.Seconds()
		i.arrive.add(e.At)
		i.request(&e)
	}
	return nil
}

func (i *inspector) request(e *Entry) {
	i.out.Requests++
	i.input.add(e.Input)
	i.output.add(e.Output)
	if e.Session > 0 {
		i.sessions.add(e.Session)
	}
	if e.Class != "" {
		i.out.Classes[e.Class]++
	}
	i.reuse.request(e.Blocks, e.Input, i.out.BlockTokens)
}

// runs reads sessions with about that number of requests. Sessions without a common clock are the order of the
// trace; of others the requests are read again.
func (i *inspector) runs(r *Reader, most int) error {
	i.graphs = &graphs{}
	var overlapping *spill
	if r.Info.Timed && r.stored == nil {
		overlapping = r.newSpill()
		r.sessions = &copied{r.sessions, overlapping, 0}
	}
	for requests := 0; requests < most || overlapping != nil; {
		s, err := r.NextSession()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if requests >= most {
			continue // only stored
		}
		requests += len(s.Nodes)
		i.graphs.add(&s)
		for n := range s.Nodes {
			if !r.Info.Timed {
				i.request(&s.Nodes[n].Entry)
			}
		}
	}
	if r.Info.Timed {
		return r.rewind(overlapping)
	}
	return nil
}

func (i *inspector) report(r *Reader) *Report {
	out := i.out
	out.Counts = r.counts
	out.Input, out.Output = i.input.lengths(1), i.output.lengths(1)
	if r.Info.Timed {
		out.Arrivals = i.arrive.result()
	}
	if len(i.sessions) > 0 {
		out.Sessions = conversations(i.sessions)
	}
	if i.reuse.blocks > 0 {
		out.Cache = i.reuse.cache(r.Info.BlockTokens, roundSizes(len(i.reuse.place)))
	}
	if i.graphs != nil {
		out.Sessions = i.graphs.result(out.Cache)
	}
	out.note(r.o.speed())
	if rows, ok := r.src.(*jsonl); ok && rows.delta > 0 {
		out.Notes = append(out.Notes, Note{"delta_rows", fmt.Sprintf("%d of %d later rows of a session_id do not "+
			"contain the turns before: a replay sends prompts without them", rows.delta, rows.later),
			"if they are turns of a conversation, write input_length and hash_ids of whole prompts"})
	}
	return out
}

// note adds cautions about a replay at that speed.
func (r *Report) note(speed float64) {
	add := func(code, text, hint string) { r.Notes = append(r.Notes, Note{code, text, hint}) }
	if a := r.Arrivals; a != nil && a.StepS > 0 {
		step := time.Duration(math.Round(a.StepS * speed * float64(time.Second))) // in the file's time
		add("quantised",
			fmt.Sprintf("timestamps are rounded to %v: a replay sends %.0f %% of the requests together "+
				"with the previous one", step, 100*a.SameTime),
			fmt.Sprintf("jitter = \"%v\" spreads them over the step", step))
	}
	if n := r.Lacking; n > 0 {
		add("estimated", fmt.Sprintf("%d of %d prompts have no token count from the server: estimated from bytes", n,
			r.Read),
			"callers get counts with stream_options.include_usage")
	} else if r.Estimated {
		add("estimated", "token counts are estimated from the bytes of the text",
			"set bytes_per_token for your model's tokenizer")
	}
	if c := r.Cache; c != nil && c.Unchained > 0 {
		add("unchained",
			fmt.Sprintf("%d block hashes occur at several positions in prompts: they do not identify "+
				"whole prefixes, and the real hit rate is lower", c.Unchained),
			"hash each block together with the prompt before it")
	}
}

// Lengths summarizes a number of tokens exactly; percentiles interpolate between order statistics (Hyndman
// and Fan's type 7).
type Lengths struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// tally counts equal numbers, so that memory grows with the number of distinct ones.
type tally map[int]int

func (t *tally) add(n int) {
	if *t == nil {
		*t = tally{}
	}
	(*t)[n]++
}

// lengths summarizes the counted numbers, each times a scale; zeros if there are none.
func (t tally) lengths(scale float64) Lengths {
	keys := slices.Sorted(maps.Keys(t))
	upTo := make([]int, len(keys)) // number of values ≤ keys[i]
	n, sum := 0, 0.0
	for i, k := range keys {
		n += t[k]
		sum += float64(k) * float64(t[k])
		upTo[i] = n
	}
	if n == 0 {
		return Lengths{}
	}
	value := func(rank int) float64 { // from 0
		i, _ := slices.BinarySearch(upTo, rank+1)
		return float64(keys[i])
	}
	at := func(p float64) float64 {
		h := p * float64(n-1)
		low := math.Floor(h)
		a, b := value(int(low)), value(int(math.Ceil(h)))
		return (a + (b-a)*(h-low)) * scale
	}
	return Lengths{Mean: sum / float64(n) * scale, Min: at(0), P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99),
		Max: at(1)}
}
