package experiment

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// Accuracy is the [accuracy] table: questions with known answers that each server is asked once, before its rows. A
// server that answers too many of them wrongly makes its rows invalid, however fast it is.
type Accuracy struct {
	File       string  `toml:"file"`        // JSON lines with prompt and expected; empty = 20 sums of two numbers
	MinCorrect float64 `toml:"min_correct"` // share; 0 = 0.9

	Questions []Question `toml:"-"` // filled by Check
}

type Question struct {
	Prompt   string
	Expected []string
}

const MostAccuracyTokens = 256

func (a *Accuracy) Least() float64 {
	if a.MinCorrect == 0 {
		return 0.9
	}
	return a.MinCorrect
}

func (a *Accuracy) Check(bad func(key, problem, hint string)) {
	if !(a.MinCorrect >= 0 && a.MinCorrect <= 1) || math.IsNaN(a.MinCorrect) {
		bad("min_correct", fmt.Sprintf("min_correct %v is not a share of the answers", a.MinCorrect),
			"write min_correct = 0.9")
	}
	if a.Questions = sums(); a.File == "" {
		return
	}
	var err error
	if a.Questions, err = readQuestions(a.File); err != nil {
		bad("file", err.Error(),
			`one JSON object a line: {"prompt": "What is 17 + 25? Answer with the number only.", "expected": "42"}`)
	}
}

// sums are questions that every model of use answers, from 23 + 64 up to sums of three digits.
func sums() []Question {
	questions := make([]Question, 20)
	for i := range questions {
		a, b := 12+37*(i+3)%83, 11+53*(i+1)%79
		questions[i] = Question{fmt.Sprintf("Answer with the number only.\nWhat is %d + %d?", a, b),
			[]string{fmt.Sprint(a + b)}}
	}
	return questions
}

const (
	mostQuestions = 1000
	longestLine   = 256 << 10
)

func readQuestions(file string) ([]Question, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	questions, err := parseQuestions(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return questions, nil
}

func parseQuestions(r io.Reader) ([]Question, error) {
	var questions []Question
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		if len(questions) == mostQuestions {
			return nil, fmt.Errorf("line %d: more than %d questions", n, mostQuestions)
		}
		q, err := parseQuestion(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		questions = append(questions, q)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	if len(questions) == 0 {
		return nil, errors.New("no question")
	}
	return questions, nil
}

func parseQuestion(text string) (Question, error) {
	var line struct {
		Prompt   string
		Expected json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		return Question{}, err
	}
	q := Question{Prompt: line.Prompt}
	var one string
	if json.Unmarshal(line.Expected, &one) == nil {
		q.Expected = []string{one}
	} else if err := json.Unmarshal(line.Expected, &q.Expected); err != nil {
		return q, errors.New("expected is neither a text nor a list of texts")
	}
	switch {
	case strings.TrimSpace(q.Prompt) == "":
		return q, errors.New("no prompt")
	case len(q.Expected) == 0 || strings.TrimSpace(strings.Join(q.Expected, "")) == "":
		return q, errors.New("no expected answer")
	}
	return q, nil
}
