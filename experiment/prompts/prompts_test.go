package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes a file of prompts and returns its name.
func write(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "p.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// look looks at a source, and returns what is wrong with it.
func look(s *Source) (problems []string) {
	s.Look(Open, func(key, problem, hint string) {
		problems = append(problems, key+": "+problem+" ("+hint+")")
	})
	return problems
}

// source is a source of a file without mistakes.
func source(t testing.TB, text string) *Source {
	t.Helper()
	s := &Source{File: write(t, text)}
	if problems := look(s); problems != nil {
		t.Fatal(problems)
	}
	return s
}

func streams(epoch uint64) *rand.Rand { return rand.New(rand.NewPCG(7, epoch)) }

// read reads all prompts of a source in the order of the file.
func read(t testing.TB, s *Source) (all []*Content) {
	t.Helper()
	for _, number := range s.kept {
		p := s.prompt(number)
		c, err := p.Read()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		what, text, format string
		prompts            []string // Bytes(0) and, behind "|", the later turns
	}{
		{"own texts", `{"prompt": "a"}` + "\n\n" + `{"prompt":"b\u00e9"}` + "\r\n", formatOwn, []string{`"a"`, `"b\u00e9"`}},
		{"own messages, byte for byte", `{"messages": [ {"role":"user", "content" : "\ud83d\ude00 \"x\" 漢"}]}`, formatOwn, []string{`[ {"role":"user", "content" : "\ud83d\ude00 \"x\" 漢"}]`}},
		{"byte order mark", "\xef\xbb\xbf" + `{"prompt":"a"}`, formatOwn, []string{`"a"`}},
		{"token ids", `{"prompt":[1,2]}`, formatOwn, []string{`[1,2]`}},
		{"vLLM custom", `{"prompt":"a","output_tokens":12}`, formatOwn, []string{`"a"`}},
		{"SPEED-Bench", `{"question_id":1,"category":"coding","turns":["a","b","c"]}`, formatTurns, []string{`"a"|"b"|"c"`}},
		{"ShareGPT", `[{"id":"x","conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"no"},{"from":"human","value":"b"}]},
			{"conversations":[{"from":"system","value":"s"},{"from":"human","value":"c"}]}]`, formatShareGPT,
			[]string{`"a"|"b"`, `[{"role":"system","content":"s"},{"role":"user","content":"c"}]`}},
		{"ShareGPT by lines", `{"conversations":[{"role":"user","content":"a"}]}`, formatShareGPT, []string{`"a"`}},
		{"OpenAI batch", `{"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"a"}],"temperature":1}}`,
			formatBatch, []string{`[{"role":"user","content":"a"}]`}},
	} {
		s := source(t, c.text)
		var got []string
		for _, x := range read(t, s) {
			line := string(x.Bytes(0))
			for _, text := range x.Later {
				line += "|" + string(text)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.prompts) || s.Head.Format != c.format {
			t.Errorf("%s: %s %q", c.what, s.Head.Format, got)
		}
	}
}

// Fields of the request go into the body as they are; bench's own and unknown ones do not.
func TestFieldsOfALine(t *testing.T) {
	s := source(t, `{"prompt":"a","id":3,"temperature":0.50,"tools":[{"a": 1}],"top_k":null,"max_tokens":256.0,"category":" coding ","expected":["4","four"],"extra_body":{"mine": {"x" : 1}}}`+"\n"+`{"prompt":"b","expected":4}`)
	p := s.prompt(0)
	if _, err := p.Read(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range p.Fields {
		got = append(got, f.Name+"="+string(f.Value))
	}
	if want := []string{`mine={"x" : 1}`, "temperature=0.50", `tools=[{"a": 1}]`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if p.MaxTokens != 256 || p.Category != "coding" || !slices.Equal(p.Expected, []string{"4", "four"}) || !slices.Equal(s.Head.NotSent, []string{"id"}) {
		t.Errorf("%+v %q", p, s.Head.NotSent)
	}
	if q := s.prompt(1); true {
		if _, err := q.Read(); err != nil || !slices.Equal(q.Expected, []string{"4"}) || q.Hash == p.Hash || len(q.Hash) != 16 {
			t.Errorf("%+v %v", q, err)
		}
	}
}

// Every malformed line is named with its number, and none of its text is shown.
func TestMalformedLines(t *testing.T) {
	const canary = "CANARY"
	lines := []struct{ line, want string }{
		{`{"prompt":"fine"}`, ""},
		{`{"prompt":"CANARY`, "not valid JSON at byte 17"},
		{`["CANARY"]`, "not a JSON object"},
		{`{"question":"CANARY"}`, "neither prompt nor messages"},
		{`{"prompt":"a","messages":[]}`, "prompt and messages"},
		{`{"prompt":""}`, "the prompt is empty"},
		{`{"prompt":{"CANARY":1}}`, "prompt is neither a text nor a list of token ids"},
		{`{"messages":[]}`, "messages is not a list of messages"},
		{`{"messages":[{"content":"CANARY"}]}`, "message 1 has no role"},
		{`{"prompt":"a","max_tokens":0}`, "max_tokens is not a number of tokens"},
		{`{"prompt":"a","max_tokens":"CANARY"}`, "max_tokens is not a number of tokens"},
		{`{"prompt":"a","model":"m"}`, "model is set by bench itself"},
		{`{"prompt":"a","stream":true}`, "stream is set by bench itself"},
		{`{"prompt":"a","n":2}`, "n is set by bench itself"},
		{`{"prompt":"a","extra_body":{"model":1}}`, "model is set by bench itself"},
		{`{"prompt":"a","category":7}`, "category is not a name"},
		{`{"prompt":"a","expected":{}}`, "expected is neither"},
		{`{"turns":[]}`, "turns is empty"},
		{`{"turns":[1]}`, "turns is not a list of strings"},
		{`{"conversations":[{"from":"gpt","value":"CANARY"}]}`, "this line is of the format ShareGPT"},
		{"{\"prompt\":\"\xff\"}", "the line is not UTF-8"},
		{`{"prompt":"a","system":{"CANARY":1}}`, "system is neither a text nor"},
		{`{"turns":["a"]}`, "this line is of the format SPEED-Bench"},
	}
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.line + "\n")
	}
	s := &Source{File: write(t, text.String())}
	problems := look(s)
	if len(problems) != mostProblems+1 {
		t.Fatalf("%d problems: %q", len(problems), problems)
	}
	for i, p := range problems[:mostProblems] {
		l := lines[i+1]
		if want := fmt.Sprintf("file: %s:%d: %s", s.File, i+2, l.want); !strings.HasPrefix(p, want) || strings.Contains(p, canary) || !strings.HasSuffix(p, ")") {
			t.Errorf("%s: %q", l.line, p)
		}
	}
	if !strings.Contains(problems[mostProblems], "2 more lines are malformed") {
		t.Error(problems[mostProblems])
	}
}

func TestUnreadableFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "is empty",
		"\n \n":                 "is empty",
		"[]":                    "has no prompts",
		"\x1f\x8b\x08":          "compressed",
		"\x28\xb5\x2f\xfd":      "compressed",
		`[{"prompt":"a"}`:       "the JSON list does not end",
		`[{"prompt":"a"},{"p":`: "the JSON list does not end",
	} {
		if got := look(&Source{File: write(t, text)}); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, name := range []string{"/nowhere", t.TempDir()} {
		if got := look(&Source{File: name}); len(got) != 1 {
			t.Errorf("%q", got)
		}
	}
}

// The prompts of a JSON list are found where they are, however the list is written.
func TestLinesOfAList(t *testing.T) {
	s := source(t, "[\n {\"prompt\": \"a ] } \\\" ,\"},\n\n\t{\n\"prompt\": \"b\"} ,{\"prompt\":\"c\"}\n]")
	var lines []int32
	for _, e := range s.index.entries {
		lines = append(lines, e.place) // numbers in the list
	}
	if !slices.Equal(lines, []int32{1, 2, 3}) {
		t.Error(lines)
	}
	if got := read(t, s); string(got[0].Text) != `"a ] } \" ,"` || string(got[2].Text) != `"c"` {
		t.Errorf("%q %q", got[0].Text, got[2].Text)
	}
}

// TestElements: mistakes in a JSON list on one line are named by their element.
func TestElements(t *testing.T) {
	s := Source{File: write(t, `[{"prompt":"a"},{"prompt":""},{"prompt":"a","max_tokens":7,"output_tokens":9},{"prompt":"a","expected":[]},{"prompt":"a","expected":" "},`+
		`{"prompt":"a","extra_body":{"max_tokens":7}},{"messages":[{"role":"user"}]},{"messages":[{"role":"assistant"}]},{"prompt":`)}
	at := "file: " + s.File + ":1: element "
	want := []string{
		at + "2: the prompt is empty (remove the element)",
		at + "3: max_tokens 7 and output_tokens 9 contradict each other (remove one of them)",
		at + "4: expected is empty: no answer could be correct (write the correct answer, or remove expected)",
		at + "5: expected is empty: no answer could be correct (write the correct answer, or remove expected)",
		at + "6: extra_body has max_tokens, which is a field of the element (write it beside extra_body)",
		at + `7: message 1 of the role user has no content (write "content": "…")`,
		at + "9: the JSON list does not end (the file is cut off: get the whole file)",
	}
	if got := look(&s); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestNoUser: conversations without a message of the user, which published files have, are left out and counted.
func TestNoUser(t *testing.T) {
	const none = `{"conversations":[]},{"conversations":[{"from":"gpt","value":"a"}]},{"conversations":[{"from":"human","value":""}]}`
	s := source(t, `[`+none+`,{"conversations":[{"from":"human","value":"b"},{"from":"gpt","value":"c"}]}]`)
	if got := read(t, s); s.Head.Skipped != 3 || s.Head.Prompts != 1 || string(got[0].Text) != `"b"` {
		t.Errorf("%+v, %q", s.Head, got[0].Text)
	}
	if got := look(&Source{File: write(t, `[`+none+`]`)}); len(got) != 1 || !strings.Contains(got[0], "none of its 3 conversations has a message of the user") {
		t.Errorf("%q", got)
	}
}

// numbered has n prompts of two categories.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"prompt":"%d","category":"%c"}`+"\n", i, 'a'+i%2)
	}
	return b.String()
}

