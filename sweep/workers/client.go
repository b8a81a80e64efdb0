package workers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bench/experiment/text"
)

// NewClient makes the client of a Worker. It uses no proxy, and follows no redirection, which would show the token to
// another server. trust is for https://; nil = as the system trusts.
func NewClient(trust *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: silence / 2}).DialContext, TLSHandshakeTimeout: silence / 2,
			TLSClientConfig: trust, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
			ResponseHeaderTimeout: silence,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type session struct {
	w       *Worker
	welcome welcome
	out     outbox
	files   local
	failed  error // of the last row, which this worker cut; nil = none
}

type refusedError struct {
	refusal
	status int
}

// Error implements error. The text is the leader's, and is shown as one line: it can't pass for this program's own.
func (e *refusedError) Error() string { return text.Escape(e.refusal.Error) }

// open sends a request; its answer has the status 2xx.
func (s *session) open(ctx context.Context, method, path string, query url.Values,
	body []byte) (*http.Response, error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("session", s.welcome.Session)
	at := strings.TrimSuffix(s.w.Join, "/") + "/v1/" + path + "?" + query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.w.Token)
	response, err := s.w.Client.Do(r)
	if err != nil {
		if wrapped := new(url.Error); errors.As(err, &wrapped) { // without its URL, which has the session's name
			err = wrapped.Err
		}
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	e := &refusedError{status: response.StatusCode}
	if json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&e.refusal) != nil || e.refusal.Error == "" {
		e.refusal = refusal{Error: fmt.Sprintf("answers with HTTP %d, not as bench sweep --workers does: "+
			"is it another server, or https:// and not http://?", response.StatusCode)}
	}
	if response.StatusCode == http.StatusForbidden { // of package listen
		e.refusal.Error = "answers with HTTP 403: a leader on a loopback address is joined as localhost, 127.0.0.1 or [::1]"
	}
	return nil, e
}

// call sends a request and decodes its answer into a value, unless that is nil. It is bounded in time.
func (s *session) call(ctx context.Context, method, path string, query url.Values, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	response, err := s.open(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is used again
		return err
	}
	return json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(into)
}

func jsonBody(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // all messages have a JSON form
	}
	return text
}

// mostCommand bounds a line of /v1/commands: a spec with long lists of lengths.
const mostCommand = 64 << 20

// errUnread is the error of a command that a worker can't read: neither could it later.
var errUnread = errors.New("reading a command of the leader")

// listen passes on the leader's commands, each once, and connects again when the connection is lost. It ends with ctx,
// the leader's silence, or a leader that does not know the session.
func (s *session) listen(ctx context.Context, commands chan<- *command) error {
	last, heard := 0, time.Now()
	for {
		err := s.stream(ctx, &last, &heard, commands)
		refused := new(refusedError)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused) && refused.status == http.StatusNotFound:
			return fmt.Errorf("%w: %w", errLost, err)
		case time.Since(heard) > silence:
			lost := fmt.Errorf("%w: no sign of life for %v", errLost, silence)
			if errors.Is(err, context.Canceled) { // by the silence
				return lost
			}
			return fmt.Errorf("%w: %w", lost, err)
		case errors.Is(err, errUnread):
			return err
		}
		if err := pause(ctx, retryAfter); err != nil {
			return err
		}
	}
}

// stream reads one response of /v1/commands. last is the number of the last command, heard the time of the last line.
func (s *session) stream(ctx context.Context, last *int, heard *time.Time, commands chan<- *command) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	response, err := s.open(ctx, http.MethodGet, "commands", url.Values{"after": {strconv.Itoa(*last)}}, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, mostCommand)
	lines.Split(wholeLines)
	for lines.Scan() {
		silent.Reset(silence)
		*heard = time.Now()
		c := new(command)
		if err := decode(lines.Bytes(), c); err != nil {
			return fmt.Errorf("%w: %w", errUnread, err)
		}
		if c.N <= *last {
			continue
		}
		*last = c.N
		select {
		case commands <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := lines.Err(); err == nil {
		return io.EOF
	} else if !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return fmt.Errorf("%w: it is longer than %d MiB", errUnread, mostCommand>>20)
}

// wholeLines splits into lines, without one whose end has not come.
func wholeLines(data []byte, _ bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// pings is the number of round trips of which the fastest counts.
const pings = 20

// synchronize estimates the leader's clock: the least round trip, and the time here of the clock's zero. The error of
// the zero is at most half of the round trip, since the leader reads its clock at some time in it.
func (s *session) synchronize(ctx context.Context) (zero time.Time, rtt time.Duration, err error) {
	for range pings {
		var ns int64
		before := time.Now()
		if err := s.call(ctx, http.MethodGet, "clock", nil, nil, &ns); err != nil {
			return zero, 0, fmt.Errorf("reading the leader's clock: %w", err)
		}
		took := time.Since(before)
		if rtt == 0 || took < rtt {
			rtt = max(took, 1)
			zero = before.Add(took/2 - time.Duration(ns))
		}
	}
	return zero, rtt, nil
}
