package foreign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/report"
)

// LoadStated is Load, but what a file of vLLM or SGLang states stands before what Load makes of its lists of requests:
// its users read it. A statistic that is stated, but is not a number, is +Inf.
func LoadStated(path string) (*report.Run, error) {
	run, err := Load(path)
	if err != nil || run.Files != nil || run.Manifest.Matrix != vllm.name && run.Manifest.Matrix != sglang.name {
		return run, err
	}
	text, err := record.ReadRegular(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	i := 0
	for o, err := range objectsOf(path, text) {
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if i < len(run.Rows) { // each object is a row
			o.state(&run.Rows[i].Summary)
		}
		i++
	}
	return run, nil
}

func (o object) state(s *record.Summary) {
	if o.has("completed", "failed") {
		s.Requests.Completed, s.Requests.Failed = o.count("completed"), o.count("failed")
	}
	if s.Requests.Completed == 0 { // its statistics are 0, of nothing
		return
	}
	for end, of := range map[string][]**stats.Summary{"_ttft_ms": {&s.TTFT, &s.TTFTFromSend}, "_itl_ms": {&s.ITL},
		"_tpot_ms": {&s.TPOT}, "_e2el_ms": {&s.E2E, &s.E2EFromSend}, "_e2e_latency_ms": {&s.E2E, &s.E2EFromSend}} {
		if stated := o.over(*of[0], end); stated != nil {
			for _, x := range of {
				*x = stated
			}
		}
	}
}

// over is a summary with the statistics of an object in place of its own; nil: there is none.
func (o object) over(s *stats.Summary, end string) (stated *stats.Summary) {
	if s == nil {
		s = &stats.Summary{Mean: math.NaN(), P50: math.NaN(), P99: math.NaN()}
	}
	of := *s
	for stat, x := range map[string]*float64{"mean": &of.Mean, "p50": &of.P50, "p99": &of.P99} {
		for _, name := range pythonNames(stat) {
			if !o.has(name + end) {
				continue
			}
			stated = &of
			var ok bool
			if *x, ok = o.number(name + end); !ok {
				*x = math.Inf(1)
				break
			}
		}
	}
	return stated
}