func TestSample(t *testing.T) {
	draws := func(s *Source, n int) (out []int) {
		sample := s.Sample(streams)
		for i := range n {
			p := sample.Draw(i)
			if p.repeat != i/sample.Len() {
				t.Errorf("draw %d is repeat %d", i, p.repeat)
			}
			out = append(out, p.Number)
		}
		return out
	}
	file := write(t, numbered(100))
	made := func(s Source) *Source {
		s.File = file
		if problems := look(&s); problems != nil {
			t.Fatal(problems)
		}
		return &s
	}
	all := draws(made(Source{}), 300)
	for epoch := range 3 {
		part := slices.Sorted(slices.Values(all[100*epoch : 100*epoch+100]))
		if len(slices.Compact(part)) != 100 {
			t.Errorf("epoch %d repeats a prompt", epoch)
		}
	}
	if slices.Equal(all[:100], all[100:200]) || slices.IsSorted(all[:100]) {
		t.Error("epochs have the same order, or none is shuffled")
	}
	if !slices.Equal(all, draws(made(Source{}), 300)) {
		t.Error("not a function of the seed")
	}
	listed := draws(made(Source{Order: Listed, Category: []string{"b"}}), 60)
	if listed[0] != 1 || listed[1] != 3 || listed[49] != 99 || listed[50] != 1 {
		t.Error(listed)
	}
	limited := draws(made(Source{Limit: 10, Order: Listed}), 20)
	if !slices.IsSorted(limited[:10]) || !slices.Equal(limited[:10], limited[10:]) || limited[9] == 9 {
		t.Error(limited)
	}
	if got := look(&Source{File: file, Category: []string{"c"}}); len(got) != 1 || !strings.Contains(got[0], `the file has ["a" "b"]`) {
		t.Error(got)
	}
}

