package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestInspect(t *testing.T) {
	r, err := Inspect(open(t, Options{File: "mooncake.jsonl"}), math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 12 || r.SpanS != 18 || r.Arrivals.PerS != 12.0/18 || r.Arrivals.PeakPerS != 3 || r.Arrivals.SameTime != 5.0/11 {
		t.Errorf("%+v %+v", r, r.Arrivals)
	}
	if want := (Lengths{Mean: 11726.0 / 12, Min: 40, P50: 812.5, P90: 1690, P95: 1835, P99: 1967, Max: 2000}); !near(r.Input, want) {
		t.Errorf("input %+v, want %+v", r.Input, want)
	}
	// 29 blocks, 13 of them different: 16 are hit, each with 512 tokens.
	c := r.Cache
	if c.Blocks != 29 || c.Different != 13 || c.Largest != 4 || c.HitRate != 8192.0/11726 || c.Unchained != 0 {
		t.Errorf("cache %+v", c)
	}
	if len(c.Sizes) != 4 || c.Sizes[3].LRU > c.HitRate || c.Sizes[3].TailFirst > c.HitRate || c.Sizes[1].Tokens != 2*512 {
		t.Errorf("sizes %+v", c.Sizes)
	}
	if len(r.Notes) != 0 { // too few gaps to tell a step
		t.Errorf("notes %+v", r.Notes)
	}
}

func near(a, b Lengths) bool {
	return cmp.Equal(a, b, cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-6 }))
}

func TestInspectJSON(t *testing.T) {
	for _, file := range []string{"mooncake.jsonl", "azure2023.csv", "burstgpt.csv", "sharegpt.json", "log.jsonl", "native.jsonl"} {
		r, err := Inspect(open(t, Options{File: file}), math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(file, err)
		}
		var again Report
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(file, err)
		}
		if d := cmp.Diff(r, &again); d != "" && len(r.Classes) > 0 {
			t.Errorf("%s: %s", file, d)
		}
		var b strings.Builder
		if err := Text(&b, r); err != nil || !strings.Contains(b.String(), r.Format) {
			t.Errorf("%s: %v\n%s", file, err, &b)
		}
	}
}

// TestText: control characters of a file do not reach the terminal.
func TestText(t *testing.T) {
	r := &Report{File: "a\x1b[2J", Classes: map[string]int{"b\x1b]0;": 1, strings.Repeat("c", 1<<20): 2}}
	var b strings.Builder
	if err := Text(&b, r); err != nil || strings.Contains(b.String(), "\x1b") || b.Len() > 2000 {
		t.Errorf("%v, %q", err, &b)
	}
}

// TestNothing: a trace without a request is an error with the reason.
func TestNothing(t *testing.T) {
	span := `{"traceId":"t","spanId":"a","name":"chat m","startTimeUnixNano":"1760000000000000000"`
	for _, test := range []struct {
		text string
		o    Options
		want string
	}{
		{"", Options{}, "trace:1: the file is empty"},
		{"TIMESTAMP,ContextTokens,GeneratedTokens\n", Options{}, "trace has no request\nhint: "},
		{`{"requests":[],"block_size":64}`, Options{}, "trace has no request\nhint: "},
		{`{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}`, Options{}, "trace has no request\nhint: "},
		{`{"spans":[` + span + `}]}`, Options{}, "trace has no request to replay (rows read: 1): 1 skipped with neither token counts nor text\nhint: record gen_ai.usage.input_tokens"},
		{`{"timestamp":1,"input_length":0,"output_length":3}`, Options{}, "(rows read: 1): 1 skipped with an empty prompt or answer\nhint: check"},
		{`{"timestamp":1,"input_length":9,"output_length":3}`, Options{MinInput: 10}, "(rows read: 1): 1 excluded by window or filters\nhint: widen"},
	} {
		test.o.File = "trace"
		r, err := New(strings.NewReader(test.text), test.o, nil)
		if err == nil {
			_, err = Inspect(r, math.MaxInt)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.text, err, test.want)
		}
	}
}

