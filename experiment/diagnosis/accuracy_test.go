package diagnosis

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
)

var update = flag.Bool("update", false, "write the result into benchmarks/diagnosis.md")

// family is settings of one kind. The thresholds of the rules were chosen with the first list of parameters;
// the second was run afterwards.
type family struct {
	name         string
	cause        Bottleneck
	tuned, fresh [][2]float64
	make         func(a, b float64) setting
}

func count(x float64) int { return int(x) }

// families: the server's numbers set the cause, not the rules.
var families = []family{
	{"slow client", clientLimited, [][2]float64{{2, 20}, {2, 10}}, [][2]float64{{3, 15}, {1.5, 50}},
		func(rate, ms float64) setting {
			return setting{lagMs: ms, rows: []experiment.Spec{rated("c", rate, 256, 128)}}
		}},
	{"heat, GPU metrics", thermalOrPower, [][2]float64{{60, 140}, {80, 145}}, [][2]float64{{45, 150}, {120, 155}},
		func(by, at float64) setting {
			return setting{drift: fmt.Sprintf("%g%%@%gs", by, at), gpu: true, throttle: true, rows: []experiment.Spec{closed("t", 8, 256, 128)}}
		}},
	{"small KV cache", kvCachePressure, [][2]float64{{600, 32}, {900, 64}, {1200, 96}}, [][2]float64{{450, 20}, {800, 40}, {1500, 80}},
		func(blocks, users float64) setting {
			return setting{blocks: count(blocks), rows: []experiment.Spec{closed("k", count(users), 512, 512)}}
		}},
	{"prefixes evicted", prefixCacheMisses, [][2]float64{{1500, 16}, {1800, 32}, {1600, 20}}, [][2]float64{{1700, 18}, {2000, 48}, {1350, 14}},
		func(blocks, groups float64) setting {
			return setting{blocks: count(blocks), rows: []experiment.Spec{prefixed(closed("p", 2, 3072, 64), 2048, count(groups), "warm")}}
		}},
	{"small batch limit, open loop", queueing, [][2]float64{{4, 2.2}, {16, 5.4}, {8, 5}}, [][2]float64{{6, 3}, {12, 5.5}, {3, 2}},
		func(maxSeqs, rate float64) setting {
			return setting{maxSeqs: count(maxSeqs), rows: []experiment.Spec{rated("q", rate, 512, 256)}}
		}},
	{"batch limit below users", queueing, [][2]float64{{8, 16}, {4, 32}}, [][2]float64{{12, 24}, {24, 40}},
		func(maxSeqs, users float64) setting {
			return setting{maxSeqs: count(maxSeqs), rows: []experiment.Spec{closed("q", 1, 512, 256), closed("q", count(users), 512, 256)}}
		}},
	{"slow host, GPU metrics", hostOverhead, [][2]float64{{15, 4}, {25, 4}}, [][2]float64{{18, 8}, {30, 2}},
		func(ms, users float64) setting {
			return setting{overheadMs: ms, gpu: true, rows: []experiment.Spec{closed("h", count(users), 512, 256)}}
		}},
	{"slow host, two batches", hostOverhead, [][2]float64{{20, 32}, {40, 32}}, [][2]float64{{28, 24}, {35, 48}},
		func(ms, users float64) setting {
			return setting{overheadMs: ms, rows: []experiment.Spec{closed("h", 1, 4096, 256), closed("h", count(users), 4096, 256)}}
		}},
	{"slow kernels, GPU metrics", inefficientDecode, [][2]float64{{0.2, 8}, {0.25, 8}}, [][2]float64{{0.22, 4}, {0.12, 16}},
		func(memory, users float64) setting {
			return setting{memory: memory, gpu: true, rows: []experiment.Spec{closed("i", count(users), 512, 256)}}
		}},
	{"slow kernels, two batches", inefficientDecode, [][2]float64{{0.15, 32}, {0.18, 32}}, [][2]float64{{0.23, 24}, {0.13, 40}},
		func(memory, users float64) setting {
			return setting{memory: memory, rows: []experiment.Spec{closed("i", 1, 4096, 256), closed("i", count(users), 4096, 256)}}
		}},
	{"long prompts, alone", computeBoundPrefill, [][2]float64{{512, 8192}, {256, 12000}}, [][2]float64{{768, 3000}, {1500, 10000}},
		func(short, long float64) setting {
			return setting{rows: []experiment.Spec{closed("short", 1, count(short), 64), closed("long", 1, count(long), 64)}}
		}},
	{"long prompts, many", computeBoundPrefill, [][2]float64{{2.2, 8192}, {3.2, 8192}}, [][2]float64{{4.5, 6000}, {2, 10000}},
		func(rate, input float64) setting {
			return setting{rows: []experiment.Spec{rated("f", rate, count(input), 64)}}
		}},
	{"more users, long contexts", batchingTradeoff, [][2]float64{{8, 64}, {16, 96}}, [][2]float64{{8, 40}, {12, 72}},
		func(few, many float64) setting {
			return setting{rows: []experiment.Spec{closed("b", count(few), 2048, 512), closed("b", count(many), 2048, 512)}}
		}},
	{"few users", bandwidthBoundDecode, [][2]float64{{1, 256}, {4, 256}}, [][2]float64{{2, 512}, {6, 300}},
		func(users, input float64) setting {
			return setting{rows: []experiment.Spec{closed("m", count(users), count(input), 512)}}
		}},
	{"low rate", bandwidthBoundDecode, [][2]float64{{0.5, 256}, {2, 256}}, [][2]float64{{1, 700}, {3, 200}},
		func(rate, input float64) setting {
			return setting{rows: []experiment.Spec{rated("m", rate, count(input), 512)}}
		}},
	{"small batch limit, no server metrics", unknownBottleneck, [][2]float64{{4, 3}}, [][2]float64{{8, 5.5}},
		func(maxSeqs, rate float64) setting {
			return setting{maxSeqs: count(maxSeqs), blind: true, rows: []experiment.Spec{rated("u", rate, 512, 256)}}
		}},
	{"slow kernels, one batch, no GPU metrics", unknownBottleneck, [][2]float64{{0.2, 8}}, [][2]float64{{0.14, 4}},
		func(memory, users float64) setting {
			return setting{memory: memory, rows: []experiment.Spec{closed("u", count(users), 512, 256)}}
		}},
	{"heat, no GPU metrics", unknownBottleneck, [][2]float64{{60, 140}}, [][2]float64{{90, 145}},
		func(by, at float64) setting {
			return setting{drift: fmt.Sprintf("%g%%@%gs", by, at), rows: []experiment.Spec{closed("u", 8, 256, 128)}}
		}},
	{"no hardware specified", noBottleneck, [][2]float64{{2, 256}}, [][2]float64{{4, 512}},
		func(users, input float64) setting {
			return setting{unstated: true, rows: []experiment.Spec{closed("u", count(users), count(input), 256)}}
		}},
	{"server dies", serverFailing, [][2]float64{{8, 25}, {4, 40}}, [][2]float64{{16, 30}, {2, 55}},
		func(users, seconds float64) setting {
			return setting{diesAfter: seconds, rows: []experiment.Spec{closed("d", count(users), 256, 128)}}
		}},
	{"server fails some requests", serverFailing, [][2]float64{{2, 0.05}, {4, 0.3}}, [][2]float64{{3, 0.1}, {5, 0.6}},
		func(rate, share float64) setting {
			return setting{fails: share, lagMs: 10, rows: []experiment.Spec{rated("d", rate, 256, 128)}}
		}},
	{"server stands still, closed loop", serverStalled, [][2]float64{{8, 3}, {4, 5}}, [][2]float64{{16, 2}, {2, 8}},
		func(users, seconds float64) setting {
			return setting{stallAfter: 35 * time.Second, stallFor: time.Duration(seconds * float64(time.Second)), rows: []experiment.Spec{closed("s", count(users), 256, 128)}}
		}},
	{"server stands still, open loop", serverStalled, [][2]float64{{4, 5}, {2, 3}}, [][2]float64{{6, 4}, {1, 10}},
		func(rate, seconds float64) setting {
			return setting{stallAfter: 40 * time.Second, stallFor: time.Duration(seconds * float64(time.Second)), rows: []experiment.Spec{rated("s", rate, 256, 128)}}
		}},
	{"short prompts", bandwidthBoundDecode, [][2]float64{{20, 4}, {64, 16}}, [][2]float64{{8, 2}, {40, 8}},
		func(input, output float64) setting {
			return setting{rows: []experiment.Spec{closed("s", 4, count(input), count(output))}}
		}},
	{"short and shorter prompts", bandwidthBoundDecode, [][2]float64{{16, 64}, {8, 100}}, [][2]float64{{10, 40}, {20, 128}},
		func(short, long float64) setting {
			return setting{rows: []experiment.Spec{closed("short", 1, count(short), 16), closed("long", 1, count(long), 16)}}
		}},
	{"few requests", bandwidthBoundDecode, [][2]float64{{0.2, 256}, {0.4, 512}}, [][2]float64{{0.25, 700}, {0.5, 128}},
		func(rate, input float64) setting {
			return setting{rows: []experiment.Spec{rated("m", rate, count(input), 128)}}
		}},
	{"four requests", unknownBottleneck, [][2]float64{{256, 1400}}, [][2]float64{{512, 1600}},
		func(input, output float64) setting {
			return setting{rows: []experiment.Spec{closed("m", 1, count(input), count(output))}}
		}},
	{"small batch limit, one reading of the metrics", unknownBottleneck, [][2]float64{{4, 3}}, [][2]float64{{8, 5.5}},
		func(maxSeqs, rate float64) setting {
			return setting{maxSeqs: count(maxSeqs), readings: 1, rows: []experiment.Spec{rated("u", rate, 512, 256)}}
		}},
	{"slow gateway, server times", networkOrGateway, [][2]float64{{2, 100}, {4, 300}}, [][2]float64{{3, 150}, {1, 80}},
		func(rate, ms float64) setting {
			return setting{gatewayMs: ms, times: true, rows: []experiment.Spec{rated("g", rate, 256, 128)}}
		}},
	{"slow gateway, no server times", unknownBottleneck, [][2]float64{{2, 100}}, [][2]float64{{3, 150}},
		func(rate, ms float64) setting {
			return setting{gatewayMs: ms, rows: []experiment.Spec{rated("g", rate, 256, 128)}}
		}},
	{"slow tokenizer, server times", hostOverhead, [][2]float64{{2, 100}, {4, 300}}, [][2]float64{{3, 150}, {1, 80}},
		func(rate, ms float64) setting {
			return setting{frontendMs: ms, times: true, rows: []experiment.Spec{rated("g", rate, 256, 128)}}
		}},
	{"prefixes evicted, cached tokens not reported", unknownBottleneck, [][2]float64{{1500, 64}}, [][2]float64{{1800, 80}},
		func(blocks, groups float64) setting {
			s := closed("u", 2, 3072, 64)
			return setting{blocks: count(blocks), uncached: true, rows: []experiment.Spec{prefixed(s, 2048, count(groups), "cold"), prefixed(s, 2048, count(groups), "warm")}}
		}},
}