// Draws out of order, as of a copy of the plan, are the same.
func TestDrawOutOfOrder(t *testing.T) {
	s := source(t, numbered(20))
	one, other := s.Sample(streams), s.Sample(streams)
	for i := range 60 {
		if a, b := one.Draw(59-i).Number, other.Draw(59-i).Number; a != b {
			t.Fatal(a, b)
		}
	}
	for i := range 60 {
		if a, b := one.Draw(i).Number, s.Sample(streams).Draw(i).Number; a != b {
			t.Fatalf("draw %d: %d and %d", i, a, b)
		}
	}
}

func TestKeep(t *testing.T) {
	sample := source(t, numbered(50)).Sample(streams)
	var seen []int
	err := sample.Keep(10, func(p *Prompt) (bool, int, error) {
		seen = append(seen, p.Number)
		return p.Number%2 == 0, p.Number % 4, nil
	})
	if err != nil || sample.Len() != 10 || len(seen) < 15 {
		t.Fatal(err, sample.Len(), seen)
	}
	for i := range 10 {
		if p := sample.Draw(i); p.Number%2 != 0 || p.cut != p.Number%4 || !slices.Contains(seen, p.Number) {
			t.Errorf("%+v", p)
		}
	}
}

// A file that changes is noticed, and no other text is sent.
func TestChangedFile(t *testing.T) {
	s := source(t, `{"prompt":"a"}`+"\n"+`{"prompt":"b"}`)
	if err := os.WriteFile(s.File, []byte(`{"prompt":"a"}`+"\n"+`{"prompt":"c"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.prompt(1).Read(); err == nil || !strings.Contains(err.Error(), ":2 changed") {
		t.Error(err)
	}
	if _, err := s.prompt(0).Read(); err != nil {
		t.Error(err)
	}
}

func TestTruncate(t *testing.T) {
	for line, want := range map[string]string{
		`{"prompt":"abcdé\u00e9"}`: `"abcd"`,
		`{"prompt":"<&> abc"}`:     `"<&> a"`,
		`{"messages":[{"role":"system","content":"sssssssss"},  {"role":"user","content":"abcdefgh","name":"x"}]}`: `[{"role":"system","content":"sssssssss"},{"content":"abcde","name":"x","role":"user"}]`,
	} {
		c, err := parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.truncate(5); err != nil || string(c.Bytes(0)) != want {
			t.Errorf("%s: %s %v", line, c.Bytes(0), err)
		}
	}
	c, _ := parse([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`))
	if err := c.truncate(1); err == nil {
		t.Error("parts were truncated")
	}
}

