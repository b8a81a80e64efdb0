package endpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"bench/experiment"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// logged is a fake that keeps the session header of each request of a row.
type logged struct {
	fake
	mu   sync.Mutex
	seen []string
}

// sessions are the session headers of the requests so far; one that the end of a row interrupts may still arrive.
func (l *logged) sessions() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

func (l *logged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.Header.Get("X-Request-Id") != "" { // not a probe
		l.mu.Lock()
		l.seen = append(l.seen, r.Header.Get("X-Session-ID"))
		l.mu.Unlock()
	}
	l.fake.ServeHTTP(w, r)
}

// servers starts fakes, and is their URLs.
func servers(t *testing.T, all ...*logged) (urls []string) {
	for _, l := range all {
		s := httptest.NewServer(l)
		t.Cleanup(s.Close)
		urls = append(urls, s.URL)
	}
	return urls
}

func reachAll(t *testing.T, tgt experiment.Target, spec experiment.Spec) (*Server, error) {
	t.Helper()
	base, err := target.BaseURL(append(tgt.Replicas, tgt.Endpoint)[0])
	if err != nil {
		t.Fatal(err)
	}
	s, err := Reach(t.Context(), tgt, base, "", experiment.APIs([]experiment.Spec{spec}, tgt), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, s.ReachOthers(t.Context(), []experiment.Spec{spec})
}

func closedLoop(requests int) experiment.Spec {
	spec := experiment.Spec{Name: "row", Workload: workload.Workload{Input: workload.Fixed(40), Output: workload.Fixed(2), Seed: 1}}
	spec.Concurrency, spec.Requests = 4, requests
	return spec
}

// Replicas in turn get equal numbers of requests; sticky sessions stay whole, and each has its own header.
func TestReplicas(t *testing.T) {
	for _, routing := range []string{"", experiment.Sticky} {
		a, b := &logged{}, &logged{}
		spec := closedLoop(60)
		spec.Session = &workload.Session{Turns: workload.Turns{Length: workload.Fixed(3)}, User: workload.Fixed(8)}
		tgt := experiment.Target{Replicas: servers(t, a, b), Routing: routing}
		s, err := reachAll(t, tgt, spec)
		if err != nil {
			t.Fatal(err)
		}
		row, records := measure(t, s, spec)
		of := [2]int{}
		replicas := map[int]map[int]bool{} // by session
		for _, r := range records {
			if r.Outcome != "ok" { // the end of the row interrupted it
				continue
			}
			of[*r.Endpoint]++
			if replicas[*r.Session] == nil {
				replicas[*r.Session] = map[int]bool{}
			}
			replicas[*r.Session][*r.Endpoint] = true
		}
		atA, atB := a.sessions(), b.sessions()
		if of[0] > len(atA) || of[1] > len(atB) || of[0]+of[1]+4 < len(atA)+len(atB) || max(of[0], of[1])-min(of[0], of[1]) > 20 {
			t.Errorf("%q: %v requests, the servers got %d and %d", routing, of, len(atA), len(atB))
		}
		for session, at := range replicas {
			if want := map[string]int{"": 2, experiment.Sticky: 1}[routing]; len(at) > want {
				t.Errorf("%q: session %d went to %d replicas", routing, session, len(at))
			}
		}
		headers := map[string]int{}
		for _, id := range slices.Concat(atA, atB) {
			headers[id]++
		}
		if len(headers) < len(replicas) || len(headers) > len(replicas)+4 || headers[""] > 0 {
			t.Errorf("%q: %d sessions, headers %v", routing, len(replicas), headers)
		}
		if len(row.Server.Replicas) != 2 || len(row.Server.Replicas[1].Differs) != 0 {
			t.Errorf("%+v", row.Server.Replicas)
		}
	}
}

// Replicas that report other facts are named with the difference.
func TestReplicasDiffer(t *testing.T) {
	spec := closedLoop(4)
	tgt := experiment.Target{Replicas: servers(t, &logged{fake: fake{version: "1.0"}}, &logged{fake: fake{version: "1.1"}})}
	s, err := reachAll(t, tgt, spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Info.Replicas[1].Differs); !strings.Contains(got, "1.0") || !strings.Contains(got, "1.1") {
		t.Error(got)
	}
	ids, text := &logged{}, &logged{fake: fake{ids: 400}}
	if _, err := reachAll(t, experiment.Target{Replicas: servers(t, ids, text)}, spec); err == nil || !strings.Contains(err.Error(), "takes prompts as text") {
		t.Error(err)
	}
}

// A class has its own endpoint and model; an adapter is one that the server lists.
func TestClassesGoElsewhere(t *testing.T) {
	first, second := &logged{fake: fake{models: []string{"base", "sql"}}}, &logged{}
	urls := servers(t, first, second)
	spec := closedLoop(40)
	class := workload.Class{Name: "here", Weight: 1, Input: spec.Input, Output: spec.Output, Adapters: &workload.Adapters{Names: []string{"base", "sql"}, Weights: []float64{3, 1}}}
	away := class
	away.Name, away.Adapters, away.Endpoint = "there", nil, urls[1]
	spec.Input, spec.Output, spec.Mix = workload.Length{}, workload.Length{}, []workload.Class{class, away}
	tgt := experiment.Target{}
	tgt.Endpoint, tgt.Model = urls[0], "base"
	s, err := reachAll(t, tgt, spec)
	if err != nil {
		t.Fatal(err)
	}
	_, records := measure(t, s, spec)
	got := map[string]int{}
	for _, r := range records {
		if r.Outcome == "ok" { // the end of the row interrupts others
			got[r.Class+" "+r.Model]++
		}
	}
	here, there := got["here base"]+got["here sql"], got["there m"]
	atFirst, atSecond := len(first.sessions()), len(second.sessions())
	if there > atSecond || here > atFirst || here+there+4 < atFirst+atSecond || len(got) != 3 || got["here base"] < got["here sql"] {
		t.Errorf("%v; %d here, %d there", got, atFirst, atSecond)
	}
	spec.Mix[0].Adapters = &workload.Adapters{Names: []string{"sql", "law"}}
	if _, err := reachAll(t, tgt, spec); err == nil || !strings.Contains(err.Error(), `does not list adapter "law"; it lists "base", "sql"`) {
		t.Error(err)
	}
}

// The trace context is what docs/results.md says, so that a user can find a trace with sha256sum.
func TestTraceparent(t *testing.T) {
	digest := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	request := digest("bench/abc/request/7")
	if got, want := traceparent("abc", &workload.Request{Index: 7}), "00-"+request[:32]+"-"+request[32:48]+"-01"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := traceparent("abc", &workload.Request{Index: 7, Session: 3, Turns: 2}), "00-"+digest("bench/abc/session/3")[:32]+"-"+request[32:48]+"-01"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := sessionID("abc", &workload.Request{Index: 7, Session: 3, Turns: 2}); got != "abc-3" {
		t.Error(got)
	}
}
