package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// record is what the server noted of one request: a line of its /debug/requests. Times are ns of its own clock; the arrival is
// also given by the clocks that we share with it.
type record struct {
	RequestID          string  `json:"request_id"`
	ID                 string  `json:"id"` // of its answer
	ArrivalUnixNS      int64   `json:"arrival_unix_ns"`
	ArrivalMonotonicNS int64   `json:"arrival_monotonic_ns"` // 0: not told
	ArrivalNS          int64   `json:"arrival_ns"`           // the request's header had been read
	DueNS              []int64 `json:"due_ns"`               // of each event with tokens
	WritingNS          []int64 `json:"writing_ns"`           // just before its write
	WrittenNS          []int64 `json:"written_ns"`           // and just after
}

// sinceEpoch turns a time of the server's clock into one since the client's epoch, ns.
func (r *record) sinceEpoch(at int64, epoch moment) int64 {
	at -= r.ArrivalNS
	if epoch.monotonic != 0 && r.ArrivalMonotonicNS != 0 {
		return at + r.ArrivalMonotonicNS - epoch.monotonic
	}
	return at + r.ArrivalUnixNS - epoch.wall // as good, unless the clock was set in between
}

// readTruth reads JSON lines, by request id; one without is there by the name of its answer.
func readTruth(r io.Reader) (map[string]*record, error) {
	truth := map[string]*record{}
	lines := json.NewDecoder(r)
	for {
		one := new(record)
		switch err := lines.Decode(one); {
		case errors.Is(err, io.EOF):
			return truth, nil
		case err != nil:
			return nil, fmt.Errorf("reading the server's times: %w", err)
		}
		if n := len(one.DueNS); len(one.WritingNS) != n || len(one.WrittenNS) != n {
			return nil, fmt.Errorf("reading the server's times: request %s has %d due, %d writing and %d written", one.RequestID, n, len(one.WritingNS), len(one.WrittenNS))
		}
		truth[cmp.Or(one.RequestID, one.ID)] = one
	}
}

// fetch asks the server for its times since forget.
func fetch(ctx context.Context, url string) (map[string]*record, error) {
	body, err := ask(ctx, http.MethodGet, url+"/debug/requests")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readTruth(body)
}

// forget has the server forget the requests so far.
func forget(ctx context.Context, url string) error {
	body, err := ask(ctx, http.MethodDelete, url+"/debug/requests")
	if err != nil {
		return err
	}
	return body.Close()
}

// questions go past any proxy.
var questions = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func ask(ctx context.Context, method, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, fmt.Errorf("asking the server for its times: %w", err)
	}
	resp, err := questions.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the server for its times: %w", err)
	}
	if resp.StatusCode >= 300 {
		resp.Body.Close()
		return nil, fmt.Errorf("asking the server for its times: HTTP %d", resp.StatusCode)
	}
	return resp.Body, nil
}
