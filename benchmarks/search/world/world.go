// Package world is a simulated server with a known limit: the highest load at which a percentile of a latency
// meets it. It measures windows of such a server in virtual time, so that searches for that load can be compared
// over many seeds. The engine is experiment/mock's; arrivals and lengths are drawn here, apart from the client's
// workload.
package world

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"bench/experiment/mock"
)

// World is one server, its requests, its limit and the load that just meets it. Use Read.
type World struct {
	Name  string `toml:"name"`
	About string `toml:"about"` // one sentence: what makes it unlike the others

	SLO    SLO         `toml:"slo"`
	Work   Work        `toml:"requests"`
	Search Range       `toml:"search"`
	Mock   mock.Config `toml:"mock"`
	Truth  Truth       `toml:"truth"`
}

// SLO is the limit of a percentile, over the requests that arrive in a window.
type SLO struct {
	Metric     string        `toml:"metric"` // ttft, tpot or e2e; from intended arrival
	Percentile float64       `toml:"percentile"`
	Limit      time.Duration `toml:"limit"`
}

// Work is the lengths of requests. No two prompts have a common block, so the prefix cache never helps.
type Work struct {
	Input     int     `toml:"input"`
	Output    int     `toml:"output"`     // tokens of each answer; 0: lognormal, by the three keys below
	OutputP50 float64 `toml:"output_p50"` // tokens
	OutputP95 float64 `toml:"output_p95"` // tokens
	OutputMax int     `toml:"output_max"` // longer answers are cut
}

// Range is the load that a search varies, and the ends of its range.
type Range struct {
	// Load is rate: Poisson arrivals, per second; constant: even gaps; or concurrency: a closed loop.
	Load     string  `toml:"load"`
	Min, Max float64 // in the unit of Load
}

// Loads are the kinds of load of a Range.
var Loads = []string{"rate", "constant", "concurrency"}

// Truth is what long simulations showed.
type Truth struct {
	Load     float64 `toml:"load"`     // the percentile meets the limit up to here
	Capacity float64 `toml:"capacity"` // requests per second that the server completes at most
	How      string  `toml:"how"`
	Points   []Point `toml:"points"` // around Load, ascending
}

// Point is the percentile at a load, the mean over independent simulations.
type Point struct {
	Load float64 `toml:"load"`
	Ms   float64 `toml:"ms"`
	SEMs float64 `toml:"se_ms"` // standard error of Ms, from their differences
}

// Read reads the worlds of files such as servers/*.toml, in the order of their names.
func Read(glob string) ([]*World, error) {
	files, err := filepath.Glob(glob)
	if err != nil {
		return nil, fmt.Errorf("reading servers: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("reading servers: no file matches %s", glob)
	}
	var out []*World
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading servers: %w", err)
		}
		w, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, w)
	}
	return out, nil
}

// parse reads one world and refuses unknown keys.
func parse(text string) (*World, error) {
	w := &World{}
	meta, err := toml.Decode(text, w)
	if err != nil {
		return nil, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("unknown key %s", unknown[0])
	}
	return w, w.check()
}

func (w *World) check() error {
	switch {
	case w.SLO.Metric != "ttft" && w.SLO.Metric != "tpot" && w.SLO.Metric != "e2e":
		return fmt.Errorf("slo.metric = %q: expected ttft, tpot or e2e", w.SLO.Metric)
	case w.SLO.Percentile <= 0 || w.SLO.Percentile >= 100:
		return errors.New("slo.percentile: expected a number between 0 and 100")
	case !slices.Contains(Loads, w.Search.Load):
		return fmt.Errorf("search.load = %q: expected one of %v", w.Search.Load, Loads)
	case w.Work.Input < 3:
		return errors.New("requests.input: expected an integer ≥ 3")
	case w.Work.Output < 1 && (w.Work.OutputP50 < 1 || w.Work.OutputP95 <= w.Work.OutputP50 || w.Work.OutputMax < 1):
		return errors.New("requests: expected output, or output_p50 < output_p95 and output_max")
	}
	return nil
}
