package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

// mixed is a run of n repeats of which every fifth request is of the class rag, whose TTFT is `slower` times
// as long.
func mixed(name string, slower float64, n int, r *rand.Rand) Run {
	run := Run{Name: name, Run: record.Run{Manifest: manifest()}}
	records := map[string][]*record.Record{}
	for i := range n {
		row, rs := quiet.repeat("F", i+1, math.Exp(quiet.between*r.NormFloat64()), r)
		own := map[string][]*record.Record{}
		for _, x := range rs {
			x.Class = "chat"
			if x.I%5 == 4 {
				x.Class = "rag"
				later(x, slower)
			}
			own[x.Class] = append(own[x.Class], x)
		}
		row.Spec.Mix = []workload.Class{{Name: "rag", Weight: 1}, {Name: "chat", Weight: 4}}
		row.Summary, row.Classes = summary(rs), map[string]record.Summary{"chat": summary(own["chat"]), "rag": summary(own["rag"])}
		records[row.ID] = rs
		run.Rows = append(run.Rows, row)
	}
	run.Records = func(row *record.Row) ([]*record.Record, error) { return records[row.ID], nil }
	return run
}

// later delays the response of a request so that its TTFT grows by the factor `times`.
func later(x *record.Record, times float64) {
	at, _ := x.Arrival.Get()
	first, _ := x.First.Get()
	last, _ := x.Last.Get()
	by := int64(float64(first-at) * (times - 1))
	x.FirstEvent, x.First, x.Last, x.End = record.At(first+by), record.At(first+by), record.At(last+by), record.At(last+by)
}

func (c *Comparison) findIn(class, name string) *Metric {
	for _, x := range c.Points[0].Classes {
		if x.Name == class {
			for i := range x.Metrics {
				if x.Metrics[i].Name == name {
					return &x.Metrics[i]
				}
			}
		}
	}
	return nil
}

// A slower class is found although the figures of all requests do not change, and the thresholds apply to it.
func TestClassThatTheOthersHide(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	for _, withRecords := range []bool{true, false} {
		base, changed := mixed("base", 1, 5, r), mixed("new", 1.2, 5, r)
		if !withRecords {
			base.Records, changed.Records = nil, nil
		}
		c := compared(t, side(base), side(changed), Options{Gate: gate("ttft_p50 +10%"), spreads: spreads(0.005)})
		if len(c.Points) != 1 || len(c.Points[0].Classes) != 2 || c.Points[0].Classes[0].Name != "rag" {
			t.Fatalf("the classes are not those of the matrix, in its order: %+v", c.Points)
		}
		if c.Family != 3 {
			t.Errorf("%d figures share the risk, want one for all, and one a class", c.Family)
		}
		all, rag, chat := &c.Points[0].Metrics[0], c.findIn("rag", "ttft_p50"), c.findIn("chat", "ttft_p50")
		if all.Gate != stats.Pass || chat.Gate != stats.Pass || rag.Verdict != Worse || rag.Gate != stats.Fail {
			t.Errorf("together %s, chat %s, rag %s", all.Describe(), chat.Describe(), rag.Describe())
		}
		want := []Case{{Point: "F", Metric: "ttft_p50", Verdict: stats.Pass}, {Point: "F", Class: "rag", Metric: "ttft_p50", Verdict: stats.Fail},
			{Point: "F", Class: "chat", Metric: "ttft_p50", Verdict: stats.Pass}}
		if diff := cmp.Diff(want, c.Gate.Cases, cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == ".Why" || p.Last().String() == ".Change" || p.Last().String() == ".of"
		}, cmp.Ignore()), cmp.AllowUnexported(Case{})); diff != "" {
			t.Error(diff)
		}
		if where := c.Gate.Cases[1].Where(); where != "F (class rag)" {
			t.Errorf("it is at %q", where)
		}
	}
}

// The figures of a class are those of a row with the requests of the class alone.
func TestClassIsARowOfItsOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 2))
	base, changed := mixed("base", 1, 3, r), mixed("new", 1.1, 3, r)
	alone := func(run Run) Run {
		all := run.Records
		run.Rows = append([]record.Row{}, run.Rows...)
		for i := range run.Rows {
			row := &run.Rows[i]
			row.Summary, row.Classes, row.Spec.Mix = row.Classes["rag"], nil, nil
		}
		run.Records = func(row *record.Row) (out []*record.Record, err error) {
			records, err := all(row)
			for _, x := range records {
				if x.Class == "rag" {
					out = append(out, x)
				}
			}
			return out, err
		}
		return run
	}
	want := compared(t, side(alone(base)), side(alone(changed)), Options{}).Points[0].Metrics
	got := compared(t, side(base), side(changed), Options{}).Points[0].Classes[0].Metrics
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool {
		name := strings.TrimPrefix(p.Last().String(), ".")
		return slices.Contains([]string{"figure", "base", "changed", "contrast", "within", "runSpread",
			"paired", "earlier"}, name)
	}, cmp.Ignore()), cmp.AllowUnexported(Metric{})); diff != "" || len(want) < 5 {
		t.Error(diff)
	}
}

// A class of one side only does not pass; a mix of one class has no classes.
func TestClassOfOneSide(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 3))
	base, changed := mixed("base", 1, 3, r), mixed("new", 1, 3, r)
	for i := range changed.Rows {
		delete(changed.Rows[i].Classes, "rag")
	}
	o := Options{Gate: gate("ttft_p50 +50%")}
	c := compared(t, side(base), side(changed), o)
	if m := c.findIn("rag", "ttft_p50"); m.Verdict != Inconclusive || m.Why != "only base has it" || m.Gate != stats.Undecided || c.Gate.Passes {
		t.Errorf("%+v", m)
	}
	for _, run := range []Run{base, changed} {
		for i := range run.Rows {
			run.Rows[i].Spec.Mix = run.Rows[i].Spec.Mix[1:]
		}
	}
	if c := compared(t, side(base), side(changed), o); len(c.Points[0].Classes) != 0 || c.Family != 1 {
		t.Errorf("%+v", c.Points[0].Classes)
	}
}
