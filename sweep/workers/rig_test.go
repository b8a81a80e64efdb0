package workers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
	"bench/internal/listen"
)

// rig is a leader and its workers in one bubble of synctest.
type rig struct {
	t      *testing.T
	ctx    context.Context
	leader *Leader
	l      *fixture.Pipes
	stop   func() // of the leader's door
	token  string // of ask
	group  sync.WaitGroup
	before func(*http.Request)       // a worker's request; nil = nothing
	fail   func(*http.Request) error // of a worker's request, after the leader has answered; nil = none
}

const testToken = "correct horse"

var testBuild = Build{Version: "1.0", Commit: "abc"}

func newRig(t *testing.T, workers int) *rig {
	return newRigOf(t, workers, testToken)
}

// newRigOf is a rig with these tokens.
func newRigOf(t *testing.T, workers int, tokens ...string) *rig {
	x := &rig{t: t, leader: NewLeader(workers, tokens, testBuild), l: fixture.NewPipes(), token: tokens[0]}
	ctx, cancel := context.WithCancel(t.Context())
	x.ctx = ctx
	x.stop = (&listen.Door{Handler: x.leader, BodyTimeout: BodyTimeout}).Start(x.l)
	t.Cleanup(func() {
		cancel()
		x.leader.End("")
		x.stop()
		x.group.Wait()
		time.Sleep(time.Second) // connections of package http linger for half of it
	})
	return x
}

// roundTrip loses some answers.
func (x *rig) roundTrip(next http.RoundTripper) http.RoundTripper {
	return tripper(func(r *http.Request) (*http.Response, error) {
		if x.before != nil {
			x.before(r)
		}
		response, err := next.RoundTrip(r)
		if err == nil && x.fail != nil {
			if err := x.fail(r); err != nil {
				response.Body.Close()
				return nil, err
			}
		}
		return response, err
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fake is a worker's side of the load.
type fake struct {
	share func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error)
	got   experiment.Target
}

func (f *fake) RunShare(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
	return f.share(ctx, c)
}

func (f *fake) Close() {}

func (x *rig) worker(index int, share func(context.Context, endpoint.ShareConfig) (*endpoint.ShareResult, error)) *Worker {
	client := NewClient(nil)
	transport := client.Transport.(*http.Transport)
	transport.DialContext = x.l.Dial
	client.Transport = x.roundTrip(transport)
	x.t.Cleanup(transport.CloseIdleConnections)
	f := &fake{share: share}
	return &Worker{
		Join: "http://leader", Token: testToken, Client: client, Build: testBuild, Host: fmt.Sprintf("host-%d", index), Index: index,
		Wait: time.Minute,
		Reach: func(_ context.Context, a endpoint.ServerAddress, _ *experiment.Spec) (Sharer, error) {
			f.got = a.Target
			return f, nil
		},
	}
}

// run runs a worker until the leader ends, or the test does.
func (x *rig) run(ctx context.Context, w *Worker) <-chan error {
	ended := make(chan error, 1)
	x.group.Go(func() { ended <- w.Run(ctx) })
	return ended
}

// complete waits until all workers are there.
func (x *rig) complete() {
	x.t.Helper()
	if err := x.leader.Complete(x.ctx); err != nil {
		x.t.Fatal(err)
	}
}

// each is a row with 100 requests, of which the workers send one each ten ms.
func each(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
	start, err := c.Ready(ctx)
	if err != nil {
		return nil, err
	}
	sent, share := 0, c.Spec.Share(c.Worker, c.Of)
	for i := range 100 {
		if !share.Owns(i) {
			continue
		}
		due := start.Add(time.Duration(i) * 10 * time.Millisecond)
		if err := pause(ctx, time.Until(due)); err != nil {
			return nil, err
		}
		sent++
		c.Progress.Sent.Add(1)
		us := record.At(time.Since(start).Microseconds())
		if err := c.Each(&record.Record{I: i, Phase: record.PhaseWindow, Arrival: us, Sent: us, End: us, Outcome: "ok"}); err != nil {
			return nil, err
		}
	}
	c.Drained()
	select {
	case <-c.Release.Done():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &endpoint.ShareResult{Worker: record.Worker{Sent: sent}}, nil
}

// drive has the workers send a row, and returns its records by index.
func (x *rig) drive(ctx context.Context, c endpoint.DriveConfig) (map[int]*record.Record, []endpoint.ShareResult, error) {
	got := map[int]*record.Record{}
	if c.Row.Spec == nil {
		c.Row.Spec = &experiment.Spec{Name: "row"}
	}
	if c.Each == nil {
		c.Each = func(r *record.Record) error {
			if got[r.I] != nil {
				x.t.Errorf("record %d came twice", r.I)
			}
			got[r.I] = r
			return nil
		}
	}
	results, err := x.leader.Drive(ctx, c)
	return got, results, err
}

// ask sends a request of a worker that is written by hand, and returns its status and answer.
func (x *rig) ask(method, path string, query url.Values, body io.Reader) (int, string) {
	x.t.Helper()
	transport := &http.Transport{DialContext: x.l.Dial, DisableKeepAlives: true}
	r, err := http.NewRequest(method, "http://leader"+path+"?"+query.Encode(), body)
	if err != nil {
		x.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+x.token)
	response, err := transport.RoundTrip(r)
	if err != nil {
		x.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
