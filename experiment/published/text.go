package published

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/unit"
)

var engineNames = map[string]string{"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM",
	"tensorrt": "TensorRT", "llmboost": "LLMBoost"}

func EngineName(engine string) string { return cmp.Or(engineNames[engine], engine) }

func (f Figure) By() string {
	text := strings.TrimSpace(EngineName(f.Engine) + " " + f.Version)
	if f.ExpertParallel > 1 {
		text += fmt.Sprintf(", EP %d", f.ExpertParallel)
	}
	return text
}

func (f Figure) From() string {
	name := cmp.Or(SourceOf(f.Source).Name, f.Source)
	if f.Submitter != "" {
		name += ", " + strings.ReplaceAll(f.Submitter, "_", " ")
	}
	if f.Measured != "" {
		name += ", " + f.Measured
	}
	if f.Date != "" {
		name += ", " + f.Date
	}
	return name
}

func Slower(ratio float64) string {
	switch percent := 100 * (ratio - 1); {
	case math.Abs(percent) < 0.5:
		return "as published"
	case ratio >= 2:
		return unit.Digits(ratio) + " times the published"
	case percent > 0:
		return fmt.Sprintf("%.0f %% slower", percent)
	default:
		return fmt.Sprintf("%.0f %% faster", -percent)
	}
}

func LengthsNote(figures []Compared) string {
	var names []string
	of := map[string][]string{}
	for _, f := range figures {
		if f.LeastLength == 0 {
			continue
		}
		name := fmt.Sprintf("%s: lengths %.0f–100 %% of ", cmp.Or(SourceOf(f.Source).Name, f.Source), 100*f.LeastLength)
		names = appendNew(names, name)
		of[name] = appendNew(of[name], f.lengths())
	}
	for i, name := range names {
		names[i] += strings.Join(of[name], ", ")
	}
	return strings.Join(names, "; ")
}

type Shapes struct {
	Figures    int      `json:"figures"`
	Precisions []string `json:"precisions"`
	GPUs       []int    `json:"gpus"`
	Lengths    []string `json:"lengths"` // input/output tokens: "1,024/8,192"
}

func ShapesOf(q Query) *Shapes {
	shapes := func(of func(Figure) bool) *Shapes {
		s := &Shapes{}
		for _, f := range All() {
			if f.Input > 0 && of(f) {
				s.add(f)
			}
		}
		return s
	}
	s := shapes(q.sameSetup)
	if s.Figures == 0 {
		s = shapes(func(f Figure) bool { return f.Model == q.Model && f.GPU == q.GPU })
	}
	if s.Figures == 0 {
		return nil
	}
	slices.Sort(s.Precisions)
	slices.Sort(s.GPUs)
	return s
}

func (s *Shapes) add(f Figure) {
	s.Figures++
	s.Precisions = appendNew(s.Precisions, f.Precision)
	s.GPUs = appendNew(s.GPUs, f.GPUs)
	s.Lengths = appendNew(s.Lengths, f.lengths())
}

func (f Figure) lengths() string { return unit.Count(f.Input) + "/" + unit.Count(f.Output) }

func appendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

func (s *Shapes) String() string {
	gpus := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.GPUs)), ", "), "[]")
	of := "GPUs"
	if gpus == "1" {
		of = "GPU"
	}
	return fmt.Sprintf("%s: %s on %s %s at %s tokens", unit.Plural(s.Figures, "figure"),
		strings.Join(s.Precisions, ", "), gpus, of, strings.Join(s.Lengths, ", "))
}
