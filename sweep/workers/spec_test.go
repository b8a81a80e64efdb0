package workers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/roofline"
	"bench/sweep/matrix"
)

// manyForms is a matrix with the forms of docs/matrix.md that the shipped ones do not have.
const manyForms = `
name = "forms"
[defaults]
duration = "600s"
[[row]]
name = "arrivals"
output = 20
input = [16, { dist = "uniform", min = 100, max = 500 }, { dist = "normal", mean = 300.5, std = 50.1, min = 50 }]
rate = 3.3
arrival = ["constant", { process = "sinusoid", amplitude = 0.8, period = "61s" }, { process = "bursts", size = 20 }]
[[row]]
name = "own rates"
output = 20
input = { dist = "histogram", buckets = [{ min = 1, max = 128, weight = 0.7 }, { min = 129, max = 1024, weight = 0.3 }] }
arrival = [{ process = "bursts", size = 20, every = "5s", gaps = "poisson" }, { process = "ramp", from = 1, to = 20, over = "60s" },
  { process = "step", steps = [{ rate = 20, for = "2.5s" }, { rate = 0, for = "8s" }], repeat = true }]
[[row]]
name = "gamma"
input = { dist = "empirical", values = [120, 300, 2400] }
output = { dist = "empirical", file = "LENGTHS" }
rate = 10
arrival = "gamma"
burstiness = 0.37
prefix = { tokens = 64, groups = 100, zipf = 1.1 }
[[row]]
name = "all at once"
pairs = { file = "PAIRS", input = "ContextTokens", output = "GeneratedTokens" }
rate = "inf"
requests = 300
[[row]]
name = "mix"
rate = 5
warmup = 50
[[row.mix]]
name = "chat"
output = 20
weight = 0.8
input = { dist = "lognormal", p50 = 300, p95 = 2000, min = 65 }
session = { turns = { dist = "uniform", min = 2, max = 8 }, user = { dist = "empirical", file = "LENGTHS" }, think = { dist = "exponential", mean = "5s", max = "1m" } }
extra_body = { temperature = 0.2, seed = 9007199254740993, stop = ["a", "b"] }
slo = { ttft_p95 = "300ms", error_rate = 0.01 }
[[row.mix]]
name = "rag"
output = 20
weight = 0.3
input = 2000
leave = { share = 0.3, after = { dist = "exponential", mean = "2s" } }
adapters = { names = ["sql", "law"], weights = [6, 1] }
[[row]]
name = "prompts"
concurrency = 4
output = 20
prompts = { file = "experiment/prompts/testdata/prompts.jsonl", limit = 5 }
[[row]]
name = "mooncake"
arrival = "trace"
[row.trace]
file = "experiment/trace/testdata/mooncake.jsonl"
jitter = "1s"
`

// TestSpecTravels checks that a spec that went to a worker is the same point with the same plan: every row of the
// shipped matrices, and of one with the other forms.
func TestSpecTravels(t *testing.T) {
	t.Chdir("../..") // files of lengths and traces are relative to it
	matrices, err := filepath.Glob("matrices/*.toml")
	if err != nil || len(matrices) < 9 {
		t.Fatal(matrices, err)
	}
	text, err := os.ReadFile("model_configs.json")
	if err != nil {
		t.Fatal(err)
	}
	models, err := roofline.ParseModels(text)
	if err != nil {
		t.Fatal(err)
	}
	most := 10 // points of one name
	if testing.Short() {
		most = 2
	}
	for _, name := range append(matrices, formsFile(t)) {
		m, err := matrix.ReadSet(name, nil, matrix.Extension{Table: "mock", Into: &mock.Config{Models: models, Devices: roofline.BuiltinHardware()}})
		if err != nil {
			t.Fatal(err)
		}
		seen, files := map[string]int{}, experiment.Files{}
		for i := range m.Points {
			s := &m.Points[i]
			if seen[s.Name]++; s.Repeat > 1 || seen[s.Name] > most {
				continue
			}
			holdSame(t, name+" "+s.Label(), s, travel(t, s, &files))
		}
	}
}

// formsFile writes manyForms, with the files that it names.
func formsFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	lengths := write("lengths.txt", "10\n200\n35\n")
	pairs := write("pairs.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n1,374,44\n2,396,109\n3,879,55\n")
	return write("forms.toml", strings.NewReplacer("LENGTHS", lengths, "PAIRS", pairs).Replace(manyForms))
}

func travel(t *testing.T, s *experiment.Spec, files *experiment.Files) *experiment.Spec {
	t.Helper()
	text, err := json.Marshal(command{Share: &endpoint.Share{Spec: s}})
	if err != nil {
		t.Fatal(err)
	}
	var c command
	if err := decode(text, &c); err != nil {
		t.Fatal(err)
	}
	if err := restore(c.Share.Spec, files); err != nil {
		t.Fatal(err)
	}
	return c.Share.Spec
}

// holdSame holds a spec to another by its JSON, which makes its hash, and by its first requests.
func holdSame(t *testing.T, name string, want, got *experiment.Spec) {
	t.Helper()
	before, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := json.Marshal(got); err != nil || string(after) != string(before) {
		t.Errorf("%s: the spec is\n%s, error %v, want\n%s", name, after, err, before)
	}
	if !reflect.DeepEqual(want.Classes(), got.Classes()) && want.Prompts == nil {
		t.Errorf("%s: the classes are\n%+v, want\n%+v", name, got.Classes(), want.Classes())
	}
	a, b := want.Plan("salt"), got.Plan("salt")
	defer a.Close()
	defer b.Close()
	for n := range 100 {
		if more := a.More(); more != b.More() || !more {
			if more != b.More() {
				t.Errorf("%s: one plan ends after %d requests", name, n)
			}
			return
		}
		x, y := a.Next(), b.Next()
		if x.Prompt != nil && y.Prompt != nil { // they point to their files' indexes
			if x.Prompt.Number != y.Prompt.Number || x.Prompt.Line() != y.Prompt.Line() {
				t.Errorf("%s: prompt %d is of %s, want %s", name, n, y.Prompt.Line(), x.Prompt.Line())
			}
			x.Prompt, y.Prompt = nil, nil
		}
		if !reflect.DeepEqual(x, y) {
			t.Errorf("%s: request %d is\n%+v, want\n%+v", name, n, y, x)
			return
		}
	}
}