func TestProblemsOfAPIs(t *testing.T) {
	const tools = `,"tools":[]}`
	for _, c := range []struct {
		line string
		fits string // APIs
	}{
		{`{"prompt":"a"}`, "completions chat responses messages"},
		{`{"prompt":[1]}`, "completions"},
		{`{"messages":[{"role":"user","content":"a"}]}`, "chat responses messages"},
		{`{"messages":[{"role":"system","content":"a"},{"role":"user","content":"a"}]}`, "chat responses"},
		{`{"messages":[{"role":"user","content":[]}]}`, "chat"},
		{`{"messages":[{"role":"user","content":"a"}]` + tools, "chat"},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`, "chat messages"},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}]}`, "chat"},
		{`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a"}]}]}`, "messages"},
		{`{"messages":[{"role":"assistant","content":"a","tool_calls":[]}]}`, "chat"},
		{`{"messages":[{"role":"user","content":"a"}],"system":"s"}`, "messages"},
		{`{"prompt":"a","system":[{"type":"text","text":"s"}]}`, "messages"},
		{`{"prompt":"a","system":""}`, "completions chat responses messages"},
		{`{"prompt":"a","tools":[{"name":"f","input_schema":{}}]}`, "messages"},
		{`{"prompt":"a","tools":[{"type":"bash_20250124","name":"bash"}]}`, "messages"},
		{`{"prompt":"a","tools":[{"type":"function","function":{"name":"f"}}]}`, "chat"},
		{`{"prompt":"a","system":"s","functions":[]}`, ""},
	} {
		var fits []string
		for _, api := range []string{"completions", "chat", "responses", "messages"} {
			if problem, hint := source(t, c.line).Problem(api); problem == "" {
				fits = append(fits, api)
			} else if !strings.Contains(problem, ":1: ") || hint == "" {
				t.Error(problem, hint)
			}
		}
		if strings.Join(fits, " ") != c.fits {
			t.Errorf("%s: %q", c.line, fits)
		}
	}
}