// score is how often the hidden cause was found, and how often another one was named. "unknown" names none.
type score struct {
	n, right int
	advised  int // wrong, with advice: a bottleneck was named
	wrong    []string
}

// evaluate runs the settings of one list, and reads the last point of each.
func evaluate(t *testing.T, fresh bool) (c score) {
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
			c.n++
			if d.Bottleneck == f.cause {
				c.right++
				continue
			}
			if d.Bottleneck != unknownBottleneck {
				c.advised++
			}
			c.wrong = append(c.wrong, fmt.Sprintf("- %s (%s; %g, %g): %s, \"%s\"\n", f.cause.Name(), f.name, x[0], x[1], d.Bottleneck.Name(), d.Observation))
			t.Logf("%s %v: %+v", f.name, x, d)
		}
	}
	return c
}

func (c score) String() string {
	text := fmt.Sprintf("%d of %d right, %d with false advice", c.right, c.n, c.advised)
	if len(c.wrong) == 0 {
		return text + ".\n"
	}
	return text + "; hidden cause and diagnosis of the others:\n\n" + strings.Join(c.wrong, "")
}

const (
	page  = "../../benchmarks/diagnosis.md"
	begin = "<!-- made by go test ./experiment/diagnosis -run TestDiagnosesOfSimulatedServers -update -->\n"
	end   = "<!-- end -->\n"
)

// The manual states how often the rules find the known cause of a simulated server.
func TestDiagnosesOfSimulatedServers(t *testing.T) {
	tuned, fresh := evaluate(t, false), evaluate(t, true)
	if tuned.n+fresh.n < 40 {
		t.Errorf("only %d settings", tuned.n+fresh.n)
	}
	text := fmt.Sprintf("Settings that the thresholds were chosen by: %v\nSettings run afterwards: %v", tuned, fresh)
	doc, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(doc, []byte(begin))
	old, behind, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the result", page)
	}
	if *update {
		if err := os.WriteFile(page, slices.Concat(before, []byte(begin), []byte(text), []byte(end), behind), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(old), text); diff != "" {
		t.Errorf("the result in %s differs (-page, +now); -update if that is right:\n%s", page, diff)
	}
}
