// Package selftest measures the client's own error on this machine. An exactly timed server runs in a process of its own;
// the client drives it up a ladder of loads with the same code that measures rows; then each request's
// stamps are held against the times that the server noted for that very request, on one clock. What comes of it is the load up
// to which the client's figures can be believed.
//
// The order is: a Ladder gives Steps; Run makes them and returns a Result, of which every figure is a function of the two sides'
// times (join, measure) and every verdict one of those figures (judge); Text shows it.
//
// Nothing here reads the environment or writes a file, and the server's time is never counted as the client's.
package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/selftest"
	"bench/experiment/server"
	"bench/experiment/workload"
)

// Config is what Run needs.
type Config struct {
	Ladder  Ladder
	Machine selftest.Machine // this one, as the caller knows it
	// Command starts the server: it writes "listening on URL", has its first token due after Ladder.TTFT and the further ones after
	// Ladder.ITL each, puts no request off, and tells its times at /debug/requests.
	Command []string
	// Begun and Done are told of each step; nil = nobody wants to know.
	Begun func(index, total int, s selftest.Step)
	Done  func(selftest.Measured)
}

// Run makes the steps of the ladder. A step that could not be made says why; the error is ctx's, or the server's that
// could not be started or ended. A step that is not believed is made once more, and the better try counts: a busy moment of
// the machine is no limit of the client. Above the first one that stays so, of streams and of rates each, steps have one try.
func Run(ctx context.Context, c Config) (*selftest.Result, error) {
	r := &selftest.Result{
		Schema: selftest.Schema, StartedAt: time.Now().UTC(), Machine: c.Machine,
		TTFTMs: ms(c.Ladder.TTFT), ITLMs: ms(c.Ladder.ITL), LimitUs: selftest.LimitUs, Steps: []selftest.Measured{},
	}
	err := server.Run(ctx, server.Config{Command: c.Command, Announce: "listening on "}, func(ctx context.Context, s server.Running) error {
		return c.climb(ctx, s, r)
	})
	if err != nil {
		return nil, err
	}
	r.EndedAt = time.Now().UTC()
	r.Calibration = selftest.Calibrate(r.Steps)
	return r, nil
}

func (c Config) climb(ctx context.Context, srv server.Running, r *selftest.Result) error {
	steps := c.Ladder.Steps()
	tries := 0
	try := func(s selftest.Step) selftest.Measured {
		tries++
		return c.try(ctx, srv, s, tries)
	}
	for i, s := range steps {
		if c.Begun != nil {
			c.Begun(i+1, len(steps), s)
		}
		m := try(s)
		if above := selftest.FirstInaccurate(r.Steps, s.Kind == selftest.Rate); !m.Accurate && (above == nil || s.Size < above.Size) && ctx.Err() == nil {
			m = selftest.Better(m, try(s))
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.Steps = append(r.Steps, m); c.Done != nil {
			c.Done(m)
		}
	}
	return nil
}

// try makes one step; n is its number among all tries.
func (c Config) try(ctx context.Context, srv server.Running, s selftest.Step, n int) selftest.Measured {
	m := selftest.Measured{Step: s, Tries: 1}
	seen, truth, err := c.Ladder.drive(ctx, route{url: srv.URL + "/v1", truth: srv.URL, pid: srv.PID, model: model}, s, n)
	if err != nil {
		m.Problem = err.Error()
		m.Why = m.Problem
		return m
	}
	measure(&m, seen, truth)
	m.Assess()
	return m
}

// route is the way of a step's requests.
type route struct {
	url   string // base URL of the server, or of what stands before it
	truth string // URL of the server that notes its times
	pid   int    // of that server; 0: its CPU is not counted
	api   string // as openai.Options
	model string
	key   string // API key; empty: none
	words bool   // prompts are text; else token ids
}

// drive sends the step's load and returns what the client saw and what the server noted.
func (l Ladder) drive(ctx context.Context, r route, s selftest.Step, n int) (*observed, map[string]*record, error) {
	if err := forget(ctx, r.truth); err != nil {
		return nil, nil, err
	}
	seen, err := l.send(ctx, r, s, n)
	if err == nil && len(seen.samples) == 0 {
		err = errors.New("no request was sent")
	}
	if err != nil {
		return nil, nil, err
	}
	truth, err := fetch(ctx, r.truth)
	return seen, truth, err
}

func (l Ladder) send(ctx context.Context, r route, s selftest.Step, n int) (*observed, error) {
	client, err := openai.New(openai.Options{BaseURL: r.url, API: r.api, APIKey: r.key, Timeout: timeout})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if _, err := client.Prepare(ctx, l.connections(s)); err != nil {
		if strings.Contains(err.Error(), syscall.EMFILE.Error()) {
			err = fmt.Errorf("%w (ulimit -n tells how many files may be open: a stream is one here and one at the server)", err)
		}
		return nil, err
	}
	enc, err := openai.Params{API: r.api, Model: r.model, Stream: true, IgnoreEOS: true}.Encoder()
	if err != nil {
		return nil, err
	}
	w, asked := l.load(s)
	var ids []int32
	seen := &observed{}
	before := used(r.pid)
	measured, err := load.Run(ctx, load.Config{
		Load: asked, Rate: w.Rate, Plan: workload.NewPlan(w, uint64(n), ""),
		Encode: func(q *workload.Request) []byte {
			ids = vocab.TokenIDs(ids[:0], q)
			if r.words {
				return enc.Body(nil, openai.Prompt{Text: words(ids)}, q.Output)
			}
			return enc.Body(nil, openai.Prompt{IDs: ids}, q.Output)
		},
		Send: func(ctx context.Context, job *load.Job, body []byte, epoch time.Time) func() {
			return client.Start(ctx, &openai.Call{
				Body: body, Stream: true, Epoch: epoch, RequestID: requestID(n, job.Request.Index), MinTokens: job.Request.Output,
			}, &job.Result)
		},
		Each: func(job *load.Job) error {
			seen.add(n, job)
			return nil
		},
	})
	seen.cores = used(r.pid).since(before)
	seen.epoch, seen.start, seen.end = placed(measured.Epoch), measured.Start, measured.End
	return seen, err
}

var vocab = workload.Vocabulary{IDs: 1000}

// words is a prompt that the server reads as these token ids.
func words(ids []int32) string {
	var b []byte
	for _, id := range ids {
		b = strconv.AppendInt(append(b, " w"...), int64(id), 10)
	}
	return string(b[1:])
}

const (
	timeout = 30 * time.Second // of one request
	model   = "bench-mock"
)

// requestID joins a request with the server's record of it.
func requestID(try, index int) string { return fmt.Sprintf("selftest-%d-%d", try, index) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