// TestProblems: all malformed lines are named, up to a bound; behind a mistake of the whole file, or in one document,
// none.
func TestProblems(t *testing.T) {
	moon := `{"timestamp":0,"input_length":-1,"output_length":1}` + "\n"
	for name, test := range map[string]struct{ text, want string }{
		"lines": {moon + "{\n" + strings.ReplaceAll(moon, "-1", "1") + strings.ReplaceAll(moon, "0", "x"), "trace:1: negative length: input -1 tokens, output 1 tokens\n" +
			"error: trace:2: not a row of a mooncake trace: not a JSON object: unexpected end of JSON input\n" +
			"error: trace:4: not a row of a mooncake trace: not a JSON object: invalid character 'x' looking for beginning of value"},
		"many": {strings.Repeat(moon, 25), "error: trace: 5 more rows are malformed"},
		"list": {`[{"traceId":"t","spanId":"1","attributes":7},{"traceId":"t"}]`,
			"trace:1: attributes: neither an object nor a list of keys and values"},
		"sessions": {`{"block_size":1,"requests":[{"type":"n","t":0,"in":1,"out":-1},{"type":"z"}]}`,
			"trace:1: requests[0]: in 1 or out -1 is not between 0 and 16777216 tokens"},
		"unsorted": {`{"timestamp":5,"input_length":1,"output_length":1}` + "\n" + strings.Repeat(`{"timestamp":1,"input_length":1,"output_length":1}`+"\n", 3),
			"trace:2: timestamps go back: -4ms after the first row, but the previous row is at 0s\nhint: sort the file by time"},
	} {
		r, err := New(strings.NewReader(test.text), Options{File: "trace"}, nil)
		if err == nil {
			_, err = Inspect(r, math.MaxInt)
		}
		if err == nil || err.Error() != test.want && name != "many" || !strings.HasSuffix(err.Error(), test.want) || strings.Count(err.Error(), "trace:") > 21 {
			t.Errorf("%s: %v\nwant %s", name, err, test.want)
		}
	}
}

func arrive(gaps func() time.Duration, n int) *Arrivals {
	a := newArrivals()
	at := time.Duration(0)
	for range n {
		a.add(at)
		at += gaps()
	}
	return a.result()
}

func TestArrivals(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	poisson := arrive(func() time.Duration { return time.Duration(r.ExpFloat64() * 1e8) }, 100_000)
	if *poisson.GapCV < 0.98 || *poisson.GapCV > 1.02 || *poisson.Dispersion1s < 0.95 || *poisson.Dispersion1s > 1.05 ||
		*poisson.Dispersion30s < 0.8 || *poisson.Dispersion30s > 1.2 || poisson.PerS < 9.8 || poisson.PerS > 10.2 || poisson.StepS != 0 {
		t.Errorf("Poisson: %s", asJSON(poisson))
	}
	even := arrive(func() time.Duration { return 100 * time.Millisecond }, 100_000)
	if *even.GapCV > 1e-6 || *even.Dispersion1s > 1e-6 || even.PeakPerS != 10 || even.StepS != 0 {
		t.Errorf("constant: %s", asJSON(even))
	}
	// One request, then 90 s of nothing, over and over: variance over mean of 0 and 1 is 1 − the mean.
	rare := arrive(func() time.Duration { return 90 * time.Second }, 1001)
	if math.Abs(*rare.Dispersion1s-(1-1.0/90)) > 1e-9 || math.Abs(*rare.Dispersion30s-(1-1.0/3)) > 1e-9 {
		t.Errorf("rare: %s", asJSON(rare))
	}
	one := arrive(func() time.Duration { return 0 }, 1)
	if one.GapCV != nil || one.Dispersion1s != nil || one.PerS != 0 {
		t.Errorf("one: %s", asJSON(one))
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	return fmt.Sprint(string(b), err)
}

func TestStep(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		name string
		gap  func() time.Duration
		want float64
	}{
		{"exact steps", func() time.Duration { return time.Duration(r.IntN(3)) * time.Second }, 1},
		{"steps of 3 s, give or take 1 ms", func() time.Duration {
			return time.Duration(min(r.IntN(6), 2)/2) * (3*time.Second + time.Duration([]int{-1, 0, 0, 0, 1}[r.IntN(5)])*time.Millisecond)
		}, 3},
		{"bursts without a clock", func() time.Duration {
			return time.Duration(r.IntN(2)) * time.Duration(r.ExpFloat64()*1e9)
		}, 0},
		{"no two at once", func() time.Duration { return time.Duration(r.IntN(3)+1) * time.Second }, 0},
	} {
		if got := arrive(c.gap, 5000).StepS; got != c.want {
			t.Errorf("%s: a step of %v s, want %v", c.name, got, c.want)
		}
	}
}

