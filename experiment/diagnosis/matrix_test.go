package diagnosis

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
)

var update = flag.Bool("update", false, "write the table of docs/diagnosis.md anew")

// family is settings of one kind. The lines of the rules were chosen with the first list of parameters; with the second they were
// run when the lines stood.
type family struct {
	name         string
	cause        Regime
	tuned, fresh [][2]float64
	make         func(a, b float64) setting
}

func count(x float64) int { return int(x) }

// families have their causes by the numbers of the server, not by the rules.
var families = []family{
	{"late client", ClientBound, [][2]float64{{2, 20}, {2, 10}}, [][2]float64{{3, 15}, {1.5, 50}},
		func(rate, ms float64) setting {
			return setting{lagMs: ms, rows: []experiment.Spec{rated("c", rate, 256, 128)}}
		}},
	{"heat, GPUs watched", PowerLimited, [][2]float64{{60, 140}, {80, 145}}, [][2]float64{{45, 150}, {120, 155}},
		func(by, at float64) setting {
			return setting{drift: fmt.Sprintf("%g%%@%gs", by, at), gpu: true, throttle: true, rows: []experiment.Spec{slotted("t", 8, 256, 128)}}
		}},
	{"small KV cache", KVPressure, [][2]float64{{600, 32}, {900, 64}, {1200, 96}}, [][2]float64{{450, 20}, {800, 40}, {1500, 80}},
		func(blocks, users float64) setting {
			return setting{blocks: count(blocks), rows: []experiment.Spec{slotted("k", count(users), 512, 512)}}
		}},
	{"prefixes evicted", CacheMiss, [][2]float64{{1500, 16}, {1800, 32}, {1600, 20}}, [][2]float64{{1700, 18}, {2000, 48}, {1350, 14}},
		func(blocks, groups float64) setting {
			return setting{blocks: count(blocks), rows: []experiment.Spec{prefixed(slotted("p", 2, 3072, 64), 2048, count(groups), "warm")}}
		}},
	{"few slots, open loop", Queueing, [][2]float64{{4, 2.2}, {16, 5.4}, {8, 5}}, [][2]float64{{6, 3}, {12, 5.5}, {3, 2}},
		func(slots, rate float64) setting {
			return setting{slots: count(slots), rows: []experiment.Spec{rated("q", rate, 512, 256)}}
		}},
	{"fewer slots than users", Queueing, [][2]float64{{8, 16}, {4, 32}}, [][2]float64{{12, 24}, {24, 40}},
		func(slots, users float64) setting {
			return setting{slots: count(slots), rows: []experiment.Spec{slotted("q", 1, 512, 256), slotted("q", count(users), 512, 256)}}
		}},
	{"slow host, GPUs watched", HostBound, [][2]float64{{15, 4}, {25, 4}}, [][2]float64{{18, 8}, {30, 2}},
		func(ms, users float64) setting {
			return setting{overheadMs: ms, gpu: true, rows: []experiment.Spec{slotted("h", count(users), 512, 256)}}
		}},
	{"slow host, two batches", HostBound, [][2]float64{{20, 32}, {40, 32}}, [][2]float64{{28, 24}, {35, 48}},
		func(ms, users float64) setting {
			return setting{overheadMs: ms, rows: []experiment.Spec{slotted("h", 1, 4096, 256), slotted("h", count(users), 4096, 256)}}
		}},
	{"slow kernels, GPUs watched", Inefficient, [][2]float64{{0.2, 8}, {0.25, 8}}, [][2]float64{{0.22, 4}, {0.12, 16}},
		func(memory, users float64) setting {
			return setting{memory: memory, gpu: true, rows: []experiment.Spec{slotted("i", count(users), 512, 256)}}
		}},
	{"slow kernels, two batches", Inefficient, [][2]float64{{0.15, 32}, {0.18, 32}}, [][2]float64{{0.23, 24}, {0.13, 40}},
		func(memory, users float64) setting {
			return setting{memory: memory, rows: []experiment.Spec{slotted("i", 1, 4096, 256), slotted("i", count(users), 4096, 256)}}
		}},
	{"long prompts, alone", PrefillCost, [][2]float64{{512, 8192}, {256, 12000}}, [][2]float64{{768, 3000}, {1500, 10000}},
		func(short, long float64) setting {
			return setting{rows: []experiment.Spec{slotted("short", 1, count(short), 64), slotted("long", 1, count(long), 64)}}
		}},
	{"long prompts, many", PrefillCost, [][2]float64{{2.2, 8192}, {3.2, 8192}}, [][2]float64{{4.5, 6000}, {2, 10000}},
		func(rate, input float64) setting {
			return setting{rows: []experiment.Spec{rated("f", rate, count(input), 64)}}
		}},
	{"more users, long contexts", Batching, [][2]float64{{8, 64}, {16, 96}}, [][2]float64{{8, 40}, {12, 72}},
		func(few, many float64) setting {
			return setting{rows: []experiment.Spec{slotted("b", count(few), 2048, 512), slotted("b", count(many), 2048, 512)}}
		}},
	{"few users", MemoryBound, [][2]float64{{1, 256}, {4, 256}}, [][2]float64{{2, 512}, {6, 300}},
		func(users, input float64) setting {
			return setting{rows: []experiment.Spec{slotted("m", count(users), count(input), 512)}}
		}},
	{"low rate", MemoryBound, [][2]float64{{0.5, 256}, {2, 256}}, [][2]float64{{1, 700}, {3, 200}},
		func(rate, input float64) setting {
			return setting{rows: []experiment.Spec{rated("m", rate, count(input), 512)}}
		}},
	{"few slots, metrics unread", UnknownRegime, [][2]float64{{4, 3}}, [][2]float64{{8, 5.5}},
		func(slots, rate float64) setting {
			return setting{slots: count(slots), blind: true, rows: []experiment.Spec{rated("u", rate, 512, 256)}}
		}},
	{"slow kernels, one batch, GPUs unwatched", UnknownRegime, [][2]float64{{0.2, 8}}, [][2]float64{{0.14, 4}},
		func(memory, users float64) setting {
			return setting{memory: memory, rows: []experiment.Spec{slotted("u", count(users), 512, 256)}}
		}},
	{"heat, GPUs unwatched", UnknownRegime, [][2]float64{{60, 140}}, [][2]float64{{90, 145}},
		func(by, at float64) setting {
			return setting{drift: fmt.Sprintf("%g%%@%gs", by, at), rows: []experiment.Spec{slotted("u", 8, 256, 128)}}
		}},
	{"no hardware stated", UnknownRegime, [][2]float64{{2, 256}}, [][2]float64{{4, 512}},
		func(users, input float64) setting {
			return setting{unstated: true, rows: []experiment.Spec{slotted("u", count(users), count(input), 256)}}
		}},
	{"prefixes evicted, hits not told", UnknownRegime, [][2]float64{{1500, 64}}, [][2]float64{{1800, 80}},
		func(blocks, groups float64) setting {
			s := slotted("u", 2, 3072, 64)
			return setting{blocks: count(blocks), uncached: true, rows: []experiment.Spec{prefixed(s, 2048, count(groups), "cold"), prefixed(s, 2048, count(groups), "warm")}}
		}},
}

