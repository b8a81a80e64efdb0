package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/sweep"
)

// decided counts the verdicts of rows at loads whose truth is known.
type decided struct{ rows, undecided, falsePass, falseFail int }

func (d *decided) add(r *record.Row, exceeds bool) {
	v, _ := verdict.OfRows(r)
	d.rows++
	switch {
	case v == stats.Pass && exceeds:
		d.falsePass++
	case v == stats.Fail && !exceeds:
		d.falseFail++
	case v == stats.Undecided:
		d.undecided++
	}
}

func (d decided) String() string {
	return fmt.Sprintf("%d rows: %d undecided, %d false PASS, %d false FAIL", d.rows, d.undecided, d.falsePass, d.falseFail)
}

// otherServer draws servers that no twin is: a KV cache that preempts, prompts in small chunks, a prefix cache that evicts,
// speculation, one prompt in ten much longer, and a second population of outputs.
func otherServer(seed uint64) drawnServer {
	rng := rand.New(rand.NewPCG(seed, 17))
	between := func(a, b float64) float64 { return a * math.Pow(b/a, rng.Float64()) }
	kinds := []string{"cliff", "chunks", "evicts", "speculates", "bimodal", "outputs"}
	d := drawnServer{kind: kinds[seed%uint64(len(kinds))]}
	base := between(5, 20)
	mock := fmt.Sprintf("step_base = \"%.3gms\"\nstep_per_seq = \"%.3gms\"\nqueue = 100000\n", base, between(0.05, 0.4))
	prefill, sequences := fmt.Sprintf("step_per_prefill_token = \"%.3gus\"\n", between(8, 40)), int(between(16, 96))
	input, output := int(between(200, 1500)), int(between(40, 200))
	lengths := fmt.Sprintf("input = %d\noutput = %d\n", input, output)
	ttft := []string{"300ms", "500ms", "1s", "2s"}[rng.IntN(4)]
	slo := fmt.Sprintf("ttft_p95 = %q\n", ttft)
	if rng.IntN(2) == 0 {
		slo += fmt.Sprintf("tpot_p95 = \"%.3gms\"\n", base*between(1.7, 4))
	}
	switch d.kind {
	case "cliff":
		sequences = 128
		mock += fmt.Sprintf("max_model_len = 4096\nkv_blocks = %d\n", max(300, (input+output)/16*int(between(15, 50))))
	case "chunks":
		mock += fmt.Sprintf("max_num_batched_tokens = %d\n", int(between(200, 600)))
	case "evicts":
		lengths = fmt.Sprintf("input = 1200\noutput = %d\nprefix = { tokens = 900, groups = 40, state = \"shared\" }\n", output)
		mock += "max_model_len = 4096\nkv_blocks = 3000\n"
	case "speculates":
		mock += fmt.Sprintf("speculation = { tokens = 3, acceptance = %.2g }\n", between(0.3, 0.8))
	case "bimodal":
		lengths = fmt.Sprintf("mix = [{ name = \"a\", weight = 0.9, input = %d, output = %d }, { name = \"b\", weight = 0.1, input = %d, output = %d }]\n",
			input/2, output, 4*input, output)
	case "outputs":
		lengths = fmt.Sprintf("mix = [{ name = \"a\", weight = 0.8, input = %d, output = %d }, { name = \"b\", weight = 0.2, input = %d, output = %d }]\n",
			input, output/2, input, 6*output)
	}
	d.matrix = fmt.Sprintf("name = \"m\"\n[target]\nmodel = \"llama-3.1-8b\"\n[mock]\nmodel = \"llama-3.1-8b\"\nmax_num_seqs = %d\n%s[slo]\n%s", sequences, mock+prefill, slo)
	d.row = "[[row]]\nname = \"r\"\narrival = \"poisson\"\n" + lengths
	return d
}