func TestNotes(t *testing.T) {
	text := strings.Builder{}
	for i := range 100 {
		fmt.Fprintf(&text, `{"timestamp":%d,"input_length":600,"output_length":1,"hash_ids":[%d,%d]}`+"\n", i/2*3000, i%2, 1-i%2)
	}
	r, err := New(strings.NewReader(text.String()), Options{Speed: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Inspect(r, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, n := range got.Notes {
		codes = append(codes, n.Code)
	}
	if !slices.Equal(codes, []string{"quantised", "unchained"}) || !strings.Contains(got.Notes[0].Hint, `jitter = "3s"`) {
		t.Errorf("notes %+v", got.Notes)
	}
}

// TestTurns: rows of a session_id are whole prompts, or only what a turn adds.
func TestTurns(t *testing.T) {
	for _, c := range []struct{ rows, code, text string }{
		{`{"timestamp":0,"session_id":"a","input_length":600,"output_length":5,"hash_ids":[1,2]}
{"timestamp":1,"session_id":"b","input_length":600,"output_length":5,"hash_ids":[3,4]}
{"timestamp":2,"session_id":"a","input_length":1100,"output_length":5,"hash_ids":[1,5,6]}`, "", ""},
		{`{"timestamp":0,"session_id":7,"input_length":600,"output_length":5}
{"timestamp":2,"session_id":7,"input_length":605,"output_length":5}`, "", ""}, // its length says neither
		{`{"timestamp":0,"session_id":"a","input_length":600,"output_length":5,"hash_ids":[1,2]}
{"timestamp":1,"session_id":"a","input_length":40,"output_length":5,"hash_ids":[3]}
{"timestamp":2,"session_id":"a","input_length":40,"output_length":5,"hash_ids":[4]}`, "delta_rows", "2 of 2 later rows"},
		{`{"timestamp":0,"input_length":600,"output_length":5}
{"timestamp":2,"input_length":40,"output_length":5}`, "", ""},
		{`{"timestamp":0,"session_id":null,"input_length":600,"output_length":5}
{"timestamp":2,"session_id":null,"input_length":40,"output_length":5}`, "", ""},
	} {
		r, err := New(strings.NewReader(c.rows+"\n"), Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Inspect(r, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(got.Notes, func(n Note) bool { return strings.HasSuffix(n.Code, "_rows") })
		if i < 0 != (c.code == "") || i >= 0 && (got.Notes[i].Code != c.code || !strings.HasPrefix(got.Notes[i].Text, c.text)) {
			t.Errorf("%s\nnotes %+v", c.rows, got.Notes)
		}
	}
}

// TestLengths holds the tally against sorting (type 7).
func TestLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 200).Draw(t, "lengths")
		c := tally{}
		for _, x := range xs {
			c[x]++
		}
		slices.Sort(xs)
		got := c.lengths(1)
		for p, v := range map[float64]float64{0: got.Min, 0.5: got.P50, 0.9: got.P90, 0.95: got.P95, 0.99: got.P99, 1: got.Max} {
			h := p * float64(len(xs)-1)
			i := int(h)
			want := float64(xs[i])
			if i+1 < len(xs) {
				want += (h - float64(i)) * float64(xs[i+1]-xs[i])
			}
			if math.Abs(v-want) > 1e-9 {
				t.Fatalf("p%v: %v, want %v of %v", p, v, want, xs)
			}
		}
	})
}
