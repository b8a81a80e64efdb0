package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func sessionsOf(t *testing.T, o Options) (*Reader, []Session) {
	t.Helper()
	r, err := Open(o, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	var out []Session
	for {
		s, err := r.NextSession()
		if err == io.EOF {
			return r, out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
}

// drawn is a session as text: begin, duration, wait, parents, agent, lengths and cached tokens of each request.
func drawn(sessions []Session) string {
	var b strings.Builder
	for _, s := range sessions {
		fmt.Fprintf(&b, "session %d at %v\n", s.Number, s.At)
		for _, n := range s.Nodes {
			fmt.Fprintf(&b, "%v+%v wait %v after %v agent %d: %d/%d cached %d %s\n", n.At, n.Took, n.Wait, n.Parents, n.Agent, n.Input, n.Output, n.Cached, n.Class)
		}
	}
	return b.String()
}

func TestGraphs(t *testing.T) {
	for _, test := range []struct {
		file   string
		info   Info
		counts Counts
		want   string
	}{
		{"weka.jsonl", Info{Format: formatWeka, BlockTokens: 64, Grouped: true, Ends: true}, Counts{Read: 12, Empty: 1}, `session 0 at 0s
0s+4.5s wait 0s after [] agent 0: 150/30 cached 0 big
5s+2s wait 500ms after [0] agent 1: 130/10 cached 64 small
6s+6s wait 1.5s after [0] agent 2: 70/9 cached 0 small
8s+3.25s wait 1s after [1] agent 1: 200/12 cached 128 small
14s+8.3s wait 2s after [2 3] agent 0: 300/50 cached 128 big
22s+0s wait 0s after [4] agent 0: 400/60 cached 256 big
23s+1s wait 700ms after [4] agent 3: 64/5 cached 0 big
41s+2s wait 19s after [5] agent 0: 500/70 cached 384 big
session 1 at 0s
0s+500ms wait 0s after [] agent 0: 64/8 cached 0 big
250ms+500ms wait 250ms after [] agent 0: 128/8 cached 64 big
2.125s+250ms wait 1.375s after [0 1] agent 0: 192/9 cached 128 big
`},
		{"otlp.jsonl", Info{Format: formatOTel, Timed: true, Grouped: true, Ends: true}, Counts{Read: 9, Other: 2, Failed: 1, Duplicate: 1}, `session 0 at 0s
0s+1s wait 0s after [] agent 0: 100/10 cached 0 m
2s+2s wait 1s after [0] agent 1: 200/20 cached 0 m
2.5s+2.5s wait 1.5s after [0] agent 2: 180/30 cached 0 m
6s+3s wait 1s after [1 2] agent 0: 400/40 cached 0 m
session 1 at 6s
0s+1.5s wait 0s after [] agent 0: 50/5 cached 0 m
`},
		{"otel_text.json", Info{Format: formatOTel, Timed: true, BlockTokens: 64, Estimated: true, Grouped: true, Ends: true}, Counts{Read: 2}, `session 0 at 0s
0s+1s wait 0s after [] agent 0: 81/10 cached 0 m
3.5s+500ms wait 2.5s after [0] agent 0: 100/10 cached 64 m
`},
		{"otel_agents.jsonl", Info{Format: formatOTel, Timed: true, Grouped: true, Ends: true}, Counts{Read: 13, Other: 4, Duplicate: 1}, `session 0 at 0s
0s+1s wait 0s after [] agent 0: 100/10 cached 0 m
1.1s+2.9s wait 100ms after [0] agent 1: 201/10 cached 0 m
1.2s+1.8s wait 200ms after [0] agent 2: 301/10 cached 0 m
3.5s+1.5s wait 500ms after [2] agent 2: 302/10 cached 0 m
5.5s+1.5s wait 500ms after [1 3] agent 1: 202/10 cached 0 m
6s+3s wait 1s after [1 3] agent 2: 303/10 cached 0 m
8s+2s wait 1s after [4] agent 1: 203/10 cached 0 m
11s+1s wait 1s after [5 6] agent 0: 110/10 cached 0 m
`},
		{"native_graph.jsonl", Info{Format: formatNative, Timed: true, BlockTokens: 64, Grouped: true, Ends: true}, Counts{Read: 4}, `session 0 at 0s
0s+1s wait 0s after [] agent 0: 100/10 cached 0 
1.5s+2s wait 500ms after [0] agent 1: 120/10 cached 64 
4s+1s wait 500ms after [0 1] agent 0: 190/10 cached 128 m
session 1 at 2s
0s+0s wait 0s after [] agent 0: 64/1 cached 0 
`},
		{"sharegpt.json", Info{Format: formatShareGPT, BlockTokens: 64, Estimated: true}, Counts{}, ""},
	} {
		t.Run(test.file, func(t *testing.T) {
			r, sessions := sessionsOf(t, Options{File: "testdata/" + test.file})
			if r.Info != test.info {
				t.Errorf("info %+v, want %+v", r.Info, test.info)
			}
			if test.want == "" { // a chain
				for _, s := range sessions {
					for i, n := range s.Nodes {
						if i > 0 && !reflect.DeepEqual(n.Parents, []int{i - 1}) || n.Turn != i+1 {
							t.Errorf("no chain: %+v", s)
						}
					}
				}
				return
			}
			if got := drawn(sessions); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
			if r.counts != test.counts {
				t.Errorf("counts %+v, want %+v", r.counts, test.counts)
			}
		})
	}
}

// TestLink compares the parents with the transitive reduction by its definition.
func TestLink(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		nodes := make([]Node, 1+r.IntN(12))
		for i := range nodes {
			nodes[i].At = time.Duration(r.IntN(8))
			nodes[i].Took = time.Duration(r.IntN(4))
		}
		order(nodes)
		if err := link(nodes, indices(len(nodes)), 0); err != nil {
			t.Fatal(err)
		}
		before := func(a, b int) bool { return follows(nodes, a, b) }
		for i := range nodes {
			want := direct(nodes, before, i)
			got := map[int]bool{}
			for _, p := range nodes[i].Parents {
				got[p] = true
			}
			if len(got) != len(want) || len(got) != len(nodes[i].Parents) {
				t.Fatalf("node %d of %+v: parents %v, want %v", i, nodes, nodes[i].Parents, want)
			}
			for _, p := range want {
				if !got[p] {
					t.Fatalf("node %d of %+v: parents %v, want %v", i, nodes, nodes[i].Parents, want)
				}
			}
		}
	}
}

// TestConvertKeepsGraphs: a converted trace has the sessions of the original, also after a second conversion.
func TestConvertKeepsGraphs(t *testing.T) {
	for _, file := range []string{"weka.jsonl", "otlp.jsonl", "otel_text.json", "native_graph.jsonl"} {
		for _, anonymize := range []bool{false, true} {
			_, want := sessionsOf(t, Options{File: "testdata/" + file})
			r, err := Open(Options{File: "testdata/" + file}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := Convert(&b, r, anonymize); err != nil {
				t.Fatal(err)
			}
			_ = r.Close()
			name := t.TempDir() + "/converted.jsonl"
			if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			again, got := sessionsOf(t, Options{File: name})
			for i := range want {
				for n := range want[i].Nodes {
					if anonymize { // which drops the names of models
						want[i].Nodes[n].Class = ""
					}
				}
			}
			if drawn(got) != drawn(want) {
				t.Errorf("%s: got\n%swant\n%s", file, drawn(got), drawn(want))
			}
			if again.Info.Timed != r.Info.Timed || again.Info.BlockTokens != r.Info.BlockTokens {
				t.Errorf("%s: %+v, was %+v", file, again.Info, r.Info)
			}
			requests(t, Options{File: name})
		}
	}
}

// requests reads all requests of a file, whose times must not go back.
func requests(t *testing.T, o Options) (n int) {
	t.Helper()
	r, err := Open(o, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last := time.Duration(0)
	for ; ; n++ {
		e, err := r.Next()
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.At < last {
			t.Fatalf("%v after %v", e.At, last)
		}
		last = e.At
	}
}

// TestAnonymousGraphs: no name, id or text of the file is in the anonymized one.
func TestAnonymousGraphs(t *testing.T) {
	for file, words := range map[string][]string{
		"weka.jsonl": {"big", "small", "s1", "a1", "Explore", "Plan"}, "otlp.jsonl": {"aaaa", "search", "read", "main", `"m"`},
		"otel_text.json": {"river", "Elbe", "terse", "c1", "t1"},
	} {
		r, err := Open(Options{File: "testdata/" + file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := Convert(&b, r, true); err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		for _, word := range words {
			if strings.Contains(b.String(), word) {
				t.Errorf("%s: %q is in\n%s", file, word, &b)
			}
		}
	}
}

// TestSessionOptions: filters, window, caps, speed and jitter apply to whole sessions.
func TestSessionOptions(t *testing.T) {
	for _, test := range []struct {
		o        Options
		file     string
		sessions int
		filtered int
		check    func([]Session) bool
	}{
		{Options{MaxInput: 300}, "otlp.jsonl", 1, 4, func(s []Session) bool { return s[0].At == 6*time.Second && s[0].Number == 0 }},
		{Options{MinInput: 70}, "weka.jsonl", 0, 11, nil},
		{Options{CapInput: 100}, "weka.jsonl", 2, 0, func(s []Session) bool {
			n := s[0].Nodes[4]
			return n.Input == 100 && len(n.Blocks) == 2 && n.Cached <= 100
		}},
		{Options{Start: 5 * time.Second}, "otlp.jsonl", 1, 4, func(s []Session) bool { return s[0].At == time.Second }},
		{Options{End: 5 * time.Second}, "otlp.jsonl", 1, 0, nil},
		{Options{Speed: 2}, "otlp.jsonl", 2, 0, func(s []Session) bool { return s[1].At == 3*time.Second && s[0].Nodes[1].Wait == time.Second }},
		{Options{Jitter: time.Second}, "otlp.jsonl", 2, 0, func(s []Session) bool { return s[0].At > 0 && s[1].At > 6*time.Second && s[1].At < 7*time.Second }},
	} {
		test.o.File = "testdata/" + test.file
		r, sessions := sessionsOf(t, test.o)
		if len(sessions) != test.sessions || r.counts.Filtered != test.filtered {
			t.Errorf("%+v: %d sessions, %d filtered", test.o, len(sessions), r.counts.Filtered)
		} else if test.check != nil && !test.check(sessions) {
			t.Errorf("%+v:\n%s", test.o, drawn(sessions))
		}
	}
}

// TestSample: a sample has whole sessions, the same for a seed, each session as often as any other.
func TestSample(t *testing.T) {
	var b strings.Builder
	for s := range 20 {
		fmt.Fprintf(&b, `{"id":"s%d","block_size":64,"requests":[{"t":0,"type":"n","in":64,"out":%d,"hash_ids":[1]},{"t":1,"type":"n","in":64,"out":1,"hash_ids":[1]}]}`+"\n", s, s+1)
	}
	name := t.TempDir() + "/weka.jsonl"
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	sample := func(seed uint64) string {
		var r *Reader
		open := func() (_ *Reader, err error) {
			r, err = Open(Options{File: name}, nil)
			return r, err
		}
		var out bytes.Buffer
		done, err := Sample(&out, open, func() { _ = r.Close() }, 5, true, rand.New(rand.NewPCG(seed, 0)), false)
		if err != nil || done.Sessions != 5 || done.Requests != 10 {
			t.Fatal(done, err)
		}
		return out.String()
	}
	if one, again := sample(1), sample(1); one != again || one == sample(2) {
		t.Error("the seed does not decide")
	}
	times := map[string]int{}
	for seed := range uint64(400) {
		text := sample(seed)
		for s := range 20 {
			if key := fmt.Sprintf(`"output_length":%d,`, s+1); strings.Contains(text, key) {
				times[key]++
			}
		}
	}
	for key, n := range times {
		if key != `"output_length":1,` && (n < 60 || n > 140) { // 100 expected, standard deviation 8.7
			t.Errorf("%s is in %d of 400 samples", key, n)
		}
	}
}

// TestBadGraphs: each malformed file is refused with its line, and inside a document with the path.
func TestBadGraphs(t *testing.T) {
	weka := func(requests string) string { return `{"id":"a","block_size":64,"requests":[` + requests + "]}" }
	one := `{"t":0,"type":"n","in":64,"out":1,"hash_ids":[1]}`
	span := func(fields string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + "\n" + `{"traceId":"a","spanId":"b",` + fields + `}]}]}]}`
	}
	chat := `"attributes":{"gen_ai.operation.name":"chat","gen_ai.usage.input_tokens":1,"gen_ai.usage.output_tokens":1}`
	for name, test := range map[string]struct{ text, want string }{
		"weka cut":        {weka(one)[:60], `trace:1: requests[0].in: unexpected end of file`},
		"weka no time":    {weka(`{"type":"n","in":64,"out":1}`), `trace:1: requests[0]: t is missing`},
		"weka no length":  {weka(`{"t":0,"type":"n","out":1}`), `trace:1: requests[0]: in or out is missing`},
		"weka type":       {weka(one + "\n," + `{"t":0,"type":"x","in":64,"out":1}`), `trace:2: requests[1]: unknown type "x" of a request`},
		"weka no number":  {weka(`{"t":"NaN","type":"n","in":1,"out":1}`), `trace:1: requests[0].t: the value is a string, but must be a number`},
		"weka word":       {weka(`{"t":0,"type":"n","in":"many","out":1}`), `trace:1: requests[0].in: the value is a string, but must be an integer, like 512`},
		"weka hash":       {weka(`{"t":0,"type":"n","in":64,"out":1,"hash_ids":[-1]}`), `trace:1: requests[0].hash_ids: `},
		"weka hashes":     {weka(`{"t":0,"type":"n","in":64,"out":1,"hash_ids":[1,2]}`), `trace:1: 2 hash_ids for a prompt of 64 tokens, but blocks of 64 tokens make 1`},
		"weka block":      {`{"id":"a","block_size":0,"requests":[]}`, `trace:1: block_size 0 is not between`},
		"weka blocks":     {weka(one) + "\n" + `{"id":"b","block_size":16,"requests":[]}`, `trace:2: block_size 16, but the first session has 64`},
		"weka twice":      {weka(one) + "\n" + weka(one), `trace:2: the session of line 1 has the same id "a"`},
		"weka deep":       {weka(`{"t":0,"type":"subagent","requests":[{"t":0,"type":"subagent","requests":[]}]}`), `requests[0].requests[0].requests: a subagent of a subagent`},
		"otel cut":        {span(chat)[:100], `trace:2: resourceSpans[0].scopeSpans[0].spans[0]`},
		"otel no start":   {span(chat), `trace:2: resourceSpans[0].scopeSpans[0].spans[0]: the span has no start time`},
		"otel back":       {span(chat + `,"startTimeUnixNano":"20","endTimeUnixNano":"10"`), `spans[0]: the span ends before its begin`},
		"otel tokens":     {span(`"startTimeUnixNano":"20","attributes":{"gen_ai.operation.name":"chat","gen_ai.usage.input_tokens":1.5}`), `gen_ai.usage.input_tokens or gen_ai.usage.prompt_tokens is not a number of tokens`},
		"otel attributes": {span(`"attributes":7`), `spans[0].attributes: neither an object nor a list of keys and values`},
		"otel other":      {`{"spans":[{"foo":1}]}`, `trace:1: spans[0]: neither a span nor an object with spans`},
		"native parent": {`{"schema":"bench/trace/v1","grouped":true}` + "\n" + `{"input_length":1,"output_length":1,"session":1,"parents":[1]}`,
			`trace:2: parent 1: parents are the numbers from 1 of earlier requests`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := New(strings.NewReader(test.text), Options{File: "trace"}, nil)
			for err == nil {
				_, err = r.NextSession()
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if strings.Contains(err.Error(), "schema") {
				t.Error(err)
			}
		})
	}
}

// TestStoredOnDisk: more requests than fit in memory come back as they were, and the file is removed.
func TestStoredOnDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := &spill{}
	r := rand.New(rand.NewPCG(1, 1))
	blocks := make([]uint64, 2000)
	for i := range blocks {
		blocks[i] = r.Uint64()
	}
	const n = 2000
	for i := range n {
		c := call{Entry: Entry{At: time.Duration(n - i), Line: i, Input: i, Output: 1, Session: i % 7, Blocks: blocks[:i], Class: fmt.Sprint("m", i%3)}, took: time.Duration(i), agent: i}
		if err := s.add(&c); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.finish(); err != nil || s.file == nil {
		t.Fatal(err, s.file)
	}
	for i := range n {
		c, err := s.read(i)
		k := n - 1 - i
		if err != nil || c.Line != k || c.Input != k || c.Session != k%7 || c.Class != fmt.Sprint("m", k%3) || c.took != time.Duration(k) || !reflect.DeepEqual(c.Blocks, blocks[:k]) {
			t.Fatal(i, err, c.Line)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Error(left)
	}
}

// order sorts nodes by their begin; At becomes the time since the first.
func order(nodes []Node) {
	slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(a.At, b.At) })
	if len(nodes) == 0 {
		return
	}
	first := nodes[0].At
	for i := range nodes {
		nodes[i].At -= first
	}
}

// TestExgentic: a row of a table of spans, with attributes as an object or as its text.
func TestExgentic(t *testing.T) {
	for _, attributes := range []string{`{"gen_ai.operation.name":"chat","gen_ai.usage.input_tokens":7,"gen_ai.usage.output_tokens":3}`,
		`"{\"gen_ai.operation.name\":\"chat\",\"gen_ai.usage.input_tokens\":7,\"gen_ai.usage.output_tokens\":3}"`} {
		row := `{"session_id":"s","harness":"h","spans":[{"trace_id":"t","span_id":"a","name":"chat m","start_time":"2026-02-01T10:00:00",
			"end_time":"2026-02-01T10:00:03","attributes":` + attributes + `},
			{"trace_id":"t","span_id":"b","attributes":null},{"trace_id":"t","span_id":"c","attributes":""}]}`
		r, err := New(strings.NewReader(strings.ReplaceAll(row, "\n", "")+"\n"), Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := r.Next(); err != nil || e.Input != 7 || e.Output != 3 {
			t.Errorf("%s: %+v, %v", attributes, e, err)
		}
	}
}

// direct are the nodes before i that are before no other one before it.
func direct(nodes []Node, before func(a, b int) bool, i int) (parents []int) {
	for p := range nodes {
		isDirect := before(p, i)
		for q := range nodes {
			isDirect = isDirect && !(before(p, q) && before(q, i))
		}
		if isDirect {
			parents = append(parents, p)
		}
	}
	return parents
}

func follows(nodes []Node, a, b int) bool {
	return nodes[a].end() <= nodes[b].At && nodes[a].At < nodes[b].At
}
