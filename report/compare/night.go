package compare

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/report/parallel"
)

// SchemaIndex is the schema name in an Index's JSON.
const SchemaIndex = "bench/history/v1"

// Index caches what NewHistory needs of many runs. It can be deleted at any time: ReadNights makes it again
// from the runs.
type Index struct {
	Schema string  `json:"schema"`
	Nights []Night `json:"nights"`
}

// Night is one run of a history.
type Night struct {
	Dir       string       `json:"dir"`   // relative to the root; of another tool's result, its file
	Stamp     string       `json:"stamp"` // hash of its files' names, sizes and times
	Error     string       `json:"error,omitempty"`
	Run       string       `json:"run"`
	StartedAt time.Time    `json:"started_at"`
	Group     GroupKey     `json:"group"`
	Facts     []Fact       `json:"facts,omitempty"`
	Points    []NightPoint `json:"points,omitempty"`
}

// GroupKey is what the runs of one group have in common.
type GroupKey struct {
	Matrix    string `json:"matrix"`
	Model     string `json:"model"`
	Hardware  string `json:"hardware"`
	GPUs      int    `json:"gpus"`
	Precision string `json:"precision"`
	Vantage   string `json:"vantage"`
	Simulated bool   `json:"simulated"`
}

// Fact is one property of a run.
type Fact struct {
	What  string `json:"what"`
	Value string `json:"value"`
}

// NightPoint is one point of one night, over its repeats.
type NightPoint struct {
	Name     string           `json:"point"`
	Workload string           `json:"workload"` // hash: another workload is another trend
	Valid    bool             `json:"valid"`
	Figures  map[string]Value `json:"figures"`
}

// Value is one figure of one night: the geometric mean of its repeats; of error_rate, the arithmetic one.
type Value struct {
	X       float64        `json:"x"`
	CI95    stats.Interval `json:"ci95"` // from the spread of the repeats; of a single one, from the variance within it
	Repeats int            `json:"n"`
}

// trended are the figures that a history follows.
var trended = []string{"ttft_p50", "ttft_p99", "tpot_p50", "e2e_p99", "output_tokens_per_s", experiment.ErrorRate}

// ErrNoRun is the error of a file that is not a result of any tool.
var ErrNoRun = errors.New("no run")

// ReadNights finds the runs and other tools' results below a directory, and reads those that are new or
// changed since old; fresh is their number. read loads one of them. If it fails, the night has an Error; a
// file with ErrNoRun is skipped.
func ReadNights(root string, old []Night, read func(name string) (Run, error)) (nights []Night, fresh int, err error) {
	names, err := runsBelow(root)
	if err != nil {
		return nil, 0, err
	}
	known := map[string]Night{}
	for _, n := range old {
		known[n.Dir] = n
	}
	nights = make([]Night, len(names))
	var todo []int
	for i, name := range names {
		stamp, err := stampOf(filepath.Join(root, name))
		if err != nil {
			return nil, 0, err
		}
		if n, ok := known[name]; ok && n.Stamp == stamp {
			nights[i] = n
			continue
		}
		nights[i] = Night{Dir: name, Stamp: stamp}
		todo = append(todo, i)
	}
	parallel.Do(len(todo), nil, func(i int) {
		n := &nights[todo[i]]
		run, err := read(filepath.Join(root, n.Dir))
		switch {
		case errors.Is(err, ErrNoRun):
			*n = Night{}
		case err != nil:
			n.Error = err.Error()
		default:
			n.fill(&run)
		}
	})
	found := len(nights)
	nights = slices.DeleteFunc(nights, func(n Night) bool { return n.Dir == "" })
	slices.SortStableFunc(nights, func(a, b Night) int { return a.StartedAt.Compare(b.StartedAt) })
	return nights, len(todo) - (found - len(nights)), nil
}

// runsBelow lists the directories with a run.json, nested ones too, and the JSON files outside of them.
func runsBelow(root string) ([]string, error) {
	var runs, files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() || strings.HasPrefix(d.Name(), "."):
		case d.Name() == "run.json":
			runs = append(runs, filepath.Dir(below))
		case filepath.Ext(name) == ".json" || filepath.Ext(name) == ".jsonl":
			files = append(files, below)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("searching for runs: %w", err)
	}
	dirs := map[string]bool{}
	for _, dir := range runs {
		dirs[dir] = true
	}
	for _, file := range files {
		if !dirs[filepath.Dir(file)] {
			runs = append(runs, file)
		}
	}
	return runs, nil
}

// stampOf is a hash that changes with the results of a run, or with a file.
func stampOf(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("reading a run: %w", err)
	}
	h := fnv.New64a()
	if !info.IsDir() {
		fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
		return fmt.Sprintf("%016x", h.Sum64()), nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return "", fmt.Errorf("reading a run: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return "", fmt.Errorf("reading a run: %w", err)
		}
		fmt.Fprintln(h, e.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}

// fill sets the night's fields from its run.
func (n *Night) fill(r *Run) {
	t := r.Manifest.Target
	n.Run, n.StartedAt = r.Manifest.Run, r.Manifest.StartedAt
	n.Group = GroupKey{Matrix: r.Manifest.Matrix, Model: t.Model, Hardware: t.Hardware, GPUs: t.GPUs, Precision: t.Precision,
		Vantage: t.Vantage.Place, Simulated: t.Simulated}
	for _, f := range r.facts() {
		if f.value != "" {
			n.Facts = append(n.Facts, Fact{f.what, f.value})
		}
	}
	found, order := points(Side{Runs: []Run{*r}})
	for _, name := range order {
		n.Points = append(n.Points, nightPoint(name, found[name]))
	}
}

func nightPoint(name string, samples []sample) NightPoint {
	h := fnv.New64a()
	fmt.Fprint(h, workloadKey(&samples[0].row.Spec), samples[0].row.PromptForm)
	p := NightPoint{Name: name, Workload: fmt.Sprintf("%06x", h.Sum64()>>40), Valid: true, Figures: map[string]Value{}}
	for _, s := range samples {
		p.Valid = p.Valid && s.row.Valid()
	}
	for _, name := range trended {
		f := newFigure(name)
		values, scaled := f.repeats(samples)
		if len(values) > 0 && f.noRatio([2][]float64{values}) == "" {
			p.Figures[name] = f.value(scaled)
		}
	}
	return p
}

// value is the mean of repeats with its interval, on the scale of the figure.
func (f figure) value(repeats []stats.Repeat) Value {
	mean, within := stats.RepeatsInterval(repeats, confidence)
	return Value{X: f.unscale(mean), Repeats: len(repeats), CI95: stats.Interval{Lo: f.unscale(within.Lo), Hi: f.unscale(within.Hi)}}
}

func (f figure) unscale(x float64) float64 {
	if f.absolute() {
		return x
	}
	return math.Exp(x)
}
