package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// SchemaGateway is the format of a Comparison.
const SchemaGateway = "bench/gateway/v1"

// Comparison has each step twice: directly to the server and through the gateway.
type Comparison struct {
	Schema    string    `json:"schema"`
	StartedAt time.Time `json:"started_at"`
	Machine   Machine   `json:"machine"`
	Gateway   string    `json:"gateway"` // without user info
	Server    string    `json:"server"`
	Simulates string    `json:"simulates"` // description by the server
	Steps     []Pair    `json:"steps"`
}

// Pair is one step.
type Pair struct {
	Step
	Problem string  `json:"problem,omitempty"` // why the step failed
	Direct  Outside `json:"direct"`
	Through Outside `json:"through"`
}

// Outside is the time of a step's requests outside the server: in the network, the client and the gateway. It
// compares durations only, each by one clock, so that client and server can be on different machines.
type Outside struct {
	Load         Load      `json:"load"`
	Requests     int       `json:"requests"` // in the window, matched with the server's records
	Failed       int       `json:"failed"`
	Missing      int       `json:"missing"`   // completed, but not in the server's records: no id was passed on
	Regrouped    int       `json:"regrouped"` // the number of events differs from the server's: excluded from gap
	FirstFailure string    `json:"first_failure,omitempty"`
	Problem      string    `json:"problem,omitempty"` // why nothing could be compared
	TTFT         *Delay    `json:"ttft"`              // (first token − sent) − (its write − arrival at the server), µs
	Gap          *Error    `json:"gap"`               // client's gap − server's gap, µs
	Each         []Request `json:"each"`
}

// Request is the time of one request outside the server.
type Request struct {
	ID     string   `json:"id"`
	TTFTUs float64  `json:"ttft_us"`
	GapUs  *float64 `json:"gap_max_us,omitempty"` // the largest difference by absolute value, with sign; absent: no gaps, or regrouped
}

// Measured reports whether any step succeeded.
func (c *Comparison) Measured() bool {
	for i := range c.Steps {
		if c.Steps[i].Problem == "" {
			return true
		}
	}
	return false
}

// GatewayText writes a comparison in tables of at most 100 columns.
func GatewayText(w io.Writer, c *Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "gateway %s, server %s\nserver: %s\n", c.Gateway, c.Server, c.Simulates)
	for _, t := range []table{addedTTFTTable(c.Steps), addedGapTable(c.Steps)} {
		fmt.Fprintf(&b, "\n%s\n", t.title)
		t.write(&b)
	}
	b.WriteString("\n")
	writeRemarks(&b, c.Steps)
	_, err := io.WriteString(w, b.String())
	return err
}

func addedTTFTTable(steps []Pair) table {
	t := table{
		title: "TTFT outside the server, per request, µs",
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

func addedGapTable(steps []Pair) table {
	t := table{
		title: "gaps: absolute difference from the server's, µs; min and max with sign",
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

// writeRemarks writes problems, each once for all its steps, and failed or regrouped requests.
func writeRemarks(b *strings.Builder, steps []Pair) {
	for i := range steps {
		p := &steps[i]
		if p.Problem == "" {
			p.writeRemark(b)
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
		fmt.Fprintf(b, "%s failed: %s\n", strings.Join(names, ", "), p.Problem)
	}
}

func (p *Pair) writeRemark(b *strings.Builder) {
	switch {
	case p.Through.Failed > 0:
		fmt.Fprintf(b, "%s: %d of %d requests failed through the gateway: %s\n", p.Name(), p.Through.Failed, p.Through.Failed+p.Through.Requests+p.Through.Missing, p.Through.FirstFailure)
	case p.Through.Regrouped > 0:
		fmt.Fprintf(b, "%s: %d responses with joined or split events: the gateway regroups them, and their gaps are excluded\n", p.Name(), p.Through.Regrouped)
	}
}
