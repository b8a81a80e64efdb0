package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// SchemaGateway names the format of a Comparison.
const SchemaGateway = "bench/gateway/v1"

// Comparison is each step made twice, straight to the server and through the gateway.
type Comparison struct {
	Schema    string    `json:"schema"`
	StartedAt time.Time `json:"started_at"`
	Machine   Machine   `json:"machine"`
	Gateway   string    `json:"gateway"` // without user info
	Server    string    `json:"server"`
	Simulates string    `json:"simulates"` // what the server says of itself
	Steps     []Pair    `json:"steps"`
}

// Pair is one step.
type Pair struct {
	Step
	Problem string  `json:"problem,omitempty"` // why it could not be made
	Direct  Outside `json:"direct"`
	Through Outside `json:"through"`
}

// Outside is what happened to the requests of a step outside the server, and thus on the network, in the client and in what stands
// between. It compares lengths of time alone, each by one clock, so that client and server need not be on one machine.
type Outside struct {
	Load         Load      `json:"load"`
	Requests     int       `json:"requests"` // of the window, paired with what the server noted
	Failed       int       `json:"failed"`
	Missing      int       `json:"missing"`   // ended well, but are not among what the server noted: no id came through
	Regrouped    int       `json:"regrouped"` // came in another number of events than the server wrote: they have no gaps here
	FirstFailure string    `json:"first_failure,omitempty"`
	Problem      string    `json:"problem,omitempty"` // why nothing could be compared
	TTFT         *Delay    `json:"ttft"`              // (first token − sent) − (its write − the arrival at the server), µs
	Gap          *Error    `json:"gap"`               // the client's gap − the server's, µs
	Each         []Request `json:"each"`
}

// Request is one request outside the server.
type Request struct {
	ID     string   `json:"id"`
	TTFTUs float64  `json:"ttft_us"`
	GapUs  *float64 `json:"gap_max_us,omitempty"` // the gap that differs most, with its sign; absent: it has none, or was regrouped
}

// Measured says whether anything could be compared.
func (c *Comparison) Measured() bool {
	for i := range c.Steps {
		if c.Steps[i].Problem == "" {
			return true
		}
	}
	return false
}

// GatewayText writes a comparison for people, in tables of at most 100 columns.
func GatewayText(w io.Writer, c *Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "gateway %s before %s\nserver: %s\n", c.Gateway, c.Server, c.Simulates)
	for _, t := range []table{addedFirst(c.Steps), addedGap(c.Steps)} {
		fmt.Fprintf(&b, "\n%s\n", t.title)
		t.write(&b)
	}
	b.WriteString("\n")
	remarks(&b, c.Steps)
	_, err := io.WriteString(w, b.String())
	return err
}

func addedFirst(steps []Pair) table {
	t := table{
		title: "to the first token, outside the server: µs, request by request",
		heads: []string{"step", "requests", "direct\np50", "\np99", "through\np50", "\np99", "\nmax", "added\np50", "failed", "missing"},
	}
	for i := range steps {
		p := &steps[i]
		cells := []string{p.Name(), fmt.Sprint(p.Through.Requests)}
		if p.Direct.TTFT == nil || p.Through.TTFT == nil {
			t.add(append(cells, "-", "-", "-", "-", "-", "-", fmt.Sprint(p.Through.Failed), fmt.Sprint(p.Through.Missing))...)
			continue
		}
		d, g := p.Direct.TTFT, p.Through.TTFT
		t.add(append(cells, micros(d.P50Us), micros(d.P99Us), micros(g.P50Us), micros(g.P99Us), micros(g.MaxUs), micros(g.P50Us-d.P50Us),
			fmt.Sprint(p.Through.Failed), fmt.Sprint(p.Through.Missing))...)
	}
	return t
}

func addedGap(steps []Pair) table {
	t := table{
		title: "gaps: µs that they differ from the server's, either way; the extremes have their sign",
		heads: []string{"step", "direct\np50", "\np99", "through\np50", "\np99", "\nmin", "\nmax", "regrouped"},
	}
	for i := range steps {
		p := &steps[i]
		cells := []string{p.Name()}
		for _, e := range []*Error{p.Direct.Gap, p.Through.Gap} {
			if e == nil {
				cells = append(cells, "-", "-")
			} else {
				cells = append(cells, micros(e.P50Us), micros(e.P99Us))
			}
		}
		if e := p.Through.Gap; e != nil {
			cells = append(cells, micros(e.MinUs), micros(e.MaxUs))
		} else {
			cells = append(cells, "-", "-")
		}
		t.add(append(cells, fmt.Sprint(p.Through.Regrouped))...)
	}
	return t
}

// remarks say what is not in the tables, a problem once for all steps that have it.
func remarks(b *strings.Builder, steps []Pair) {
	for i := range steps {
		p := &steps[i]
		if p.Problem == "" {
			p.remark(b)
			continue
		}
		same := func(o Pair) bool { return o.Problem == p.Problem }
		if slices.IndexFunc(steps, same) < i {
			continue
		}
		var names []string
		for _, o := range steps[i:] {
			if same(o) {
				names = append(names, o.Name())
			}
		}
		fmt.Fprintf(b, "%s could not be made: %s\n", strings.Join(names, ", "), p.Problem)
	}
}

func (p *Pair) remark(b *strings.Builder) {
	switch {
	case p.Through.Failed > 0:
		fmt.Fprintf(b, "%s: %d of %d requests failed through the gateway: %s\n", p.Name(), p.Through.Failed, p.Through.Failed+p.Through.Requests+p.Through.Missing, p.Through.FirstFailure)
	case p.Through.Regrouped > 0:
		fmt.Fprintf(b, "%s: %d answers came in other events than the server wrote: the gateway joins or splits them, and their gaps are left out\n", p.Name(), p.Through.Regrouped)
	}
}
