// Package runner runs self-tests. A server with fixed times runs in a separate process. The client sends it a
// ladder of loads with the same code that measures rows. Then the timestamps of each request are compared
// with the server's record of that request, on one clock.
//
// The package reads no environment variables and writes no files. Delays of the server are not counted as
// client errors.
package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/selftest"
	"bench/experiment/server"
	"bench/experiment/workload"
)

type Config struct {
	Ladder  Ladder
	Machine selftest.Machine // this machine
	// Command starts the server. It must print "listening on URL", emit the first token after Ladder.TTFT and
	// further tokens every Ladder.ITL, not queue requests, and serve its records at /debug/requests.
	Command []string
	// Begun and Done are called for each step; nil: not called.
	Begun func(index, total int, s selftest.Step)
	Done  func(selftest.Measured)
}

// Run makes the steps of the ladder. A failed step has its Problem; the error is ctx's, or of a server that
// did not start or that exited. An inaccurate step is repeated once and the better attempt counts, since a
// short disturbance is not a limit of the client. Steps above the first inaccurate one, of streams and of
// rates each, have one attempt.
func Run(ctx context.Context, c Config) (*selftest.Result, error) {
	r := &selftest.Result{
		Schema: selftest.Schema, StartedAt: time.Now().UTC(), Machine: c.Machine,
		TTFTMs: ms(c.Ladder.TTFT), ITLMs: ms(c.Ladder.ITL), LimitUs: selftest.LimitUs, Steps: []selftest.Measured{},
	}
	err := server.Run(ctx, server.Config{Command: c.Command, Announce: "listening on "},
		func(ctx context.Context, s server.Running) error {
			return c.runSteps(ctx, s, r)
		})
	if err != nil {
		return nil, err
	}
	r.EndedAt = time.Now().UTC()
	r.Calibration = selftest.Calibrate(r.Steps)
	return r, nil
}

func (c Config) runSteps(ctx context.Context, srv server.Running, r *selftest.Result) error {
	steps := c.Ladder.Steps()
	tries := 0
	try := func(s selftest.Step) selftest.Measured {
		tries++
		return c.attempt(ctx, srv, s, tries)
	}
	for i, s := range steps {
		if c.Begun != nil {
			c.Begun(i+1, len(steps), s)
		}
		m := try(s)
		if above := selftest.FirstInaccurate(r.Steps, s.Kind == selftest.Rate); !m.Accurate && (above == nil ||
			s.Size < above.Size) && ctx.Err() == nil {
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

func (c Config) attempt(ctx context.Context, srv server.Running, s selftest.Step, n int) selftest.Measured {
	m := selftest.Measured{Step: s, Tries: 1}
	seen, truth, err := c.Ladder.runStep(ctx, srv, s, n)
	if err != nil {
		m.Problem = err.Error()
		m.Why = m.Problem
		return m
	}
	measure(&m, seen, truth)
	m.Assess()
	return m
}

func (l Ladder) runStep(
	ctx context.Context, srv server.Running, s selftest.Step, n int,
) (*clientLog, map[string]*serverRecord, error) {
	if _, err := serverTimes(ctx, http.MethodDelete, srv.URL); err != nil {
		return nil, nil, err
	}
	seen, err := l.send(ctx, srv, s, n)
	if err == nil && len(seen.samples) == 0 {
		err = errors.New("no request was sent")
	}
	if err != nil {
		return nil, nil, err
	}
	truth, err := serverTimes(ctx, http.MethodGet, srv.URL)
	return seen, truth, err
}

// send sends the step's load; n numbers the ids of its requests, and is the seed of the arrivals and prompts.
func (l Ladder) send(ctx context.Context, srv server.Running, s selftest.Step, n int) (*clientLog, error) {
	client, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Timeout: timeout})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if _, err := client.Prepare(ctx, l.connections(s)); err != nil {
		if strings.Contains(err.Error(), syscall.EMFILE.Error()) {
			err = fmt.Errorf("%w (each stream needs one open file here and one in the server; ulimit -n is the limit)",
				err)
		}
		return nil, err
	}
	enc, err := openai.Params{Model: model, Stream: true, IgnoreEOS: true}.Encoder()
	if err != nil {
		return nil, err
	}
	w, asked := l.load(s)
	var ids []int32
	seen := &clientLog{}
	before := coresUsed(srv.PID)
	measured, err := load.Run(ctx, load.Config{
		Load: asked, Rate: w.Rate, Plan: workload.NewPlan(w, uint64(n), ""),
		Encode: func(q *workload.Request) []byte {
			ids = vocab.TokenIDs(ids[:0], q)
			return enc.Body(nil, openai.Prompt{IDs: ids}, q.Output)
		},
		Send: func(ctx context.Context, job *load.Job, body []byte, epoch time.Time) func() {
			return client.Start(ctx, &openai.Call{
				Body: body, Stream: true, Epoch: epoch, RequestID: requestID(n, job.Request.Index),
				MinTokens: job.Request.Output,
			}, &job.Result)
		},
		Each: func(job *load.Job) error {
			seen.add(n, job)
			return nil
		},
	})
	seen.cores = coresUsed(srv.PID).since(before)
	seen.epoch, seen.start, seen.end = measured.Epoch, measured.Start, measured.End
	return seen, err
}

var vocab = workload.Vocabulary{IDs: 1000}

const (
	timeout = 30 * time.Second // of one request
	model   = "bench-mock"
)

func requestID(try, index int) string { return fmt.Sprintf("selftest-%d-%d", try, index) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
