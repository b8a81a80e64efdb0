package referee

import (
	"errors"
	"fmt"
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
	at                     time.Duration
	first, last            mock.Span // the writes of the first and the last event with tokens
	gaps                   []span    // between these events
	output, prompt, cached int       // tokens; cached are of the prompt
	hash                   string    // of the prompt
	api                    string    // as in mock.Record
	failed                 bool
}

// span are the limits of a time, in ms: an event reaches a client on loopback after the start of its write, and before
// the server, which may have to wait for a processor, stamps its end.
type span struct{ low, high float64 }

func since(at time.Duration, s mock.Span) span { return between(mock.Span{From: at, To: at}, s) }
func between(a, b mock.Span) span              { return span{max(0, ms(b.From-a.To)), ms(b.To - a.From)} }

func ttftOf(r *request) []span { return []span{since(r.at, r.first)} }
func e2eOf(r *request) []span  { return []span{since(r.at, r.last)} }
func gapsOf(r *request) []span { return r.gaps }
func tpotOf(r *request) []span {
	all, n := between(r.first, r.last), float64(max(1, r.output-1))
	return []span{{all.low / n, all.high / n}}
}

func outputOf(r *request) int { return r.output }
func promptOf(r *request) int { return r.prompt }
func cachedOf(r *request) int { return r.cached }

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
			cached: r.CachedTokens, hash: r.PromptSHA256, api: r.API, failed: r.Finish == "abort"}
		for i, at := range r.WrittenNS {
			before := q.last
			if q.last = (mock.Span{From: time.Duration(r.WritingNS[i]), To: time.Duration(at)}); i == 0 {
				q.first = q.last
			} else {
				q.gaps = append(q.gaps, between(before, q.last))
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

// limits are those of one time of the requests that ended well, ascending. A quantile lies between theirs.
func (t truth) limits(of func(*request) []span) (low, high []float64) {
	for i := range t {
		if !t[i].failed {
			for _, x := range of(&t[i]) {
				low, high = append(low, x.low), append(high, x.high)
			}
		}
	}
	slices.Sort(low)
	slices.Sort(high)
	return low, high
}

// sum is over the requests that ended well.
func (t truth) sum(of func(*request) int) (sum float64) {
	for i := range t {
		if !t[i].failed {
			sum += float64(of(&t[i]))
		}
	}
	return sum
}

// inFlight is the mean number of requests from one time to another.
func (t truth) inFlight(from, to time.Duration) float64 {
	var sum time.Duration
	for i := range t {
		sum += max(0, min(t[i].last.To, to)-max(t[i].at, from))
	}
	return float64(sum) / float64(max(1, to-from))
}

const (
	mostFiles = 10_000
	mostBytes = 256 << 20 // of a result file
)

// find reads the latest result below a folder: a run of bench, or a file of another tool.
func find(dir string) (found *report.Run, problem error) {
	var latest time.Time
	files := 0
	problem = errors.New("no result file that bench reads")
	walked := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if files++; files > mostFiles {
			return fs.SkipAll
		}
		if err != nil { // of a folder that cannot be read
			problem = err
			return fs.SkipDir
		}
		_, err = os.Stat(filepath.Join(path, "run.json"))
		isRun := d.IsDir() && err == nil
		if !isRun && (d.IsDir() || !slices.Contains([]string{".json", ".jsonl", ".yaml", ".yml"}, filepath.Ext(path))) {
			return nil
		}
		info, err := os.Stat(path)
		if err == nil && !isRun {
			err = readable(info)
		}
		if err != nil {
			problem = err
			return nil
		}
		run, err := foreign.LoadStated(path)
		if err != nil && !errors.Is(err, foreign.ErrUnknown) {
			problem = err
		}
		if err == nil && len(run.Rows) > 0 && !info.ModTime().Before(latest) {
			found, latest = run, info.ModTime()
		}
		if isRun {
			return fs.SkipDir
		}
		return nil
	})
	return found, errors.Join(walked, problem)
}

// readable is an error for what has no end, such as a pipe, and for a file of too many bytes.
func readable(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", info.Name())
	case info.Size() > mostBytes:
		return fmt.Errorf("%s has %d MiB, more than %d", info.Name(), info.Size()>>20, mostBytes>>20)
	}
	return nil
}
