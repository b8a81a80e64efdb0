package trace

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// open opens a file of testdata.
func open(t *testing.T, o Options) *Reader {
	t.Helper()
	o.Check(func(key, problem, hint string) { t.Fatalf("%s: %s (%s)", key, problem, hint) })
	o.File = "testdata/" + o.File
	r, err := Open(o, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// all reads a trace to its end.
func all(t *testing.T, r *Reader) (out []Entry) {
	t.Helper()
	for {
		e, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

// failure is the error of reading a text to its end; nil if there is none.
func failure(text string, o Options) error {
	o.File = "x"
	r, err := New(strings.NewReader(text), o, nil)
	for err == nil {
		_, err = r.Next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		file string
		info Info
		rows int
		some map[int]Entry // by their index
	}{
		{"mooncake.jsonl", Info{Format: formatMooncake, Timed: true, BlockTokens: 512}, 12, map[int]Entry{
			0:  {Line: 1, Input: 600, Output: 20, Blocks: []uint64{0, 1}},
			5:  {Line: 6, At: 5999 * time.Millisecond, Input: 1024, Output: 40, Blocks: []uint64{0, 6}},
			11: {Line: 12, At: 18 * time.Second, Input: 1536, Output: 6, Blocks: []uint64{0, 2, 3}},
		}},
		{"azure2023.csv", Info{Format: formatAzure, Timed: true}, 12, map[int]Entry{
			0:  {Line: 2, Input: 4808, Output: 10},
			1:  {Line: 3, At: 52 * time.Millisecond, Input: 3180, Output: 8},
			7:  {Line: 9, At: 5020040200 * time.Nanosecond, Input: 90, Output: 1},
			11: {Line: 13, At: 2*time.Minute + 56770040*time.Microsecond, Input: 901, Output: 3},
		}},
		{"azure2024.csv", Info{Format: formatAzure, Timed: true}, 12, map[int]Entry{
			0:  {Line: 2, Input: 2162, Output: 5},
			1:  {Line: 3, At: 990070 * time.Microsecond, Input: 2163, Output: 6},
			11: {Line: 13, At: 48*time.Hour + 59990069*time.Microsecond, Input: 2173, Output: 16},
		}},
		{"burstgpt.csv", Info{Format: formatBurstGPT, Timed: true}, 11, map[int]Entry{
			0: {Line: 2, Input: 472, Output: 18, Session: 1, Turn: 1, Class: "ChatGPT"},
			2: {Line: 4, At: 113 * time.Second, Input: 417, Output: 276, Session: 1, Turn: 2, Class: "GPT-4"},
			3: {Line: 6, At: 180 * time.Second, Input: 185, Output: 212, Class: "ChatGPT"}, // the row before it had failed
			8: {Line: 11, At: 274500 * time.Millisecond, Input: 32, Output: 43, Session: 5, Turn: 3, Class: "ChatGPT"},
		}},
		{"burstgpt_old.csv", Info{Format: formatBurstGPT, Timed: true}, 11, map[int]Entry{
			2: {Line: 4, At: 113 * time.Second, Input: 417, Output: 276, Class: "GPT-4"},
		}},
		{"native.jsonl", Info{Format: formatNative, Timed: true, BlockTokens: 64}, 12, map[int]Entry{
			0: {Line: 2, Input: 61, Output: 1, Blocks: []uint64{0}, Session: 1, Turn: 1, Class: "a"},
			1: {Line: 3, At: 12500 * time.Microsecond, Input: 125, Output: 2, Blocks: []uint64{1000, 1001}, Session: 2, Turn: 1, Class: "b"},
		}},
		{"recorded.jsonl", Info{Format: formatNative, Timed: true, BlockTokens: 16, Estimated: true, Lacking: 1, Ends: true}, 3, map[int]Entry{
			0: {Line: 5, Input: 24, Output: 9, Blocks: []uint64{11, 21}}, // estimated: 96 bytes
			1: {Line: 2, At: 80500 * time.Microsecond, Input: 40, Output: 5, Blocks: []uint64{11, 12, 13}, Session: 1, Turn: 1, Class: "1"},
			2: {Line: 6, At: 180 * time.Millisecond, Input: 80, Output: 7, Blocks: []uint64{11, 12, 14, 15, 16}, Session: 1, Turn: 2, Class: "1"},
		}},
		{"log.jsonl", Info{Format: formatLog, Timed: true, BlockTokens: 64, Estimated: true}, 12, map[int]Entry{
			// "system" and a line end, 372 bytes, a line end, "user" and a line end, 24 bytes, a line end:
			// 410 bytes.
			0: {Line: 1, Input: 103, Output: 4, Blocks: []uint64{0, 1}, Session: 1, Turn: 1, Class: "m-small"},
			1: {Line: 2, At: 1250 * time.Millisecond, Input: 103, Output: 8, Blocks: []uint64{0, 1}, Session: 2, Turn: 1, Class: "m-large"},
			4: {Line: 5, At: 5 * time.Second, Input: 103, Output: 77, Blocks: []uint64{0, 4}, Session: 2, Turn: 3, Class: "m-small"},
		}},
		{"sharegpt.json", Info{Format: formatShareGPT, BlockTokens: 64, Estimated: true}, 11, map[int]Entry{
			// "system" and a line end, 372 bytes, a line end, "human" and a line end, 20 bytes, a line end:
			// 407 bytes.
			0: {Line: 2, Input: 102, Output: 27, Blocks: []uint64{0, 1}, Session: 1, Turn: 1},
			1: {Line: 2, Input: 134, Output: 4, Blocks: []uint64{0, 2, 3}, Session: 1, Turn: 2},
			2: {Line: 27, Input: 102, Output: 3, Blocks: []uint64{0, 1}, Session: 2, Turn: 1},
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			r := open(t, Options{File: c.file})
			if r.Info != c.info {
				t.Errorf("found %+v, want %+v", r.Info, c.info)
			}
			got := all(t, r)
			if len(got) != c.rows {
				t.Fatalf("%d requests, want %d", len(got), c.rows)
			}
			for i, want := range c.some {
				if d := cmp.Diff(want, got[i]); d != "" {
					t.Errorf("request %d (-want +got):\n%s", i, d)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("behind the end: %v", err)
			}
			stated := all(t, open(t, Options{File: c.file, Format: c.info.Format}))
			if d := cmp.Diff(got, stated); d != "" {
				t.Errorf("with its format stated it reads otherwise:\n%s", d)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	const moon = `{"timestamp": 1, "input_length": 600, "output_length": 2, "hash_ids": [0, 1]}` + "\n"
	const azureHead = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	const burstHead = "Timestamp,Request tokens,Response tokens\n"
	const recording = `{"schema":"bench/trace/v1","time_unit":"ms","recorded":{}}` + "\n"
	const native = `{"schema":"bench/trace/v1","time_unit":"ms","block_tokens":64}` + "\n"
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string // parts of the error; the first is its place
	}{
		{"empty", "", Options{}, []string{"x:1: the file is empty"}},
		{"blank", " \n\n\t", Options{}, []string{"x:2: the file is empty"}},
		{"words", "hello\n", Options{}, []string{"x:1: ", "hint: set format to one of mooncake"}},
		{"other JSON", `{"a":1}`, Options{}, []string{"x:1: unknown trace format of the first line"}},
		{"JSON of several lines", "{\n\"timestamp\": 1}", Options{}, []string{"x:1: ", "one request a line"}},
		{"unknown format", moon, Options{Format: "vllm"}, []string{"x:1: unknown trace format"}},

		{"block size", moon, Options{BlockTokens: 16}, []string{"x:1: 2 hash ids for a prompt of 600 tokens, but blocks of 16 tokens make 38", "set block_tokens = 512"}},
		{"one id", strings.Replace(moon, "[0, 1]", "[0]", 1), Options{}, []string{"x:1: ", "block_tokens = 1024"}},
		{"no ids", moon + strings.Replace(moon, "[0, 1]", "[]", 1), Options{}, []string{"x:2: 0 hash ids", "check input_length and hash_ids"}},
		{"more ids than tokens", `{"timestamp": 1, "input_length": 1, "output_length": 2, "hash_ids": [0, 1]}`, Options{}, []string{"x:1: 2 hash ids", "check input_length and hash_ids"}},
		{"no size gives it", `{"timestamp":1,"input_length":10,"output_length":2,"hash_ids":[0,1,2,3,4,5,6]}`, Options{}, []string{"x:1: ", "hint: check input_length"}},
		{"exact size", `{"timestamp":1,"input_length":10,"output_length":2,"hash_ids":[0,1,2,3,4]}`, Options{}, []string{"x:1: ", "set block_tokens = 2"}},

		{"back in time", moon + "\n" + strings.Replace(moon, "1,", "0,", 1), Options{}, []string{"x:3: timestamps go back", "sort the file"}},
		{"fraction of ms", strings.Replace(moon, "1,", "61.114,", 1), Options{}, []string{"x:1: the time 61.114 has a fraction", `time_unit = "s"`}},
		{"fraction later", moon + strings.Replace(moon, "1,", "61.114,", 1), Options{}, []string{"x:2: the time 61.114 has a fraction"}},
		{"epoch in s", strings.Replace(moon, "1,", "1700000000,", 1), Options{}, []string{"x:1: the first time 1700000000 is not a date", "in s it is 2023-11-14", `set time_unit = "s", or confirm`}},
		{"epoch in ms", burstHead + "1700000000000,5,5\n", Options{}, []string{"x:2: ", `set time_unit = "ms", or confirm`}},
		{"negative time", strings.Replace(moon, "1,", "-1,", 1), Options{}, []string{"x:1: the time \"-1\" is negative"}},
		{"beyond", strings.Replace(moon, "1,", "99999999999999999999,", 1), Options{}, []string{"x:1: ", "is not a time"}},
		{"beyond by its unit", strings.Replace(moon, "1,", "9999999999,", 1), Options{TimeUnit: "s"}, []string{"x:1: ", "is too large"}},
		{"beyond by exponent", strings.Replace(moon, "1,", "1e300,", 1), Options{}, []string{"x:1: ", "is too large"}},
		{"no time", `{"timestamp": 1, "input_length": 1, "output_length": 1}` + "\n" + `{"input_length": 1, "output_length": 1}`, Options{}, []string{"x:2: no timestamp"}},
		{"NaN", strings.Replace(moon, "1,", "NaN,", 1), Options{Format: formatMooncake}, []string{"x:1: "}},
		{"negative length", strings.Replace(moon, "600", "-600", 1), Options{}, []string{"x:1: negative length"}},
		{"huge length", strings.Replace(moon, "600", "600000000", 1), Options{}, []string{"x:1: ", "exceeds the limit of 16777216 tokens"}},
		{"length with a fraction", strings.Replace(moon, "600", "600.5", 1), Options{}, []string{"x:1: not a row of a mooncake trace"}},
		{"no length", `{"timestamp": 1, "input_length": 600}`, Options{}, []string{"x:1: ", "output_length is missing"}},
		{"negative id", strings.Replace(moon, "[0,", "[-1,", 1), Options{}, []string{"x:1: "}},
		{"cut line", moon + moon[:40], Options{}, []string{"x:2: "}},

		{"no column", "TIMESTAMP,ContextTokens\n", Options{Format: formatAzure}, []string{`x:1: no column "GeneratedTokens"`}},
		{"too few columns", azureHead + "2023-11-16 18:17:03,5\n", Options{}, []string{"x:2: 2 columns, the header has 3"}},
		{"no date", azureHead + "yesterday,5,5\n", Options{}, []string{`x:2: "yesterday" is not a date`}},
		{"old date", azureHead + "0001-01-01 00:00:00,5,5\n", Options{}, []string{"x:2: the date"}},
		{"NaN in CSV", burstHead + "5,NaN,5\n", Options{}, []string{`x:2: Request tokens "NaN" is not an integer`}},
		{"NaN time in CSV", burstHead + "NaN,5,5\n", Options{}, []string{`x:2: "NaN" is not a time`}},
		{"infinite time in CSV", burstHead + "1e999,5,5\n", Options{}, []string{`x:2: `, "is too large"}},
		{"quotes", burstHead + "5,\"5,5\n", Options{}, []string{"x:2: ", "quotes"}},

		{"recording without times", `{"schema":"bench/trace/v1","recorded":{}}`, Options{}, []string{"x:1: a recording without time_unit"}},
		{"recording, huge blocks", `{"schema":"bench/trace/v1","time_unit":"ms","block_bytes":1000000000,"recorded":{}}`, Options{}, []string{"x:1: block_bytes 1000000000 is not between"}},
		{"recording, ids without a size", recording + `{"timestamp":1,"input_length":1,"output_length":1,"hash_ids":[1]}` + "\n", Options{}, []string{"x:2: hash_ids in a recording whose header"}},
		{"recording, no length", recording + `{"timestamp":1,"input_length":1}` + "\n", Options{}, []string{"x:2: input_length or output_length is missing"}},
		{"recording, negative length", recording + `{"timestamp":1,"input_length":1,"output_length":-1}` + "\n", Options{}, []string{"x:2: input_length 1 or output_length -1 is not"}},
		{"recording, session 0", recording + `{"timestamp":1,"input_length":1,"output_length":1,"session":-1}` + "\n", Options{}, []string{"x:2: session and turn"}},
		{"recording, no time", recording + `{"input_length":1,"output_length":1}` + "\n", Options{}, []string{"x:2: no timestamp"}},
		{"recording, garbage inside", recording + "{\n" + `{"counts":{}}`, Options{}, []string{"x:2: not a line of a recording"}},
		{"other version", `{"schema":"bench/trace/v2"}`, Options{}, []string{`x:1: unknown schema "bench/trace/v2"`, "bench/trace/v1"}},
		{"unit of a header", `{"schema":"bench/trace/v1","time_unit":"h"}`, Options{}, []string{"x:1: unknown time_unit"}},
		{"untimed with times", `{"schema":"bench/trace/v1"}` + "\n" + `{"timestamp":1,"input_length":1,"output_length":1}`, Options{}, []string{"x:2: a timestamp in a trace whose header"}},
		{"ids without a size", `{"schema":"bench/trace/v1","time_unit":"s"}` + "\n" + moon, Options{}, []string{"x:2: hash_ids in a trace whose header"}},
		{"blocks said twice", native, Options{BlockTokens: 64}, []string{"x:1: the header of the trace sets"}},
		{"session 0", native + `{"timestamp":1,"input_length":1,"output_length":1,"session":-1}`, Options{}, []string{"x:2: session and turn"}},

		{"log without prompt", `{"prompt":"a","output":"b"}` + "\n" + `{"output":"b"}`, Options{}, []string{"x:2: no prompt"}},
		{"log without output", `{"prompt":"a"}`, Options{}, []string{"x:1: no output"}},
		{"log with a number", `{"prompt":5,"output":"b"}`, Options{}, []string{"x:1: the prompt is neither"}},
		{"log with relative times", `{"timestamp":5.5,"prompt":"a","output":"b"}`, Options{}, []string{"x:1: the unit of the time 5.5 is unknown", `time_unit = "s"`}},
		{"log with some times", `{"prompt":"a","output":"b"}` + "\n" + `{"timestamp":"2026-01-01T00:00:00Z","prompt":"a","output":"b"}`, Options{}, []string{"x:2: unexpected timestamp"}},
		{"content", `{"messages":[{"role":"user","content":7}],"output":"b"}`, Options{}, []string{"x:1: the content of message 1"}},

		{"array without end", `[{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]}` + "\n", Options{}, []string{"x:2: conversation 2: unexpected end of file"}},
		{"conversation of a number", "[\n{\"conversations\":[]},\n5]", Options{}, []string{"x:3: conversation 2: "}},
		{"array in the wrong format", "[]", Options{Format: formatMooncake}, []string{"x:1: "}},

		{"window without times", `[]`, Options{Start: time.Second}, []string{"x: start, end, speed and jitter require timestamps, which the sharegpt format does not have"}},
		{"blocks of Azure", azureHead, Options{BlockTokens: 16}, []string{"x: block_tokens does not apply to the azure format"}},
		{"text of Azure", azureHead, Options{BytesPerToken: 3}, []string{"x: bytes_per_token does not apply to the azure format"}},
		{"unit of dates", azureHead, Options{TimeUnit: "s"}, []string{"x: time_unit does not apply to the azure format"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := failure(c.text, c.o)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), c.want[0]) {
				t.Errorf("got %q, want it to begin with %q", err, c.want[0])
			}
			for _, want := range c.want[1:] {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

// TestStays: an error is not forgotten by asking again.
func TestStays(t *testing.T) {
	r, err := New(strings.NewReader("Timestamp,Request tokens,Response tokens\nx,1,1\n1,1,1\n"), Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, first := r.Next()
	_, second := r.Next()
	if first == nil || second != first {
		t.Errorf("first %v, then %v", first, second)
	}
}

func TestOptions(t *testing.T) {
	file := func(o Options) Options { o.File = "x"; return o }
	for _, c := range []struct {
		o    Options
		want string // key of the one problem; empty: none
	}{
		{Options{}, "file"},
		{file(Options{}), ""},
		{file(Options{Format: "csv"}), "format"},
		{file(Options{TimeUnit: "h"}), "time_unit"},
		{file(Options{BlockTokens: -1}), "block_tokens"},
		{file(Options{BytesPerToken: 1e9}), "bytes_per_token"},
		{file(Options{Speed: -2}), "speed"},
		{file(Options{Speed: 2}), ""},
		{file(Options{Start: time.Minute, End: time.Second}), "end"},
		{file(Options{Start: time.Second, End: time.Minute}), ""},
		{file(Options{Start: -1}), "start"},
		{file(Options{Jitter: -1}), "jitter"},
		{file(Options{MinInput: 5, MaxInput: 4}), "max_input"},
		{file(Options{CapInput: -1}), "cap_input"},
	} {
		var got []string
		c.o.Check(func(key, _, hint string) {
			got = append(got, key)
			if hint == "" {
				t.Errorf("%s: no hint", key)
			}
		})
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", c.o, got, want)
		}
	}
}

func TestKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      Options
		lines  []int
		counts Counts
	}{
		{"window", Options{Start: 3 * time.Second, End: 9 * time.Second}, []int{4, 5, 6}, Counts{Read: 6, Filtered: 3}},
		{"from", Options{Start: 15 * time.Second}, []int{10, 11, 12}, Counts{Read: 12, Filtered: 9}},
		{"lengths", Options{MinInput: 600, MaxInput: 1024}, []int{1, 6, 8}, Counts{Read: 12, Filtered: 9}},
		{"cap", Options{CapInput: 1500, MinInput: 600}, []int{1, 2, 4, 6, 7, 8, 10, 12}, Counts{Read: 12, Filtered: 4, CutInput: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.File = "mooncake.jsonl"
			r := open(t, c.o)
			var lines []int
			for _, e := range all(t, r) {
				lines = append(lines, e.Line)
			}
			if !slices.Equal(lines, c.lines) || r.counts != c.counts {
				t.Errorf("lines %v of %+v, want %v of %+v", lines, r.counts, c.lines, c.counts)
			}
		})
	}
}

func TestCapCutsBlocks(t *testing.T) {
	for _, c := range []struct {
		limit int
		want  []uint64
	}{{1024, []uint64{0, 2}}, {1025, []uint64{0, 2, 3}}, {1, []uint64{0}}} {
		e := all(t, open(t, Options{File: "mooncake.jsonl", CapInput: c.limit}))[6]
		if e.Input != c.limit || !slices.Equal(e.Blocks, c.want) {
			t.Errorf("capped at %d: %d tokens in blocks %v, want %v", c.limit, e.Input, e.Blocks, c.want)
		}
	}
}

func TestSpeed(t *testing.T) {
	plain := all(t, open(t, Options{File: "mooncake.jsonl"}))
	for _, speed := range []float64{0.5, 3} {
		for i, e := range all(t, open(t, Options{File: "mooncake.jsonl", Speed: speed})) {
			if want := float64(plain[i].At) / speed; float64(e.At) < want-1 || float64(e.At) > want+1 {
				t.Errorf("speed %v: request %d at %v, want %v", speed, i, e.At, time.Duration(want))
			}
		}
	}
}

func TestJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 60).Draw(t, "steps")
		step := time.Duration(rapid.IntRange(1, 4000).Draw(t, "jitter")) * time.Millisecond
		var text strings.Builder
		at := make([]time.Duration, len(steps))
		for i, s := range steps {
			if i > 0 {
				at[i] = at[i-1] + time.Duration(s)*3*time.Second
			}
			fmt.Fprintf(&text, `{"timestamp":%d,"input_length":%d,"output_length":1}`+"\n", at[i].Milliseconds(), i+1)
		}
		read := func(seed uint64) (out []Entry) {
			r, err := New(strings.NewReader(text.String()), Options{Jitter: step}, rand.New(rand.NewPCG(seed, 0)))
			for err == nil {
				var e Entry
				if e, err = r.Next(); err == nil {
					out = append(out, e)
				}
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			return out
		}
		got := read(1)
		if len(got) != len(steps) {
			t.Fatalf("%d requests of %d", len(got), len(steps))
		}
		for i, e := range got {
			end := at[i] + step
			if next, ok := slices.BinarySearch(at, at[i]+1); !ok && next < len(at) {
				end = min(end, at[next])
			}
			if e.Input != i+1 || e.At < at[i] || e.At >= end || i > 0 && e.At < got[i-1].At {
				t.Fatalf("request %d of %v at %v, jitter %v", i, at[i], e.At, step)
			}
		}
		if d := cmp.Diff(got, read(1)); d != "" {
			t.Fatalf("the same seed gives other times:\n%s", d)
		}
	})
}

// TestJitterSpreads: the mean of many requests of one moment is the middle of the step.
func TestJitterSpreads(t *testing.T) {
	text := strings.Repeat(`{"timestamp":0,"input_length":1,"output_length":1}`+"\n", 10000)
	r, err := New(strings.NewReader(text), Options{Jitter: time.Second}, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for _, e := range all(t, r) {
		sum += e.At
	}
	if mean := sum / 10000; mean < 480*time.Millisecond || mean > 520*time.Millisecond {
		t.Errorf("mean %v, want 500ms", mean)
	}
}
