package sweep

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/sweep/workers"
)

// cutting are workers that cut the first rows.
type cutting struct {
	*workers.Leader
	cuts  int
	salts []string
}

func (c *cutting) Drive(ctx context.Context, d endpoint.DriveConfig) ([]endpoint.ShareResult, error) {
	c.salts = append(c.salts, d.Row.Salt)
	if c.cuts > 0 {
		c.cuts--
		err := d.Each(&record.Record{I: 999, Phase: record.PhaseWindow, Outcome: "ok"})
		return nil, errors.Join(err, &endpoint.WorkerError{Worker: 1, Host: "host-b", Text: "no sign of life for 10s"})
	}
	return c.Leader.Drive(ctx, d)
}

func crew(t *testing.T, n int) *workers.Leader {
	t.Helper()
	const token = "token"
	leader := workers.NewLeader(n, []string{token}, workers.Build{})
	server := httptest.NewServer(leader)
	var group sync.WaitGroup
	for k := range n {
		w := &workers.Worker{
			Join: server.URL, Token: token, Client: workers.NewClient(nil), Host: "host", Index: k,
			Reach: func(ctx context.Context, a endpoint.ServerAddress, s *experiment.Spec) (workers.Sharer, error) {
				return endpoint.Reach(ctx, a.Target, a.Base, "", experiment.APIs([]experiment.Spec{*s}, a.Target), nil)
			},
		}
		group.Go(func() {
			if err := w.Run(context.Background()); err != nil {
				t.Errorf("worker %d: %v", k, err)
			}
		})
	}
	t.Cleanup(func() {
		leader.End("the test is over")
		group.Wait()
		server.CloseClientConnections()
		server.Close()
	})
	return leader
}

// TestCutRows sends a row again that workers cut: with other prompts, and without a trace of the attempts before.
func TestCutRows(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	for cuts := range 4 {
		c := &cutting{crew(t, 2), cuts, nil}
		var seen []string
		result, err := sweepTo(t, t.Context(), base, tiny, Options{Out: t.TempDir(), Only: []string{"a"}, Workers: c, Event: func(e Event) {
			switch {
			case e.Begun != nil:
				seen = append(seen, "begun")
			case e.Cut != nil:
				seen = append(seen, "cut "+e.Cut.Reason)
			case e.Finished != nil:
				seen = append(seen, "finished")
			}
		}})
		const cut = "cut worker 1 (host-b): no sign of life for 10s"
		want := []string{"begun", cut, "begun", cut, "begun", "finished"}[2*(2-min(cuts, 2)):]
		if cuts == 3 {
			want = want[:len(want)-1]
		}
		if !slices.Equal(seen, want) || len(c.salts) != min(cuts, 2)+1 || len(slices.Compact(slices.Sorted(slices.Values(c.salts)))) != len(c.salts) {
			t.Errorf("%d cuts: events %q, salts %q", cuts, seen, c.salts)
		}
		left := names(t, result.Dir)
		if cuts == 3 {
			if err == nil || !strings.Contains(err.Error(), "a-r1 was cut 3 times: ") || !strings.Contains(err.Error(), "hint: fix the worker, then resume with --resume") {
				t.Errorf("error %v", err)
			}
			if slices.Contains(left, "a-r1.json") || !slices.Contains(left, "a-r1.requests.jsonl.zst.partial") {
				t.Errorf("left: %q", left)
			}
			continue
		}
		if err != nil || result.Manifest.State != "done" {
			t.Fatal(result.Manifest.State, err)
		}
		holdRecords(t, result.Dir, c.salts[cuts])
	}
}

// holdRecords holds the files of row a to what two workers sent.
func holdRecords(t *testing.T, dir, salt string) {
	t.Helper()
	row, ok := directory{path: dir}.row("a-r1")
	if !ok || row.Salt != salt || len(row.Workers) != 2 {
		t.Fatalf("the row is %+v", row)
	}
	f, err := os.Open(directory{path: dir}.file("a-r1" + record.RequestsSuffix))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	owner := row.Spec.Share(0, 2).Owner
	var indexes []int
	err = record.ReadRecords(f, func(r *record.Record) error {
		if r.Worker == nil || *r.Worker != owner(r.I) {
			t.Errorf("record %d is of worker %v", r.I, r.Worker)
		}
		if r.Phase == record.PhaseWindow {
			indexes = append(indexes, r.I)
		}
		return nil
	})
	slices.Sort(indexes)
	if err != nil || !slices.Equal(indexes, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("records %v, error %v", indexes, err)
	}
}

// TestNoWorkerJoins has workers that do not join: the run ends, and can be resumed.
func TestNoWorkerJoins(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	result, err := sweepTo(t, t.Context(), base, tiny, Options{Out: t.TempDir(), Workers: alone{}})
	if err == nil || !strings.Contains(err.Error(), "a-r1: no workers\nhint: start them, then resume with --resume ") || result.Manifest.State != "failed" {
		t.Errorf("state %v, error %v", result.Manifest.State, err)
	}
}

// alone are workers that do not join.
type alone struct{ endpoint.Workers }

// Complete implements endpoint.Workers.
func (alone) Complete(context.Context) error { return errors.New("no workers") }
