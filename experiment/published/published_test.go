package published

import (
	"slices"
	"strings"
	"testing"
)

const valid = `source s | S | MIT | a test
figures source=s model=m precision=fp8 gpu=g gpus=8 input=1024 output=1024 engine=vllm version=0.1 date=2026-03-25
4 200.5 10
max 1500

figures source=s model=m precision=fp8 gpu=g gpus=4 expert_parallel=4 scenario=offline submitter=X engine=e
total 4000
`

func TestParse(t *testing.T) {
	got, err := parse(strings.NewReader("# a comment\n"+valid), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Figure{
		{Source: "s", Model: "m", Precision: "fp8", GPU: "g", GPUs: 8, ExpertParallel: 1, Input: 1024, Output: 1024,
			Concurrency: 4, TTFTMs: 200.5, TPOTMs: 10, Engine: "vllm", Version: "0.1", Date: "2026-03-25"},
		{Source: "s", Model: "m", Precision: "fp8", GPU: "g", GPUs: 8, ExpertParallel: 1, Input: 1024, Output: 1024,
			OutputPerGPU: 1500, Engine: "vllm", Version: "0.1", Date: "2026-03-25"},
		{Source: "s", Model: "m", Precision: "fp8", GPU: "g", GPUs: 4, ExpertParallel: 4, Scenario: "offline",
			Submitter: "X", OutputPerGPU: 1000, Engine: "e"},
	}
	if !slices.Equal(got.figures, want) {
		t.Errorf("got %+v", got.figures)
	}
}

// TestParseAnotherFile: a file can name the sources of an earlier one, and does not repeat them.
func TestParseAnotherFile(t *testing.T) {
	source, groups, _ := strings.Cut(valid, "\n")
	first, err := parse(strings.NewReader(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := parse(strings.NewReader("source t | T | MIT | another\n"+groups), first.sources)
	if err != nil || len(second.figures) != 3 || second.sources["s"].Name != "S" || second.sources["t"].Name != "T" {
		t.Errorf("got %+v, %v", second, err)
	}
	if len(first.sources) != 1 {
		t.Errorf("the sources of the first file became %v", first.sources)
	}
	if _, err := parse(strings.NewReader(valid), first.sources); err == nil || !strings.Contains(err.Error(), `source "s" again`) {
		t.Errorf("got %v", err)
	}
}

// TestParseLeastLength: the spread of a source's lengths is that of its figures.
func TestParseLeastLength(t *testing.T) {
	got, err := parse(strings.NewReader(strings.Replace(valid, "| a test", "| a test | least_length=0.5", 1)), nil)
	if err != nil || got.figures[0].LeastLength != 0.5 || got.figures[0].MeanInput() != 768 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestParseErrors: each mistake is an error with the number of its line.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"4 200.5 10", "4 200.5", "line 3"},
		{"4 200.5 10", "4 200.5 0", `line 3: "0" is no number above 0`},
		{"4 200.5 10", "4 -1 10", "line 3"},
		{"4 200.5 10", "4 NaN 10", "line 3"},
		{"4 200.5 10", "4 Inf 10", "line 3"},
		{"4 200.5 10", "0 200.5 10", "line 3"},
		{"4 200.5 10", "4.5 200.5 10", "line 3"},
		{"4 200.5 10\nmax 1500\n", "", "the group of line 2 has no figure"},
		{"total 4000", "", "the group of line 6 has no figure"},
		{"total 4000", "4 200 10", "line 7"},
		{"max 1500", "total 1500", "line 4"},
		{"| a test", "| a test | 0", `line 1: "0" is not like least_length=0.8`},
		{"| a test", "| a test | least_length=1.1", "line 1"},
		{"gpus=8", "gpus=x", "line 2: gpus"},
		{"gpus=8 ", "", "line 2: gpus is missing"},
		{"gpus=4", "gpus=2", "line 6: expert_parallel is 4 on 2 GPUs"},
		{"gpu=g gpus=8", "gpu=g gpu=g gpus=8", "line 2: gpu again"},
		{"model=m precision=fp8 gpu=g gpus=8", "model= precision=fp8 gpu=g gpus=8", "line 2"},
		{"engine=vllm", "engin=vllm", `line 2: "engin=vllm" is no key=value`},
		{" engine=vllm", "", "line 2: engine is missing"},
		{"source=s model=m precision=fp8 gpu=g gpus=8", "source=x model=m precision=fp8 gpu=g gpus=8", `line 2: source "x" has no source line`},
		{"output=1024 ", "", "line 2: a group has either"},
		{"scenario=offline", "input=1 output=1 scenario=offline", "line 6: a group has either"},
		{"2026-03-25", "2026-13-25", "line 2: date"},
		{"2026-03-25", "March", "line 2: date"},
		{"| MIT ", "", "line 1: a source has 4 fields"},
		{"| MIT ", "|  ", "line 1: field 3"},
		{"source s |", "4 1 1\nsource s |", "line 1: \"4 1 1\" is before the first group"},
		{"a test\n", "a test\nsource s | S | MIT | again\n", `line 2: source "s" again`},
	} {
		if !strings.Contains(valid, c.old) {
			t.Fatalf("%q is not in the text", c.old)
		}
		_, err := parse(strings.NewReader(strings.Replace(valid, c.old, c.new, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: got %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

// FuzzParse: whatever the text is, a figure that is accepted is complete.
func FuzzParse(f *testing.F) {
	f.Add(valid)
	f.Add(figures[:2000])
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parse(strings.NewReader(text), nil)
		if err != nil {
			if got.figures != nil || !strings.Contains(err.Error(), "line ") {
				t.Errorf("%v with %d figures", err, len(got.figures))
			}
			return
		}
		for _, x := range got.figures {
			times := x.Concurrency > 0 && x.TTFTMs > 0 && x.TPOTMs > 0
			if x.Model == "" || x.GPUs < 1 || times == (x.OutputPerGPU > 0) || got.sources[x.Source].Key == "" {
				t.Errorf("accepted %+v", x)
			}
		}
	})
}
