package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestBehind: a conversation of which a turn is missing at the candidate is not copied further, also if the recorder
// was so far behind that it never saw the turn.
func TestBehind(t *testing.T) {
	for name, c := range map[string]struct {
		room    int    // in the queue while turn 2 is sent
		release string // of the recorder: before or after the answer to turn 2
		copies  int    // of three turns
	}{
		"not behind":     {maxQueue, "after", 3},
		"read, not over": {1, "after", 3}, // the end finds the queue full: the pair is lost, the turn is not
		"read too late":  {0, "before", 1},
		"never read":     {0, "after", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var copies atomic.Int64
				answer := make(chan struct{}, 10)
				to, _ := url.Parse("http://b/v1")
				r := newRig(t, Config{Shadow: &ShadowConfig{To: to, Share: 1}}, func(w http.ResponseWriter, q *http.Request) {
					_, _ = io.Copy(io.Discard, q.Body)
					if q.Host == "b" {
						copies.Add(1)
					} else {
						<-answer
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, document)
				})
				say := func(messages ...string) {
					t.Helper()
					a, err := r.post(t.Context(), chat(messages...))
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.ReadAll(a.Body)
					synctest.Wait()
				}
				answer <- struct{}{}
				say("u one")
				if c.room < maxQueue {
					r.holdRecorder(func() { answer <- struct{}{}; say("u other") })
					r.fill(maxQueue - c.room - len(r.recorder.queue))
				}
				copies.Store(1)
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					say("u one", "a x", "u two")
				}()
				synctest.Wait()
				if c.release == "before" {
					r.releaseRecorder()
				}
				answer <- struct{}{}
				<-sent
				r.releaseRecorder()
				answer <- struct{}{}
				say("u one", "a x", "u two", "a x", "u three")
				if n := copies.Load(); n != int64(c.copies) {
					t.Errorf("%d copies; %+v", n, r.Counts().Shadow)
				}
				r.fill(maxQueue)
				synctest.Wait()
				before := copies.Load()
				answer <- struct{}{}
				say("u new")
				if copies.Load() != before+1 {
					t.Error("no conversation is copied any more")
				}
			})
		})
	}
}

// holdRecorder makes the recorder wait in what act does.
func (r *rig) holdRecorder(act func()) {
	r.mu.Lock()
	r.hold = make(chan struct{})
	r.mu.Unlock()
	act()
}

func (r *rig) releaseRecorder() {
	r.mu.Lock()
	if r.hold != nil {
		close(r.hold)
		r.hold = nil
	}
	r.mu.Unlock()
	synctest.Wait()
}

// fill queues n steps that do nothing.
func (r *rig) fill(n int) {
	nothing := &exchange{p: r.Proxy}
	nothing.asked, nothing.body.over = true, true
	for range n {
		r.recorder.queue <- step{nothing, eventCopyEnded}
	}
}

// TestNumbers: requests are numbered from 0, and a copy has its request's number.
func TestNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, _ := url.Parse("http://b/v1")
		r := newRig(t, Config{Shadow: &ShadowConfig{To: to, Share: 1}}, words(2))
		for i := range 3 {
			a, err := r.post(t.Context(), chat(fmt.Sprint("u ", i)))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(a.Body)
			synctest.Wait()
		}
		r.shadow.running.Wait()
		for i, x := range r.all() {
			if x.Request.I != i || x.Shadow == nil || x.Shadow.I != i {
				t.Errorf("%d: %+v", i, x)
			}
		}
	})
}

const document = `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`

// TestEncoded: a server is asked for an answer that is not compressed. One that is compressed all the same passes, and is
// counted.
func TestEncoded(t *testing.T) {
	for encoding, outcome := range map[string]string{"": "ok", "identity": "ok", "br": ""} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Config{}, func(w http.ResponseWriter, q *http.Request) {
				if got := q.Header["Accept-Encoding"]; len(got) != 1 || got[0] != "identity" {
					t.Error(got)
				}
				w.Header().Set("Content-Type", "application/json")
				if encoding != "" {
					w.Header().Set("Content-Encoding", encoding)
				}
				_, _ = io.WriteString(w, document)
			})
			q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://p/v1/chat/completions", strings.NewReader(question))
			q.Header.Set("Accept-Encoding", "gzip, deflate")
			a, err := r.caller.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(a.Body); string(text) != document || err != nil || a.Header.Get("Content-Encoding") != encoding {
				t.Error(string(text), err, a.Header)
			}
			unreadable := 0
			if outcome == "" {
				unreadable = 1
			}
			if got := r.all()[0].Request.Outcome; string(got) != outcome || r.Counts().Unreadable != unreadable {
				t.Errorf("%q: outcome %q, %+v", encoding, got, r.Counts())
			}
		})
	}
}
