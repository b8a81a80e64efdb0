package response

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// body is the fields of a request body.
func body(t testing.TB, text string) func(string) json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return func(field string) json.RawMessage { return fields[field] }
}

func expect(t testing.TB, text string) *Expectation {
	t.Helper()
	e, err := Parse(body(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

const (
	object = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`
	tools  = `"tools":[{"type":"function","function":{"name":"look","parameters":` + object + `}},{"type":"function","function":{"name":"now"}}]`
)

// TestForms: the text of an answer against each way to ask for its form.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		body, content string
		want          Reason
	}{
		{`{"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + object + `,"strict":true}}}`, ` {"x":1} `, ""},
		{`{"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + object + `}}}`, `{"x":1.5}`, Schema},
		{`{"response_format":{"type":"json_schema","schema":` + object + `}}`, `{"x":1,"y":2}`, Schema},
		{`{"response_format":{"type":"json_object"}}`, `{"a":[]}`, ""},
		{`{"response_format":{"type":"json_object"}}`, `[]`, NotObject},
		{`{"response_format":{"type":"json_object","schema":` + object + `}}`, `{}`, Schema},
		{`{"response_format":{"type":"json_object"}}`, "```json\n{}\n```", NotJSON},
		{`{"response_format":{"type":"json_object"}}`, `{} {}`, NotJSON},
		{`{"response_format":{"type":"json_object"}}`, ``, NotJSON},
		{`{"guided_json":` + object + `}`, `{"x":2}`, ""},
		{`{"guided_json":"{\"type\":\"array\"}"}`, `{"x":2}`, Schema},
		{`{"json_schema":true}`, `7`, ""},
		{`{"json_schema":false}`, `7`, Schema},
		{`{"structured_outputs":{"json":` + object + `}}`, `{"x":"1"}`, Schema},
		{`{"structured_outputs":{"json_object":true}}`, `1`, NotObject},
		{`{"structured_outputs":{"choice":["yes","no"]}}`, " yes\n", ""},
		{`{"guided_choice":["yes","no"]}`, "Yes", NotAChoice},
		{`{"structured_outputs":{"regex":"[0-9]+|x"}}`, "42", ""},
		{`{"guided_regex":"[0-9]+|x"}`, "42x", NoMatch},
		{`{"text":{"format":{"type":"json_schema","name":"a","schema":` + object + `}}}`, `{"x":[]}`, Schema},
		{`{"output_config":{"format":{"type":"json_schema","schema":` + object + `}}}`, `{"x":null}`, Schema},
		{`{"output_format":{"type":"json_schema","schema":` + object + `}}`, `{"x":0}`, ""},
		{`{"guided_json":{"$defs":{"a":{"type":"string"}},"items":{"$ref":"#/$defs/a"}}}`, `["a",1]`, Schema},
		{`{"guided_json":{"items":[{"type":"string"},{"type":"integer"}]}}`, `["a",1]`, ""}, // draft 7
		{`{"guided_json":{"minimum":1,"exclusiveMinimum":true}}`, `1`, Schema},              // draft 4
		{`{"guided_json":{"type":"string","format":"date"}}`, `"tomorrow"`, ""},
		{`{"guided_json":{"type":"integer"}}`, `1e999999`, TooComplex},
		{`{"guided_json":{"type":"integer"}}`, strings.Repeat("1", 500), TooComplex},
		{`{"guided_json":{"items":{"$ref":"#"}}}`, strings.Repeat("[", 600) + strings.Repeat("]", 600), TooComplex},
		{`{"guided_json":{"items":{"$ref":"#"}}}`, strings.Repeat("[", 20000) + strings.Repeat("]", 20000), NotJSON},
	} {
		v := Check(&Answer{Content: c.content}, expect(t, c.body), nil)
		if v.Valid == nil || *v.Valid != (c.want == "") || v.Reason != c.want || v.Correct != nil {
			t.Errorf("%s\n%.80q: %v %q, want %q", c.body, c.content, v.Valid, v.Reason, c.want)
		}
	}
}

// TestNothingToCheck: requests that ask for no form, and grammars.
func TestNothingToCheck(t *testing.T) {
	for _, text := range []string{`{}`, `{"response_format":null,"tools":[]}`, `{"response_format":{"type":"text"}}`, `{"text":{"verbosity":"low"}}`,
		`{"structured_outputs":{"grammar":"root ::= \"a\""}}`, `{"tool_choice":"none"}`, `{"tools":[{"type":"web_search"}]}`, `{"guided_choice":[]}`} {
		if e := expect(t, text); e != nil {
			t.Errorf("%s: %+v", text, e)
		}
	}
	if v := Check(&Answer{Content: "x"}, nil, nil); v != (Verdict{}) {
		t.Errorf("%+v", v)
	}
}

func TestTools(t *testing.T) {
	look := func(arguments string) []Call { return []Call{{"look", arguments}} }
	for _, c := range []struct {
		body    string
		answer  Answer
		checked bool
		want    Reason
	}{
		{`{` + tools + `}`, Answer{Content: "no call"}, false, ""},
		{`{` + tools + `}`, Answer{Calls: look(`{"x":1}`)}, true, ""},
		{`{` + tools + `}`, Answer{Calls: append(look(`{"x":1}`), Call{"now", ""})}, true, ""},
		{`{` + tools + `}`, Answer{Calls: append(look(`{"x":1}`), Call{"now", "[]"})}, true, ArgumentsForm},
		{`{` + tools + `}`, Answer{Calls: look(`{"x":"1"}`)}, true, ArgumentsForm},
		{`{` + tools + `}`, Answer{Calls: look(`{"x":1`)}, true, ArgumentsJSON},
		{`{` + tools + `}`, Answer{Calls: look(`{"x":1`), Finish: "length"}, true, CutOff},
		{`{` + tools + `}`, Answer{Calls: []Call{{"lock", "{}"}}}, true, UnknownTool},
		{`{` + tools + `}`, Answer{Content: "<tool_call>\n{}"}, true, UnparsedCall},
		{`{` + tools + `,"tool_choice":"none"}`, Answer{Calls: look(`{"x":1}`)}, true, UnexpectedCall},
		{`{` + tools + `,"tool_choice":"required"}`, Answer{Content: "hm", Finish: "stop"}, true, NoCall},
		{`{` + tools + `,"tool_choice":{"type":"any"}}`, Answer{}, true, NoCall},
		{`{` + tools + `,"tool_choice":{"type":"function","function":{"name":"look"}}}`, Answer{Calls: []Call{{"now", "{}"}}}, true, WrongTool},
		{`{` + tools + `,"tool_choice":{"type":"function","name":"now"}}`, Answer{Calls: []Call{{"now", "{}"}}}, true, ""},
		{`{"tools":[{"name":"look","input_schema":` + object + `}],"tool_choice":{"type":"tool","name":"look"}}`, Answer{Calls: look(`{}`)}, true, ArgumentsForm},
		{`{"tools":[{"type":"function","name":"look","parameters":` + object + `}]}`, Answer{Calls: look(`{"x":3}`)}, true, ""},
		{`{` + tools + `,"response_format":{"type":"json_object"}}`, Answer{Content: "{}"}, true, ""},
		{`{` + tools + `,"response_format":{"type":"json_object"}}`, Answer{Content: "a"}, true, NotJSON},
		{`{"response_format":{"type":"json_object"}}`, Answer{Content: "{}", Cut: true}, true, TooLong},
		{`{"response_format":{"type":"json_object"}}`, Answer{Content: "{}", Finish: "length"}, true, ""},
	} {
		v := Check(&c.answer, expect(t, c.body), nil)
		if (v.Valid != nil) != c.checked || c.checked && *v.Valid != (c.want == "") || v.Reason != c.want {
			t.Errorf("%s\n%+v: %v %q, want %q", c.body, c.answer, v.Valid, v.Reason, c.want)
		}
	}
}

// TestForced: what a form that is forced, and tools that are only offered, say about stop = "forced".
func TestForced(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false, `{` + tools + `}`: false, `{` + tools + `,"tool_choice":"required"}`: true, `{"guided_json":true}`: true,
	} {
		if expect(t, text).Forced() != want {
			t.Errorf("%s: forced is not %v", text, want)
		}
	}
}

// TestBadFields: what cannot be checked is an error that names the field.
func TestBadFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"guided_json":{"type":"objekt"}}`:                                         "guided_json: not a JSON schema: at '/type'",
		`{"guided_json":{"$ref":"http://127.0.0.1:1/s.json"}}`:                      "refers to http://127.0.0.1:1/s.json: write it inside the schema",
		`{"guided_json":{"$ref":"file:///etc/passwd"}}`:                             "refers to file:///etc/passwd",
		`{"guided_json":{"$schema":"http://127.0.0.1:1/meta"}}`:                     "refers to http://127.0.0.1:1/meta",
		`{"guided_json":{"$ref":"#/$defs/a"}}`:                                      "$defs/a",
		`{"guided_json":"{"}`:                                                       "in a string",
		`{"guided_json":{"minimum":1e9999}}`:                                        "exponent",
		`{"guided_json":{"pattern":"(?=a)"}}`:                                       "pattern",
		`{"guided_json":7}`:                                                         "not a JSON schema",
		`{"guided_regex":"("}`:                                                      "guided_regex: error parsing regexp",
		`{"guided_choice":"a"}`:                                                     "guided_choice: not a list of texts",
		`{"response_format":"json_object"}`:                                         "response_format",
		`{` + tools + `,"tool_choice":{"type":"function","function":{"name":"x"}}}`: `tool_choice: "x" is not among the tools`,
		`{"tools":[{"name":"a","input_schema":{"type":7}}]}`:                        "tool 0 (a)",
		`{"guided_json":"` + strings.Repeat(" ", maxSchema) + `{}"}`:                "more than 262144",
	} {
		if _, err := Parse(body(t, text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.100s: %v, want %q", text, err, want)
		}
	}
}

// TestExponential: a schema that would take 2^60 steps ends.
func TestExponential(t *testing.T) {
	var defs strings.Builder
	for i := range 60 {
		a, b := string(rune('A'+i)), string(rune('A'+i+1))
		defs.WriteString(`"` + a + `":{"allOf":[{"$ref":"#/$defs/` + b + `"},{"allOf":[{"$ref":"#/$defs/` + b + `"}]}]},`)
	}
	text := `{"guided_json":{"$ref":"#/$defs/A","$defs":{` + defs.String() + `"` + string(rune('A'+60)) + `":{"type":"object"}}}}`
	text = strings.ReplaceAll(text, `\`, `backslash`)
	done := make(chan Verdict, 1)
	go func() { done <- Check(&Answer{Content: "{}"}, expect(t, text), nil) }()
	select {
	case v := <-done:
		if v.Reason != TooComplex {
			t.Errorf("%+v", v)
		}
	case <-time.After(time.Minute):
		t.Fatal("no end")
	}
}

func TestCorrect(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"42", true}, {" 42.\n", true}, {"**42**", true}, {`"42"`, true}, {"$42$", true}, {"Answer: 42", true}, {"The answer is 42.", true},
		{"17 + 25 is easy\n\n**Answer:** 42", true}, {"so\n#### 42", true}, {`Therefore \boxed{42} apples`, true}, {`\boxed{4} or \boxed{\text{x}{42}}`, false},
		{"forty-two", true}, {"Forty-Two!", true}, {`\boxed{41} \boxed{42}`, true},
		{"", false}, {"142", false}, {"42 apples", false}, {"It is 42", false}, {"42\n43", false}, {`\boxed{42`, false}, {"-42", false},
	} {
		if got := correct(c.text, []string{"42", "forty-two"}); got != c.want {
			t.Errorf("%q: %v", c.text, got)
		}
	}
	if v := Check(&Answer{Content: "Paris."}, nil, []string{"paris"}); v.Valid != nil || v.Correct == nil || !*v.Correct {
		t.Errorf("%+v", v)
	}
	if correct("anything", []string{}) || correct("", nil) {
		t.Error("correct without expected answers")
	}
}

// FuzzCheck: no request fields and no answer make a panic, and a valid answer has no reason.
func FuzzCheck(f *testing.F) {
	f.Add(`{"guided_json":`+object+`}`, `{"x":1}`, "look", `{"x":1}`, "stop", "42")
	f.Add(`{`+tools+`,"tool_choice":"required"}`, `<tool_call>`, "look", `{"x":`, "length", `\boxed{`)
	f.Add(`{"structured_outputs":{"regex":"a+"},"guided_choice":["a"]}`, `aa`, "", ``, "", "*")
	f.Add(`{"guided_json":{"$ref":"#","allOf":[{"$dynamicRef":"#x"}],"$dynamicAnchor":"x"}}`, `1`, "", ``, "", "")
	f.Add(`{"guided_json":{"multipleOf":1e-300,"uniqueItems":true,"patternProperties":{"^a":false}}}`, `[1,1.0,{"a":1}]`, "", ``, "", "")
	f.Fuzz(func(t *testing.T, request, content, name, arguments, finish, expected string) {
		var fields map[string]json.RawMessage
		if json.Unmarshal([]byte(request), &fields) != nil {
			return
		}
		e, err := Parse(func(field string) json.RawMessage { return fields[field] })
		if err != nil && (e != nil && e.form == nil && e.choice == choiceUnset) {
			t.Errorf("%v and an expectation", err)
		}
		a := Answer{Content: content, Finish: finish}
		if name != "" {
			a.Calls = []Call{{name, arguments}}
		}
		v := Check(&a, e, []string{expected})
		if v.Correct == nil || v.Valid == nil && v.Reason != "" || v.Valid != nil && *v.Valid != (v.Reason == "") {
			t.Errorf("%+v", v)
		}
	})
}
