package check

import (
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/workload"
)

// TestAnswerFindings: shares of 100 answers against limits, with and without them, of a row and of a class.
func TestAnswerFindings(t *testing.T) {
	mark := func(valid, correct int) func(*evidence) { // valid and correct ones of the 100; below 0: not checked
		return func(e *evidence) {
			for i, r := range e.inWindow() {
				if valid >= 0 {
					if r.Valid = new(i < valid); i >= valid {
						r.Invalid = "schema"
					}
				}
				if correct >= 0 {
					r.Correct = new(i < correct)
				}
			}
		}
	}
	limits := func(valid, correct float64) *workload.Answers {
		return &workload.Answers{MinValid: valid, MinCorrect: correct}
	}
	for _, c := range []struct {
		name     string
		limits   *workload.Answers
		marks    func(*evidence)
		severity record.Severity // empty: no finding of the code
		code     string
		text     string
	}{
		{"not asked", nil, mark(-1, -1), "", "", ""},
		{"valid without a limit", nil, mark(100, -1), "", "", ""},
		{"invalid without a limit", nil, mark(90, -1), record.Caution, "answers", "90 of 100 answers (90.0 %, 95 % interval 82.4 % to 95.1 %) valid: 10 schema"},
		{"wrong without a limit", nil, mark(-1, 50), "", "", ""},
		{"certainly below", limits(0.97, 0), mark(90, -1), record.Invalid, "answers", "at least 97 % wanted"},
		{"perhaps below", limits(0.95, 0), mark(90, -1), record.Caution, "answers", "90 of 100 answers"},
		{"perhaps not above", limits(0.99, 0), mark(100, -1), record.Caution, "answers", "100 of 100 answers"},
		{"above", limits(0.8, 0), mark(90, -1), "", "", ""},
		{"certainly wrong", limits(0, 0.9), mark(100, 50), record.Invalid, "answers", "50 of 100 answers"},
		{"never checked", limits(0, 0.9), mark(100, -1), record.Caution, "answers", "no answer was checked for being correct"},
	} {
		for _, class := range []string{"", "tools"} {
			e := flawless()
			e.Spec.Answers = c.limits
			c.marks(e)
			if class != "" {
				e.Spec.Answers, e.Spec.Mix = nil, []workload.Class{{Name: class, Weight: 1, Answers: c.limits}}
				e.Classes = map[string]record.Summary{class: record.Summarize(e.records, e.Window, record.Mode{Streams: true}, nil, 0)}
			}
			e.checked()
			if c.code == "" {
				if len(e.Findings) > 0 {
					t.Errorf("%s: %+v", c.name, e.Findings)
				}
				continue
			}
			if len(e.Findings) != 1 || e.Findings[0].Code != c.code || e.Findings[0].Severity != c.severity || !strings.Contains(e.Findings[0].Text, c.text) ||
				!strings.Contains(e.Findings[0].Text, class) {
				t.Errorf("%s: %+v, want %s %q", c.name, e.Findings, c.code, c.text)
			}
		}
	}
}

// TestUnchecked: answers that could not be checked are a caution.
func TestUnchecked(t *testing.T) {
	for reason, hint := range map[string]string{"forced": `stop = "natural"`, "unusable_fields": "correct the schema"} {
		e := flawless()
		for _, r := range e.inWindow() {
			r.Invalid = reason
		}
		if e.checked(); len(e.Findings) != 1 || e.Findings[0].Code != "answers" || !strings.Contains(e.Findings[0].Hint, hint) {
			t.Errorf("%s: %+v", reason, e.Findings)
		}
	}
}

// TestAccuracyOfReplicas: good replicas do not hide a broken one, which is named.
func TestAccuracyOfReplicas(t *testing.T) {
	e := flawless()
	e.Accuracy = &record.Accuracy{Source: "built-in", API: "chat", MinCorrect: 0.6}
	for endpoint, correct := range map[string]int{"http://a": 20, "http://b": 0, "http://c": 20} {
		e.Accuracy.Add(endpoint, 20, record.AccuracyCounts{Correct: correct})
	}
	e.checked()
	if len(e.Findings) != 1 || e.Findings[0].Severity != record.Invalid || !strings.Contains(e.Findings[0].Text, "replica http://b answers wrongly: 0 of 20") {
		t.Errorf("%+v", e.Findings)
	}
	if a := e.Accuracy; a.Correct.Checked != 60 || a.Correct.In != 40 || len(a.Replicas) != 3 {
		t.Errorf("%+v", a)
	}
}

// TestAccuracyOfThinkers: answers that were cut off in their reasoning are no certain sign of a broken server.
func TestAccuracyOfThinkers(t *testing.T) {
	e := flawless()
	e.Accuracy = &record.Accuracy{Source: "built-in", API: "chat", MinCorrect: 0.9}
	e.Accuracy.Add("http://a", 20, record.AccuracyCounts{CutOff: 20})
	e.checked()
	if len(e.Findings) != 1 || e.Findings[0].Severity != record.Caution || !strings.Contains(e.Findings[0].Text, "20 answers reached max_tokens") ||
		!strings.Contains(e.Findings[0].Hint, "thinking effort") {
		t.Errorf("%+v", e.Findings)
	}
}

// TestAccuracy: 20 questions find a broken server, and make no fuss about a good one.
func TestAccuracy(t *testing.T) {
	for correct, want := range map[int]record.Severity{20: "", 18: "", 16: record.Caution, 3: record.Invalid, 0: record.Invalid} {
		e := flawless()
		e.Accuracy = &record.Accuracy{Source: "built-in", API: "chat", MinCorrect: 0.9}
		e.Accuracy.Add("http://a", 20, record.AccuracyCounts{Correct: correct})
		e.checked()
		if len(e.Findings) != min(1, len(want)) || want != "" && (e.Findings[0].Code != "accuracy" || e.Findings[0].Severity != want) {
			t.Errorf("%d of 20: %+v", correct, e.Findings)
		}
	}
}
