package published

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"bench/experiment/unit"
)

// engineNames are the engines' own names.
var engineNames = map[string]string{"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM", "tensorrt": "TensorRT", "llmboost": "LLMBoost"}

// By is the engine with its version and layout: "SGLang 0.5.9, EP 8".
func (f Figure) By() string {
	text := strings.TrimSpace(cmp.Or(engineNames[f.Engine], f.Engine) + " " + f.Version)
	if f.ExpertParallel > 1 {
		text += fmt.Sprintf(", EP %d", f.ExpertParallel)
	}
	return text
}

// From is the source with the model, if that has another name, and the date of measuring: "InferenceX, 2026-03-25".
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

// Slower is a ratio of times in words: "6 % slower", "as published" within half a percent.
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

// LengthsNote is what the lengths of spread requests are, by source: "InferenceX: lengths 80–100 % of 1,024/1,024";
// empty: all figures have the stated ones.
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
