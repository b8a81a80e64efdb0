package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// serverRecord is the server's record of one request: a line of its /debug/requests. Times are ns of its own
// clock; the arrival is also given by the wall clock, which client and server share.
type serverRecord struct {
	RequestID     string  `json:"request_id"`
	ArrivalUnixNS int64   `json:"arrival_unix_ns"`
	ArrivalNS     int64   `json:"arrival_ns"` // request headers read
	DueNS         []int64 `json:"due_ns"`     // of each event with tokens
	WritingNS     []int64 `json:"writing_ns"` // start of its write
	WrittenNS     []int64 `json:"written_ns"` // end of its write
}

// sinceEpoch is right unless the clock was set during the step, whose second try then counts.
func (r *serverRecord) sinceEpoch(at int64, epoch time.Time) int64 {
	return at - r.ArrivalNS + r.ArrivalUnixNS - epoch.UnixNano()
}

func readTimes(r io.Reader) (map[string]*serverRecord, error) {
	truth := map[string]*serverRecord{}
	lines := json.NewDecoder(r)
	for {
		one := new(serverRecord)
		switch err := lines.Decode(one); {
		case errors.Is(err, io.EOF):
			return truth, nil
		case err != nil:
			return nil, fmt.Errorf("reading the server's records: %w", err)
		}
		if n := len(one.DueNS); len(one.WritingNS) != n || len(one.WrittenNS) != n {
			return nil, fmt.Errorf("reading the server's records: request %s has %d due, %d writing and %d written",
				one.RequestID, n, len(one.WritingNS), len(one.WrittenNS))
		}
		truth[one.RequestID] = one
	}
}

func fetchTimes(ctx context.Context, url string) (map[string]*serverRecord, error) {
	body, err := request(ctx, http.MethodGet, url+"/debug/requests")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return readTimes(body)
}

func clearTimes(ctx context.Context, url string) error {
	body, err := request(ctx, http.MethodDelete, url+"/debug/requests")
	if err != nil {
		return err
	}
	return body.Close()
}

// directClient ignores proxies.
var directClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func request(ctx context.Context, method, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, fmt.Errorf("requesting the server's records: %w", err)
	}
	resp, err := directClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("requesting the server's records: %w", err)
	}
	if resp.StatusCode >= 300 {
		resp.Body.Close()
		return nil, fmt.Errorf("requesting the server's records: HTTP %d", resp.StatusCode)
	}
	return resp.Body, nil
}