func TestMask(t *testing.T) {
	c, err := parse([]byte(`{"messages":[{"role":"user","content":"My secretword is Z\u00fcrich; maximum 42\nCANARYWORD 漢字漢字 🙈 PIN 4711, Bob has HIV; a+b=1/2/80"}],"tools":[{"name":"hidden_tool"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                       "",
		"HTTP 400: maximum context length is 42": "HTTP 400: maximum context length is …",
		"maximum context length is 8192 tokens. However, you requested 9001 tokens": "maximum context length is 8192 tokens. However, you requested 9001 tokens",
		`HTTP 500: EngineDeadError('CUDA out of memory')`:                           `HTTP 500: EngineDeadError('CUDA out of memory')`,
		`HTTP 400: bad message 'My SECRETWORD is Z\xfcrich'`:                        `HTTP 400: bad message '… is …'`,
		`{"input": "Z\u00fcrich; 42\nCANARYWORD 漢字漢字"}`:                             `{"input": "…"}`,
		`{"INPUT": "Z\U00FCRICH; \\u6f22"}`:                                         `{"INPUT": "…"}`,
		"tool hidden_tool failed":                                                   "tool …_tool failed",
		"got: Bob has HIV, PIN 4711 🙈 1/2/80":                                       "… has …",
		"bad xCANARYWORDx 47 11 prefixBob":                                          "bad … prefix…",
		"tokens [128000, 3923, 374] are":                                            "tokens [128000, …, 374] are",
	} {
		if got := c.mask(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzMask: whatever stands in a text, no word of it is kept that errors do not consist of.
func FuzzMask(f *testing.F) {
	f.Add("HTTP 400: Bob\\n4711 \\u00fcx")
	f.Fuzz(func(t *testing.T, text string) {
		c := Content{Text: []byte(`"4711"`)}
		for _, w := range words(c.mask(text)) {
			if k := kindOf(w); k == letters && !isErrorWord()[strings.ToLower(w)] || k == digits && strings.Contains("4711", w) {
				t.Errorf("%q keeps %q", text, w)
			}
		}
	})
}

// FuzzParse: whatever is read is sent as it is, and can be read again.
func FuzzParse(f *testing.F) {
	for _, line := range []string{`{"prompt":"a"}`, `{"messages":[{"role":"user","content":"a"}],"tools":[]}`, `{"turns":["a","b"]}`,
		`{"conversations":[{"from":"human","value":"a"}]}`, `{"custom_id":"1","body":{"prompt":"a","n":1}}`, `{"prompt":[1],"expected":[1,"a",true]}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := parse(line)
		if err != nil {
			if bytes.Contains(line, []byte("CANARY")) && strings.Contains(err.Error(), "CANARY") {
				t.Error("the error has text of the line")
			}
			return
		}
		if (c.Text == nil) == (c.Messages == nil) || !json.Valid(c.Bytes(0)) || c.format != formatShareGPT && !bytes.Contains(line, c.Bytes(0)) {
			t.Errorf("%q", c.Bytes(0))
		}
		for _, f := range c.fields {
			if !bytes.Contains(line, f.Value) {
				t.Errorf("%s=%s", f.Name, f.Value)
			}
		}
		c.mask("some text that is long enough")
		_ = c.truncate(3) // of any content
		if !json.Valid(c.Bytes(0)) {
			t.Errorf("truncated to %q", c.Bytes(0))
		}
	})
}

// FuzzSplit: records are where the splitter says they are, of any bytes.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"a\n\n b \r\nc", `[{"a":"]"} , {"b":[1]}]`, "[", "[1,", "\xef\xbb\xbf[1,2]", " \n [ ] x"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := newSplitter(bytes.NewReader(text))
		for err == nil {
			var raw []byte
			var at place
			if raw, at, err = s.next(); err == nil {
				if !bytes.HasPrefix(text[at.offset:], raw) || at.line != 1+bytes.Count(text[:at.offset], []byte{'\n'}) {
					t.Fatalf("%q at %+v", raw, at)
				}
			}
		}
	})
}
