package predict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"bench/report/foreign"
)

// filled is the share of the sequences at most that a run's requests in flight exceed in a twentieth of the time: the
// largest of its rows.
func filled(t testing.TB, dir string, slots int) (most float64) {
	run, err := foreign.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range run.Rows {
		records, err := run.Requests(&run.Rows[i])
		if err != nil {
			t.Fatal(err)
		}
		type change struct {
			us int64
			by int
		}
		var all []change
		for _, r := range records {
			all = append(all, change{r.Sent.Us(), 1}, change{r.Last.Us(), -1})
		}
		slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.us, b.us) })
		at, n, whole := map[int]int64{}, 0, int64(0)
		for k, c := range all {
			if k > 0 {
				at[n] += c.us - all[k-1].us
				whole += c.us - all[k-1].us
			}
			n += c.by
		}
		above := int64(0)
		for _, n := range slices.Backward(slices.Sorted(maps.Keys(at))) {
			if above += at[n]; float64(above) > 0.05*float64(whole) {
				most = max(most, float64(n)/float64(slots))
				break
			}
		}
	}
	return most
}

// TestGentle: a search that never fills half of a server has the truth in its interval. GENTLE=FROM-TO takes other
// servers, GENTLE_BUDGET another budget.
func TestGentle(t *testing.T) {
	seeds := []uint64{50}
	if list := os.Getenv("GENTLE"); list != "" {
		var from, to uint64
		fmt.Sscanf(list, "%d-%d", &from, &to)
		seeds = nil
		for seed := from; seed < to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	all := readTruths(t)
	n, held := 0, 0
	var widths, errors, shares []float64
	for _, seed := range seeds {
		truth, ok := all[seed]
		if !ok {
			continue
		}
		d := drawServer(seed)
		low := truth / (8 * math.Pow(5, rand.New(rand.NewPCG(seed, 9)).Float64()))
		m, p, err := planned(t, fmt.Sprintf("%s%swarmup = \"5s\"\nrate = { search = \"slo\", gentle = true, min = %.3g, budget = %q }\n",
			d.matrix, d.row, low, cmp.Or(os.Getenv("GENTLE_BUDGET"), "10m")))
		if err != nil {
			t.Fatal(err)
		}
		result := ran(t, m, p)
		f := result.Manifest.Searches[0]
		n, shares = n+1, append(shares, filled(t, result.Dir, f.Search.Slots))
		text := fmt.Sprintf("%3d %-8s truth %8.4g, %.2f of %d slots; ", seed, d.kind, truth, shares[n-1], f.Search.Slots)
		if f.Best == nil || f.Low == nil || f.High == nil {
			t.Log(text + f.Text)
			continue
		}
		if *f.Low <= truth && truth <= *f.High {
			held++
		}
		widths, errors = append(widths, *f.High / *f.Low - 1), append(errors, math.Abs(*f.Best/truth-1))
		w := result.Manifest.Twins[0]
		probed := 0.0
		for _, r := range w.Residuals {
			probed = max(probed, r.Load/truth)
		}
		t.Logf("%sbest %.3f (%.3f-%.3f), probed up to %.2f, %d probes %.0f s, %.2g + %.2g + %.2g + %.2g beyond %d", text, *f.Best/truth, *f.Low/truth,
			*f.High/truth, probed, f.Probes, f.TookS, w.Model.Base, w.Model.PerSequence, w.Model.PerContextToken, w.Model.PerPrefillToken, w.Model.FreePrefillTokens)
	}
	part := func(v []float64, at float64) float64 {
		slices.Sort(v)
		return v[int(at*float64(len(v)-1))]
	}
	if len(widths) == 0 {
		t.Fatal("no estimate")
	}
	t.Logf("%d servers, %d without an estimate; %d hold the truth; width p50 %.2f p90 %.2f; error p50 %.3f p90 %.3f; filled p50 %.2f most %.2f",
		n, n-len(widths), held, part(widths, 0.5), part(widths, 0.9), part(errors, 0.5), part(errors, 0.9), part(shares, 0.5), part(shares, 1))
	if most := part(shares, 1); held*100 < 93*len(widths) || most > 0.5 {
		t.Errorf("%d of %d hold the truth, a probe fills %.2f of the server", held, len(widths), most)
	}
}

// What low loads do not show is no estimate: here the KV cache is full long before the sequences at most run.
func TestGentleFullCache(t *testing.T) {
	m, p, err := planned(t, `name = "m"
[mock]
max_num_seqs = 64
kv_blocks = 700
max_model_len = 2048
step_base = "10ms"
step_per_seq = "200us"
[slo]
ttft_p95 = "1s"
[[row]]
name = "r"
input = 512
output = 128
warmup = "5s"
rate = { search = "slo", gentle = true, min = 1, budget = "3m" }
`)
	if err != nil {
		t.Fatal(err)
	}
	if f := ran(t, m, p).Manifest.Searches[0]; f.State != "none" || f.Best != nil || !strings.Contains(f.Text, "the KV cache of 11,200 tokens would be full") {
		t.Errorf("%s: %s", f.State, f.Text)
	}
}
