package revisions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bench/experiment/bisect"
	"bench/experiment/stats"
)

// file is the name of a Result in the directory of its bisection.
const file = "bisect.json"

const Schema = "bench/bisect/v1"

// States of a Result, beside the ends of a search.
const (
	StateRunning     = "running"
	StateBudget      = "budget"
	StateInterrupted = "interrupted"
	StateFailed      = "failed"
)

// States of a Revision; empty = it was not touched.
const (
	Built      = "built"
	PassedOver = "passed_over"
)

// Result is a bisection: its state, and the answer once it has ended.
type Result struct {
	Schema     string    `json:"schema"`
	Matrix     string    `json:"matrix"`
	MatrixHash string    `json:"matrix_sha256"`
	Row        string    `json:"row"`             // its label
	Build      []string  `json:"build,omitempty"` // command, without secrets; absent = the server's does it
	StartedAt  time.Time `json:"started_at"`
	// State is running, interrupted, failed, found, unchanged (good and bad do not differ), inconclusive (it is open
	// whether they do), unsettled (the limit of runs is reached) or budget.
	State      string  `json:"state"`
	Confidence float64 `json:"confidence"`
	Asked      string  `json:"metric_asked,omitempty"` // absent = it is chosen
	Metric     string  `json:"metric,omitempty"`       // what is bisected; absent = not chosen yet
	Choice     int     `json:"metrics,omitempty"`      // how many it was chosen from
	SpentS     float64 `json:"spent_s"`                // in builds and runs

	Revisions []Revision `json:"revisions"` // from good to bad
	Runs      []Run      `json:"runs"`
	Answer    *Answer    `json:"answer,omitempty"` // absent = not ended
}

// Revision is one of those from good to bad.
type Revision struct {
	Name    string  `json:"name"`
	Subject string  `json:"subject,omitempty"` // of its commit, or what stood beside it in the list
	State   string  `json:"state,omitempty"`   // built or passed_over; absent = neither
	Reason  string  `json:"reason,omitempty"`  // why it is passed over
	Log     string  `json:"log,omitempty"`     // of its build: a file
	Builds  int     `json:"builds,omitempty"`
	BuildS  float64 `json:"build_s,omitempty"`  // of all its builds
	FailedS float64 `json:"failed_s,omitempty"` // of runs without a result
}

// Run is a run of the matrix with a revision.
type Run struct {
	Revision  int                `json:"revision"` // index
	Dir       string             `json:"dir"`      // below that of the bisection: <matrix>/<start time>
	StartedAt time.Time          `json:"started_at"`
	TookS     float64            `json:"took_s"`
	Figures   map[string]float64 `json:"figures,omitempty"`
	Invalid   string             `json:"invalid,omitempty"` // why it does not count; absent = it does
}

// Answer is what the runs show.
type Answer struct {
	Changes []Changed `json:"changes"` // one, or two if two are likelier; empty = none is shown
	// Candidates are the fewest revisions that have the change with the confidence, the likeliest first.
	Candidates []string `json:"candidates"`
	Unchanged  float64  `json:"p_unchanged"` // probability that no revision changes the figure
	Two        float64  `json:"p_two"`       // that two do
	// Smallest is the change, as a share, that the runs of good and bad would have shown in four of five cases; absent
	// = the state is not inconclusive.
	Smallest float64 `json:"smallest_change,omitempty"`
	Spread   float64 `json:"spread"` // standard deviation of a run, as a share
	Good     Level   `json:"good"`
	Bad      Level   `json:"bad"`
	Builds   int     `json:"builds"`
	Runs     int     `json:"runs"`
}

// Changed is a revision that changes the figure.
type Changed struct {
	FirstBad    []string       `json:"first_bad"` // several: those before the last one cannot be built
	LastGood    string         `json:"last_good"`
	Probability float64        `json:"probability"`
	Share       float64        `json:"share"` // by which the figure changes
	Interval    stats.Interval `json:"interval"`
	GoodRun     string         `json:"last_good_run,omitempty"` // directory; absent = it was not measured
	BadRun      string         `json:"first_bad_run,omitempty"`
}

func (b *Bisection) answer() *Answer {
	a := &Answer{Changes: []Changed{}, Candidates: []string{}}
	_, a.Runs, _, a.Builds = b.work()
	if b.Metric == "" {
		return a
	}
	a.Good, a.Bad = b.level(0), b.level(len(b.Revisions)-1)
	believed := b.search().Believe()
	a.Unchanged, a.Two, a.Spread = believed.None, believed.Two, believed.Spread
	switch b.State {
	case bisect.Inconclusive:
		a.Smallest = b.smallest()
		return a
	case bisect.Unchanged:
		return a
	}
	for _, i := range believed.Within(b.Confidence) {
		a.Candidates = append(a.Candidates, b.Revisions[i].Name)
	}
	for _, c := range believed.Named() {
		a.Changes = append(a.Changes, b.changed(c))
	}
	return a
}

func (b *Bisection) changed(c bisect.Change) Changed {
	const wide = 1.96
	out := Changed{LastGood: b.Revisions[c.First-1].Name, Probability: c.Probability, Share: math.Expm1(c.Log),
		Interval: stats.Interval{Lo: math.Expm1(c.Log - wide*c.Error), Hi: math.Expm1(c.Log + wide*c.Error)}}
	for _, r := range b.Revisions[c.First : c.Last+1] {
		out.FirstBad = append(out.FirstBad, r.Name)
	}
	for _, x := range []struct {
		revision int
		dir      *string
	}{{c.First - 1, &out.GoodRun}, {c.Last, &out.BadRun}} {
		if runs := b.of(x.revision); len(runs) > 0 {
			*x.dir = filepath.Join(b.Dir, runs[len(runs)-1].Dir)
		}
	}
	return out
}

// Continue takes what an earlier attempt in a directory left, if it is of this bisection.
func (b *Bisection) Continue(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return fmt.Errorf("%s contains no bisection: %w\nhint: --resume takes the directory of one bisection, "+
			"results/bisect/<matrix>-<start time>", dir, err)
	}
	var was Result
	if err := json.Unmarshal(text, &was); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Join(dir, file), err)
	}
	same := slices.EqualFunc(b.Revisions, was.Revisions, func(x, y Revision) bool { return x.Name == y.Name })
	strange := func(run Run) bool { return run.Revision < 0 || run.Revision >= len(was.Revisions) }
	switch {
	case was.Schema != Schema || slices.ContainsFunc(was.Runs, strange):
		return fmt.Errorf("%s is not a bisection of this version of bench", dir)
	case was.Row != b.Row:
		return fmt.Errorf("%s is of row %q, not of %q\nhint: --only, as it began", dir, was.Row, b.Row)
	case was.MatrixHash != b.MatrixHash || !slices.Equal(was.Build, b.Build) || was.Asked != b.Asked || !same:
		return errors.New("the matrix, the revisions, --rev or --metric differ from " + dir +
			"\nhint: without --resume a new bisection begins")
	}
	was.Confidence, was.Answer = b.Confidence, nil
	b.Dir, b.Result = filepath.Clean(dir), was
	return nil
}
