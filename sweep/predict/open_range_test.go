package predict

import (
	"math"
	"os"
	"strings"
	"testing"

	"bench/sweep"
)

// Without a range, the search of bench URL finds the limit of servers that differ by a factor of fifty, in two minutes.
// Their truth is from searches of 40 minutes.
func TestOpenRange(t *testing.T) {
	text, err := os.ReadFile("../../matrices/quick.toml")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "# Lengths of the Azure LLM inference trace 2023, code")
	servers := []struct {
		target, mock string
		truth        float64
	}{
		{"hardware = \"h100-sxm\"\ngpus = 1", "", 18.6},
		{"hardware = \"l40s\"\ngpus = 1", "", 2.79},
		{"", "[mock]\nmax_num_seqs = 32\nqueue = 100000\nstep_base = \"5ms\"\nstep_per_seq = \"200us\"\nstep_per_prefill_token = \"20us\"", 8.94},
		{"", "[mock]\nmax_num_seqs = 4\nqueue = 100000\nstep_base = \"8ms\"\nstep_per_seq = \"3ms\"\nstep_per_prefill_token = \"100us\"", 0.382},
	}
	if os.Getenv("BENCH_LONG") == "" {
		servers = append(servers[1:2], servers[3]) // a fast one and the slowest
	}
	for _, server := range servers {
		m, p, err := planned(t, strings.Replace(table, "[slo]", "model = \"llama-3.1-8b\"\n"+server.target+"\n"+server.mock+"\n[slo]", 1))
		if err != nil {
			t.Fatal(err)
		}
		f := ran(t, m, p).Manifest.Searches[0]
		if f.Best == nil || math.Abs(*f.Best/server.truth-1) > 0.1 || f.Search.Scout == nil {
			t.Errorf("%s%s: %s, scout %+v, want %v/s", server.target, server.mock, f.Text, f.Search.Scout, server.truth)
		} else if s := f.Search.Scout; f.TookS+s.TookS > 130 || s.Load < 0.1*server.truth || s.Load > 3*server.truth {
			t.Errorf("%s%s: %.0f s, scout %+v of %v/s", server.target, server.mock, f.TookS, s, server.truth)
		}
	}
}

// A request that is alone in the server misses the SLO: one probe is enough to answer.
func TestOpenRangeOfASlowServer(t *testing.T) {
	m, p, err := planned(t, "name = \"m\"\n[mock]\nmodel = \"llama-3.1-8b\"\nstep_base = \"60ms\"\n[slo]\ntpot_p95 = \"40ms\"\n"+
		"[[row]]\nname = \"r\"\ninput = 64\noutput = 32\nrate = { search = \"slo\", budget = \"1m\" }\n")
	if err != nil {
		t.Fatal(err)
	}
	o := sweep.Options{Out: t.TempDir()}
	p.Apply(&o)
	result, err := sweep.Run(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	if f := result.Manifest.Searches[0]; f.State != "below" || f.Probes != 1 || f.Search.Misses() != "tpot_p95" {
		t.Errorf("%s after %d probes: %s", f.State, f.Probes, f.Text)
	}
}
