package referee

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bench/experiment/mock"
	"bench/report"
	"bench/report/foreign"
)

// request is one request as the server saw it; times are since its start.
type request struct {
	at, first, last        time.Duration // arrival, first and last event with tokens
	gaps                   []float64     // between these events, ms
	output, prompt, cached int           // tokens; cached are of the prompt
	hash                   string        // of the prompt
	failed                 bool
}

func ttftOf(r *request) []float64 { return []float64{ms(r.first - r.at)} }
func e2eOf(r *request) []float64  { return []float64{ms(r.last - r.at)} }
func tpotOf(r *request) []float64 { return []float64{ms(r.last-r.first) / float64(max(1, r.output-1))} }
func gapsOf(r *request) []float64 { return r.gaps }

func outputOf(r *request) []float64 { return []float64{float64(r.output)} }
func promptOf(r *request) []float64 { return []float64{float64(r.prompt)} }
func cachedOf(r *request) []float64 { return []float64{float64(r.cached)} }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// truth are the requests that the tool counts, in order of arrival.
type truth []request

// readTruth takes the last n requests; n = 0: all of them. Earlier ones are probes and warm-ups. Later ones are
// none of the tool's if it gave them up, or if its window had ended: the zero window is of a tool without one.
func readTruth(t mock.Truth, n int, window time.Time) (last truth) {
	until := time.Duration(math.MaxInt64)
	for _, r := range t.Records {
		if !window.IsZero() {
			until = time.Duration(window.UnixNano() - r.ArrivalUnixNS + r.ArrivalNS)
		}
		if r.Aborted && !window.IsZero() {
			continue
		}
		q := request{at: time.Duration(r.ArrivalNS), output: r.OutputTokens, prompt: r.PromptTokens,
			cached: r.CachedTokens, hash: r.PromptSHA256, failed: r.Finish == "abort"}
		for i, at := range r.WrittenNS {
			if q.last = time.Duration(at); i == 0 {
				q.first = q.last
			} else {
				q.gaps = append(q.gaps, float64(at-r.WrittenNS[i-1])/1e6)
			}
		}
		last = append(last, q)
	}
	for _, at := range t.Refused {
		last = append(last, request{at: at, failed: true})
	}
	last = slices.DeleteFunc(last, func(r request) bool { return r.at > until })
	slices.SortStableFunc(last, func(a, b request) int { return int(a.at - b.at) })
	if n > 0 {
		last = last[max(0, len(last)-n):]
	}
	return last
}

// values are one figure of the requests that ended well, ascending.
func (t truth) values(of func(*request) []float64) (out []float64) {
	for i := range t {
		if !t[i].failed {
			out = append(out, of(&t[i])...)
		}
	}
	slices.Sort(out)
	return out
}

func (t truth) sum(of func(*request) []float64) (sum float64) {
	for _, x := range t.values(of) {
		sum += x
	}
	return sum
}

// inFlight is the mean number of requests from one time to another.
func (t truth) inFlight(from, to time.Duration) float64 {
	var sum time.Duration
	for i := range t {
		sum += max(0, min(t[i].last, to)-max(t[i].at, from))
	}
	return float64(sum) / float64(max(1, to-from))
}

const mostFiles = 10_000

// find reads the latest result below a folder: a run of bench, or a file of another tool.
func find(dir string) (found *report.Run, problem error) {
	var latest time.Time
	files := 0
	problem = errors.New("no result file that bench reads")
	walked := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if files++; err != nil || files > mostFiles {
			return errors.Join(err, fs.SkipAll)
		}
		_, err = os.Stat(filepath.Join(path, "run.json"))
		isRun := d.IsDir() && err == nil
		if !isRun && (d.IsDir() || !slices.Contains([]string{".json", ".jsonl", ".yaml", ".yml"}, filepath.Ext(path))) {
			return nil
		}
		run, err := foreign.Load(path)
		if err != nil && !errors.Is(err, foreign.ErrUnknown) {
			problem = err
		}
		if info, wrong := d.Info(); err == nil && wrong == nil && len(run.Rows) > 0 && !info.ModTime().Before(latest) {
			found, latest = run, info.ModTime()
		}
		if isRun {
			return fs.SkipDir
		}
		return nil
	})
	return found, errors.Join(walked, problem)
}
