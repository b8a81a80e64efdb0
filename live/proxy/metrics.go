package proxy

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"bench/experiment/measured"
	"bench/experiment/openai"
	"bench/live/recording"
)

type figures struct {
	mu      sync.Mutex
	servers [2]struct { // the server, the candidate
		outcomes        map[openai.Outcome]int
		ttft, tpot, e2e measured.Histogram
		times           measured.ClientTimes
	}
}

const (
	ofPrimary = iota
	ofCandidate
)

func (f *figures) add(server int, r *openai.Result) {
	if r == nil || r.Outcome == "" {
		return
	}
	rec := measured.Record(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.servers[server]
	s.times.Add(rec)
	if s.outcomes == nil {
		s.outcomes = map[openai.Outcome]int{}
	}
	s.outcomes[r.Outcome]++
	if !r.Outcome.Completed() || r.Sent == openai.Never {
		return
	}
	s.e2e.Add(r.End - r.Sent)
	if r.First == openai.Never { // not a stream
		return
	}
	s.ttft.Add(r.First - r.Sent)
	if r.OutputTokens > 1 {
		s.tpot.Add((r.Last - r.First) / time.Duration(r.OutputTokens-1))
	}
}

// outcomes are the values of the label, so that a series exists before its first event.
var outcomes = openai.Outcomes

var oneIf = map[bool]int{true: 1}

const MetricsType = "text/plain; version=0.0.4; charset=utf-8"

// writeMetrics writes the state for Prometheus. Labels are from closed lists: nothing of a request is in them.
func (s *Server) writeMetrics(out io.Writer) error {
	w, p := bufio.NewWriter(out), s.Proxy
	n := p.Counts()
	if s.Unrecorded != nil {
		n.Unrecorded += s.Unrecorded()
	}
	one := func(name, kind, help string, value int) {
		fmt.Fprintf(w, "# HELP bench_live_%s %s\n# TYPE bench_live_%s %s\nbench_live_%s %d\n", name, help, name, kind,
			name, value)
	}
	one("requests_total", "counter", "Requests to an API that writes tokens.", n.Requests)
	one("other_requests_total", "counter", "Requests to other paths, passed on only.", n.Other)
	one("in_flight", "gauge", "Requests that are being served.", p.Open())
	one("unrecorded_total", "counter", "Requests that were not recorded.", n.Unrecorded)
	one("unhashed_total", "counter", "Requests recorded without hashes.", n.Unhashed)
	one("unreadable_total", "counter", "Answers in an encoding that is not read.", n.Unreadable)
	one("refused_total", "counter", "Requests refused: a body over the limit, or a loop.", n.Refused)
	one("unreachable_total", "counter", "Requests that got no answer from the server.", n.Unreachable)
	one("connection_limit_total", "counter", "Times that the limit of connections was reached.", s.door.Waited())
	one("draining", "gauge", "1 while open answers end and no connection is accepted.", oneIf[s.Draining()])
	fmt.Fprintf(w, "# HELP go_goroutines Goroutines of the process.\n# TYPE go_goroutines gauge\ngo_goroutines %d\n",
		runtime.NumGoroutine())
	servers := []string{"primary"}
	if c := n.Shadow; c != nil {
		servers = append(servers, "candidate")
		queued, flying := p.shadow.load()
		one("copies_total", "counter", "Requests sent to the candidate.", c.Sent)
		one("copies_dropped_total", "counter",
			"Requests not sent to the candidate though their conversation was chosen.", c.Dropped)
		one("copies_queued", "gauge", "Copies that wait.", queued)
		one("copies_in_flight", "gauge", "Copies that the candidate answers.", flying)
		one("copying_stopped", "gauge", "1 after copying has ended, by a stop rule.", oneIf[c.Stopped != ""])
	}
	p.figures.write(w, servers, n.Shadow)
	return w.Flush()
}

// write writes the answers. With those in flight the candidate's are as many as copies were sent.
func (f *figures) write(w io.Writer, servers []string, copies *recording.Copies) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprint(w, "# HELP bench_live_answers_total Answers by outcome.\n# TYPE bench_live_answers_total counter\n")
	for i, server := range servers {
		for _, o := range outcomes {
			fmt.Fprintf(w, "bench_live_answers_total{server=%q,outcome=%q} %d\n", server, o, f.servers[i].outcomes[o])
		}
	}
	if copies != nil {
		fmt.Fprintf(w, "bench_live_answers_total{server=\"candidate\",outcome=\"cut\"} %d\n", copies.Cut)
		fmt.Fprintf(w, "bench_live_answers_total{server=\"candidate\",outcome=\"unread\"} %d\n", copies.Unread)
	}
	for _, m := range []struct{ name, help string }{
		{"ttft", "Time to first token from sending, of completed streams."},
		{"tpot", "Time per output token, of completed streams."},
		{"e2e", "Time from sending to the answer's end, of completed requests."},
	} {
		name := "bench_live_" + m.name + "_seconds"
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s histogram\n", name, m.help, name)
		for i, server := range servers {
			s := &f.servers[i]
			h := map[string]*measured.Histogram{"ttft": &s.ttft, "tpot": &s.tpot, "e2e": &s.e2e}[m.name]
			h.Write(w, name, fmt.Sprintf("server=%q", server))
		}
	}
	for i, server := range servers {
		f.servers[i].times.Write(w, fmt.Sprintf("server=%q", server), i == 0)
	}
}
