package published

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/unit"
)

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
