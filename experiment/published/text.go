package published

import (
	"cmp"
	"fmt"
	"math"
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
