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
	"bench/report"
)

// decided counts rows by what the twin makes of them.
type decided struct{ rows, undecided, narrowed, wrong int }

func (d decided) String() string {
	return fmt.Sprintf("%d rows, %d undecided by their own requests; the twin decides %d, %d of them wrong", d.rows,
		d.undecided, d.narrowed, d.wrong)
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
// (NARROW=FROM-TO: all of these; with NARROW_OTHER=1 servers that no twin is, whose limits take minutes). Long runs at
// the loads of its verdicts tell which are wrong.
func TestNarrow(t *testing.T) {
	seeds, other := []uint64{18}, os.Getenv("NARROW_OTHER") != ""
	seconds, windows := 500.0, 1 // of long runs; whether a study's verdicts are wrong is looked at closer
	if list := os.Getenv("NARROW"); list != "" {
		var from, to uint64
		fmt.Sscanf(list, "%d-%d", &from, &to)
		seeds, seconds, windows = nil, 1500, 3
		for seed := from; seed < to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	near := readTruths(t)
	var all decided
	servers, accepted := 0, 0
	for _, seed := range seeds {
		d := drawServer(seed)
		if other {
			d = otherServer(seed)
			near[seed] = d.roughly(t)
		}
		if near[seed] == 0 {
			continue
		}
		servers++
		twins, rows := d.fixed(t, seed, near[seed])
		for i := range twins {
			if twins[i].Rejected == "" {
				accepted++
			}
		}
		was := slices.Clone(rows)
		series.Narrow(rows, twins)
		for i := range rows {
			load := float64(rows[i].Spec.Rate)
			own, _ := verdict.OfRows(&was[i])
			now, _ := verdict.OfRows(&rows[i])
			if all.rows++; own == stats.Undecided {
				all.undecided++
			}
			if own == now {
				continue
			}
			all.narrowed++
			if exceeds := d.exceeds(t, load, seconds, windows); exceeds != (now == stats.Fail) {
				all.wrong++
				t.Logf("    wrong: %s at %.3f of about the limit", now, load/near[seed])
			}
		}
		t.Logf("%3d %-8s %s", seed, d.kind, all)
	}
	t.Logf("%d servers, %d twins accepted: %s", servers, accepted, all)
	if all.narrowed == 0 || all.wrong > all.narrowed/20 {
		t.Error(all)
	}
}

// fixed are five rows at loads from 0.5 to 1.3 times the limit, and their twin.
func (d *drawnServer) fixed(t testing.TB, seed uint64, limit float64) ([]record.Twin, []record.Row) {
	rng := rand.New(rand.NewPCG(seed, 9))
	var rates []string
	for range 5 {
		rates = append(rates, fmt.Sprintf("%.4g", limit*(0.5+0.8*rng.Float64())))
	}
	_, _, dir := d.keep(t, fmt.Sprintf("seed = %d\nwarmup = \"10s\"\nduration = \"60s\"\nrate = [%s]\n", seed,
		strings.Join(rates, ", ")))
	run, err := report.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	// predictions lengthen rows that are open: measured ones have their minute
	rows := slices.DeleteFunc(run.Stored(), func(r record.Row) bool { return r.Spec.Added > 0 })
	return series.Twins(rows, run.Manifest.Slots(), run.Requests, map[string]*series.Twin{}, nil), rows
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
	x := manifest(t, ran(t, m, p).Dir).Twins[0]
	if !strings.Contains(x.Outside, "preempted") || x.Best != nil || math.Abs(x.Model.Base/0.006-1) > 0.01 {
		t.Errorf("outside %q, best %v, a base of %v s", x.Outside, x.Best, x.Model.Base)
	}
	for _, r := range x.Residuals {
		if r.Load > 20 {
			t.Errorf("a residual at %v", r.Load)
		}
	}
}

// A search of such a server goes on below the first load that fails, though a twin without that row sees its limit above.
func TestSearchOfAPreemptingServer(t *testing.T) {
	m, p, err := planned(t, `name = "m"
[target]
model = "llama-3.1-8b"
[mock]
model = "llama-3.1-8b"
step_base = "8ms"
step_per_seq = "0.2ms"
step_per_prefill_token = "20us"
max_num_seqs = 64
kv_blocks = 1200
max_model_len = 8192
[slo]
ttft_p95 = "500ms"
[[row]]
name = "r"
warmup = "5s"
input = 512
output = { dist = "lognormal", p50 = 100, p95 = 600, max = 1500 }
concurrency = { search = "slo", min = 1, max = 200, budget = "4m" }
`)
	if err != nil {
		t.Fatal(err)
	}
	dir := ran(t, m, p).Dir
	run, err := report.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := run.Rows
	failed := math.Inf(1)
	for i := range rows {
		r := &rows[i]
		if v, _ := verdict.OfRows(r); v == stats.Fail {
			failed = min(failed, float64(r.Spec.Concurrency))
		}
	}
	above := 0
	for _, r := range rows {
		if float64(r.Spec.Concurrency) > failed {
			above++
		}
	}
	if f := manifest(t, dir).Searches[0]; f.High == nil || above > 1 {
		t.Errorf("%d of %d probes are above %v, which fails: %s", above, len(rows), failed, f.Text)
	}
}