// confusion counts what was found by what was hidden.
type confusion struct {
	found  map[[2]Regime]int
	n, hit int
	missed []string
}

// confuse runs the settings of one list, and reads the last point of each.
func confuse(t *testing.T, fresh bool) confusion {
	c := confusion{found: map[[2]Regime]int{}}
	for _, f := range families {
		list := f.tuned
		if fresh {
			list = f.fresh
		}
		for i, x := range list {
			s := f.make(x[0], x[1])
			s.name, s.cause = fmt.Sprintf("%s %d %v", f.name, i, fresh), f.cause
			series := s.simulated(t)
			last := len(series) - 1
			d := firstAt(Diagnose(series), last, len(series[last].Points)-1)
			c.found[[2]Regime{f.cause, d.Regime}]++
			c.n++
			if d.Regime == f.cause {
				c.hit++
				continue
			}
			c.missed = append(c.missed, fmt.Sprintf("%s (%g, %g): %s, by \"%s\"", f.name, x[0], x[1], d.Regime.Words(), d.Symptom))
			t.Logf("%s %v: %+v", f.name, x, d)
		}
	}
	return c
}

// table is the confusion matrix in Markdown: a line for each cause, a column for each answer.
func (c confusion) table() string {
	var b strings.Builder
	b.WriteString("| hidden cause ↓, found → |")
	for _, r := range Regimes {
		b.WriteString(" " + r.Words() + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(Regimes)) + "\n")
	for _, cause := range Regimes {
		b.WriteString("| " + cause.Words() + " |")
		for _, found := range Regimes {
			cell := " "
			if n := c.found[[2]Regime{cause, found}]; n > 0 {
				cell = fmt.Sprintf(" %d ", n)
			}
			b.WriteString(cell + "|")
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%d of %d settings are found as what they are.", c.hit, c.n)
	if len(c.missed) > 0 {
		b.WriteString(" The others:\n\n")
		for _, m := range c.missed {
			b.WriteString("- " + m + "\n")
		}
	} else {
		b.WriteString("\n")
	}
	return b.String()
}

const (
	page  = "../../docs/diagnosis.md"
	begin = "<!-- made by go test ./experiment -run Simulated -update -->\n"
	end   = "<!-- end -->\n"
)

// What the rules make of servers whose causes are known is in the manual, as it is.
func TestDiagnosesOfSimulatedServers(t *testing.T) {
	tuned, fresh := confuse(t, false), confuse(t, true)
	if tuned.n+fresh.n < 40 {
		t.Errorf("only %d settings", tuned.n+fresh.n)
	}
	text := "With the settings that the lines were chosen by:\n\n" + tuned.table() + "\nWith settings that were first run when the lines stood:\n\n" + fresh.table()
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(doc, []byte(begin))
	old, behind, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, slices.Concat(before, []byte(begin), []byte(text), []byte(end), behind), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(old), text); diff != "" {
		t.Errorf("the table of %s differs (-page, +now); -update if that is right:\n%s", page, diff)
	}
}