// TestNarrow: what the twin decides of five rows of a minute each, drawn around the operating point of drawn servers
// (NARROW=FROM-TO: all of these; with NARROW_OTHER=1 servers that no twin is, whose truths take minutes).
func TestNarrow(t *testing.T) {
	seeds, window := []uint64{5}, "60s"
	if list := os.Getenv("NARROW"); list != "" {
		var from, to uint64
		fmt.Sscanf(list, "%d-%d", &from, &to)
		seeds = nil
		for seed := from; seed < to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	if w := os.Getenv("NARROW_WINDOW"); w != "" {
		window = w
	}
	all := readTruths(t)
	var own, narrowed decided
	accepted := 0
	for _, seed := range seeds {
		d := drawServer(seed)
		truth, ok := all[seed]
		if os.Getenv("NARROW_OTHER") != "" {
			d = otherServer(seed)
			truth, ok = d.roughly(t), true
		}
		if !ok {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		rates := ""
		for range 5 {
			rates += fmt.Sprintf("%.4g, ", truth*(0.5+0.8*rng.Float64()))
		}
		var rows []record.Row
		m, p, err := planned(t, d.matrix+d.row+fmt.Sprintf("seed = %d\nwarmup = \"10s\"\nduration = %q\nrate = [%s]\n", seed, window, rates))
		if err != nil {
			t.Fatal(err)
		}
		o := sweep.Options{Out: t.TempDir(), Event: func(e sweep.Event) {
			if e.Finished != nil {
				rows = append(rows, *e.Finished.Row)
			}
		}}
		p.Apply(&o)
		result, err := sweep.Run(t.Context(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		twins := manifest(t, result.Dir).Twins
		was := slices.Clone(rows)
		series.Narrow(rows, twins)
		for i := range rows {
			load := float64(rows[i].Spec.Rate)
			exceeds := load > truth
			a, _ := verdict.OfRows(&was[i])
			b, _ := verdict.OfRows(&rows[i])
			if a != b {
				if d.kind != drawServer(seed).kind { // the truth is rough: of this load it is a long run
					exceeds = d.exceeds(t, load, 1500, 4)
				}
				t.Logf("    %s at %.3f of the truth, which exceeds a limit: %v", b, load/truth, exceeds)
			}
			own.add(&was[i], exceeds)
			narrowed.add(&rows[i], exceeds)
		}
		why := "no twin"
		if len(twins) > 0 {
			if why = series.TwinText(&twins[0]); twins[0].Rejected == "" {
				accepted++
			}
		}
		t.Logf("%3d %-8s truth %.4g %s; own %s; narrowed %s", seed, d.kind, truth, why, own, narrowed)
		os.RemoveAll(result.Dir)
	}
	t.Logf("%d servers, %d twins accepted", len(seeds), accepted)
	t.Logf("by their own requests: %s", own)
	t.Logf("with the twin: %s", narrowed)
	if narrowed.undecided >= own.undecided || narrowed.falsePass > own.falsePass+1 || narrowed.falseFail > own.falseFail+1 {
		t.Errorf("with the twin %s; by their own requests %s", narrowed, own)
	}
}

// A row that preempts is none of the twin's, which then knows no load near it.
func TestPreemptingRowsAreLeftOut(t *testing.T) {
	m, p, err := planned(t, `name = "m"
[target]
model = "llama-3.1-8b"
[mock]
model = "llama-3.1-8b"
max_num_seqs = 128
max_model_len = 4096
kv_blocks = 1600
step_base = "6ms"
step_per_seq = "0.1ms"
step_per_prefill_token = "10us"
queue = 100000
[slo]
tpot_p95 = "15ms"
[[row]]
name = "r"
arrival = "poisson"
input = 512
output = 128
rate = [10, 20, 25, 30]
warmup = "10s"
duration = "40s"
`)
	if err != nil {
		t.Fatal(err)
	}
	o := sweep.Options{Out: t.TempDir()}
	p.Apply(&o)
	result, err := sweep.Run(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	x := manifest(t, result.Dir).Twins[0]
	if !strings.Contains(x.Outside, "preempted") || x.Best != nil || math.Abs(x.Model.Base/0.006-1) > 0.01 {
		t.Errorf("outside %q, best %v, a base of %v s", x.Outside, x.Best, x.Model.Base)
	}
	for _, r := range x.Residuals {
		if r.Load > 20 {
			t.Errorf("a residual at %v", r.Load)
		}
	}
}
