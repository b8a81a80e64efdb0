package endpoint

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// truths are what the simulator knows of its answers, by their id.
func truths(t *testing.T, s *Server) map[string]mock.Record {
	t.Helper()
	resp, err := http.Get(strings.TrimSuffix(s.Info.Endpoint, "/v1") + "/debug/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out := map[string]mock.Record{}
	for lines := json.NewDecoder(resp.Body); lines.More(); {
		var r mock.Record
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		out[r.ID] = r
	}
	return out
}

const lookSchema = `{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["C","F"],"type":"string"}},"required":["city","unit"],"additionalProperties":false}`

// fields is a JSON object as TOML gives it.
func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAnswersAreTheTruth: each answer is found valid or not as the simulator has planted it, in every API, with and
// without streaming; the share is as the simulator planted it; no text of an answer is stored.
func TestAnswersAreTheTruth(t *testing.T) {
	t.Parallel()
	chatTool := `{"tools":[{"type":"function","function":{"name":"look","parameters":` + lookSchema + `}}],"tool_choice":"required"}`
	for _, c := range []struct {
		name, api, body string
		whole           bool
	}{
		{"schema", target.Chat, `{"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + lookSchema + `}}}`, false},
		{"whole schema", target.Chat, `{"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":` + lookSchema + `}}}`, true},
		{"guided", target.Completions, `{"guided_json":` + lookSchema + `}`, false},
		{"tool", target.Chat, chatTool, false},
		{"whole tool", target.Chat, chatTool, true},
		{"responses schema", target.Responses, `{"text":{"format":{"type":"json_schema","name":"a","schema":` + lookSchema + `}}}`, false},
		{"responses tool", target.Responses, `{"tools":[{"type":"function","name":"look","parameters":` + lookSchema + `}],"tool_choice":"required"}`, false},
		{"messages tool", target.Messages, `{"tools":[{"name":"look","input_schema":` + lookSchema + `}],"tool_choice":{"type":"any"}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mocked(t, mock.Config{ValidAnswers: new(0.7)}, experiment.Target{}, c.api)
			spec := point()
			spec.Input, spec.Output, spec.API, spec.Stop = workload.Length{}, workload.Length{}, c.api, "natural"
			spec.Mix = []workload.Class{{Name: "a", Weight: 1, Input: workload.Fixed(64), Output: workload.Fixed(60), Extra: fields(t, c.body)}}
			spec.Concurrency, spec.Requests, spec.Stream = 8, 60, new(!c.whole)
			row, records := measure(t, s, spec)
			known := truths(t, s)
			valid := 0
			for _, r := range records {
				if r.Phase != record.PhaseWindow {
					continue
				}
				truth, ok := known[r.ServerID]
				if !ok || truth.Valid == nil || r.Valid == nil {
					t.Fatalf("%+v, in truth %+v", r, truth)
				}
				if *r.Valid != *truth.Valid || *r.Valid == (r.Invalid != "") {
					t.Errorf("%s: valid %v (%s), in truth %v", r.ServerID, *r.Valid, r.Invalid, *truth.Valid)
				}
				if *truth.Valid {
					valid++
				}
				if strings.Contains(text(t, r), "city") {
					t.Errorf("text in a record: %s", text(t, r))
				}
			}
			share := row.Classes["a"].Answers.Valid
			if share == nil || share.Checked != 60 || share.In != valid || valid == 0 || valid == 60 {
				t.Errorf("%+v, in truth %d of 60", share, valid)
			}
		})
	}
}

// TestForcedAnswers: answers that ignore_eos makes run on are not checked, and say so; offered tools say nothing.
func TestForcedAnswers(t *testing.T) {
	for body, want := range map[string]string{`{"guided_json":` + lookSchema + `}`: uncheckedForced,
		`{"tools":[{"type":"function","function":{"name":"look","parameters":` + lookSchema + `}}]}`: ""} {
		s := mocked(t, mock.Config{}, experiment.Target{}, target.Chat)
		spec := point()
		spec.Input, spec.Output, spec.API, spec.Concurrency = workload.Length{}, workload.Length{}, target.Chat, 2
		spec.Mix = []workload.Class{{Name: "a", Weight: 1, Input: workload.Fixed(64), Output: workload.Fixed(6), Extra: fields(t, body)}}
		_, records := measure(t, s, spec)
		for _, r := range records {
			if r.Phase == record.PhaseWindow && (r.Valid != nil || r.Invalid != want) {
				t.Errorf("%s %s: %v %q, want %q", r.Outcome, r.Error, r.Valid, r.Invalid, want)
			}
		}
	}
}

// TestAccuracyIsTheTruth: the built-in questions in every API, against planted shares.
func TestAccuracyIsTheTruth(t *testing.T) {
	for _, api := range target.APIs {
		for _, planted := range []float64{0, 0.5, 1} {
			s := mocked(t, mock.Config{CorrectAnswers: &planted}, experiment.Target{}, api)
			a := &experiment.Accuracy{}
			a.Check(func(key, problem, _ string) { t.Fatal(key, problem) })
			if err := s.MeasureAccuracy(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			asked, correct := 0, 0
			for _, r := range truths(t, s) {
				if r.Correct != nil {
					asked++
					if *r.Correct {
						correct++
					}
				}
			}
			if got := s.accuracy; asked != 20 || got.Correct.Checked != 20 || got.Correct.In != correct || got.Failed > 0 || got.API != api {
				t.Errorf("%s, planted %v: %+v, in truth %d of %d", api, planted, got, correct, asked)
			}
		}
	}
}

// TestAccuracyCutOff: a model that thinks longer than max_tokens answers nothing, which is not a wrong answer.
func TestAccuracyCutOff(t *testing.T) {
	t.Parallel()
	for _, api := range []string{target.Chat, target.Responses, target.Messages} {
		s := mocked(t, mock.Config{ReasoningTokens: 400}, experiment.Target{}, api)
		a := &experiment.Accuracy{}
		a.Check(func(key, problem, _ string) { t.Fatal(key, problem) })
		if err := s.MeasureAccuracy(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if got := s.accuracy; got.CutOff != 20 || got.Correct.In != 0 {
			t.Errorf("%s: %+v", api, got)
		}
	}
}
