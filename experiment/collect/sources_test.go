package collect

import (
	"bench/experiment/telemetry"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// serve answers /metrics.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func opened(t *testing.T, c telemetry.Config, e Endpoint) *Sources {
	t.Helper()
	s := Open(t.Context(), c, e)
	t.Cleanup(s.Close)
	return s
}

// watched are the samples of a watch that ends when they are enough, and those behind its end, with their
// offsets from its beginning.
func watched(t *testing.T, s *Sources, enough func(sofar []telemetry.Sample) bool) []telemetry.Sample {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out []telemetry.Sample
	begun := 0
	s.Watch(ctx, 4*time.Second, func() { begun = 1 + len(out) }, func(x telemetry.Sample) {
		if out = append(out, x); enough(out) {
			time.AfterFunc(20*time.Millisecond, cancel) // while the next is waited for
		}
	})
	for i := range out {
		out[i].TUs = out[i].At.Sub(began).Microseconds()
	}
	if begun < 2 && len(out) > 0 {
		t.Errorf("it began before the first sample")
	}
	return out
}

func first(n int) func([]telemetry.Sample) bool {
	return func(sofar []telemetry.Sample) bool { return len(sofar) >= n }
}

func TestServerOverAWindow(t *testing.T) {
	var asked atomic.Int64
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		fmt.Fprintf(w, "vllm:num_requests_running 4\nvllm:num_requests_waiting %d\nvllm:generation_tokens_total %d\nvllm:prefix_cache_queries_total %d\nvllm:prefix_cache_hits_total %d\n",
			n%2, 1000*n, 100*n, 25*n)
	})
	s := opened(t, telemetry.Config{GPU: telemetry.Off}, Endpoint{Bases: []string{base + "/v1"}})
	samples := watched(t, s, first(2)) // at 0, some second later, and behind the end
	at, later, end := samples[0].TUs, samples[1].TUs, samples[2].TUs
	u, g := s.Observe(samples, at+100_000, later+1)
	if u.Source != base+"/metrics" || u.Missing != "" || u.Engine != "vllm" || u.Samples != 1 || u.Failed != 0 || u.AnswerMs == nil {
		t.Errorf("%+v", u)
	}
	if u.Running == nil || u.Running.Mean != 4 || math.Abs(*u.PrefixHitRate-0.25) > 1e-5 || u.PrefixUnit != "tokens" || u.Preemptions != nil || u.KVUsage != nil {
		t.Errorf("%+v", u)
	}
	want := 1000*(1-100_000/float64(later-at)) + 1000/float64(end-later) // the first thousand without the first 0.1 s, and a µs of the second
	if got := *u.GenerationTokens; math.Abs(got-want) > 0.01 {
		t.Errorf("%g tokens, want %g", got, want)
	}
	if g.Source != "off" || g.Missing == "" || g.Devices != nil {
		t.Errorf("%+v", g)
	}
}

// The counters of a whole row need a reading before the load, and one that begins after it: a reading that the load's
// end finds under way is not the last.
func TestReadingsAtTheEnds(t *testing.T) {
	var asked atomic.Int64
	slow, ended := make(chan struct{}), atomic.Bool{}
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 3 { // Open, before the load, during it
			close(slow)
			time.Sleep(50 * time.Millisecond)
		}
		n := 1
		if ended.Load() {
			n = 2
		}
		fmt.Fprintf(w, "vllm:num_requests_running 0\nvllm:prompt_tokens_total %d\n", n)
	})
	s := opened(t, telemetry.Config{GPU: telemetry.Off}, Endpoint{Bases: []string{base + "/v1"}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-slow
		ended.Store(true)
		cancel()
	}()
	var out []telemetry.Sample
	s.Watch(ctx, time.Second, func() {}, func(x telemetry.Sample) { out = append(out, x) })
	last := out[len(out)-1]
	if out[0].Edge != telemetry.EdgeBefore || out[0].Next == 0 || last.Edge != telemetry.EdgeAfter || last.Error != "" || *last.Server.Prompt != 2 {
		t.Errorf("%+v, last %+v", out[0], last)
	}
	for i := range out {
		out[i].TUs = int64(i)
	}
	if u, _ := s.Observe(out, 0, 1); u.Whole == nil || *u.Whole.PromptTokens != 1 {
		t.Errorf("%+v", u.Whole)
	}
}

// A source that misbehaves is missing, with the reason, and costs no more than its bounds.
func TestHostilePages(t *testing.T) {
	key := http.Header{"Authorization": {"Bearer sk-secret"}}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string

		bounded bool // by time, where the machine is too slow for so many bytes
	}{
		"none":    {http.NotFound, "HTTP status 404", false},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x00\xff<html>{{{\n\n}") }, "no metric of a known engine", false},
		"garbage where it is looked for": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "vllm:num_requests_running{ 3\n") },
			"reading the page: ", false},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			line := []byte(strings.Repeat("x 1\n", 1<<12))
			for r.Context().Err() == nil {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}, "the page is larger than 16 MiB", true},
		"one endless line": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "the page is larger than 16 MiB", true},
		"slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no complete response within 2s", false},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, "HTTP status 302", false},
		"cut": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "vllm:num_req")
		}, "unexpected EOF", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, telemetry.Config{GPU: telemetry.Off}, Endpoint{Bases: []string{serve(t, c.answer) + "/v1"}, Header: key})
			if u, _ := s.Observe(watched(t, s, first(1)), 0, 1); !strings.Contains(u.Missing, c.want) && !(c.bounded && strings.HasPrefix(u.Missing, "no complete response within")) || u.Samples != 0 || u.Running != nil {
				t.Errorf("%+v, want %s", u, c.want)
			}
		})
	}
}

// The key goes to the endpoint's own page, and to no page of a URL that was given; user info is in no result.
func TestKeysOfPages(t *testing.T) {
	var got atomic.Value
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
		fmt.Fprint(w, "vllm:num_requests_running 4\n")
	})
	key := http.Header{"Authorization": {"Bearer sk-secret"}}
	for _, c := range []struct {
		config telemetry.Config
		base   string
		want   string
	}{
		{telemetry.Config{GPU: telemetry.Off}, base + "/v1", "Bearer sk-secret"},
		{telemetry.Config{Server: telemetry.Pages{Source: base + "/metrics"}, GPU: telemetry.Off}, "http://127.0.0.1:1/v1", ""},
		{telemetry.Config{Server: telemetry.Pages{Source: strings.Replace(base, "://", "://ann:pass%2Fword@", 1) + "/metrics?token=x"}, GPU: telemetry.Off}, "http://127.0.0.1:1/v1", "Basic YW5uOnBhc3Mvd29yZA=="},
	} {
		s := opened(t, c.config, Endpoint{Bases: []string{c.base}, Header: key})
		u, _ := s.Observe(nil, 0, 1)
		if got.Load() != c.want || u.Source != base+"/metrics" {
			t.Errorf("sent %q, want %q; %s", got.Load(), c.want, u.Source)
		}
	}
	s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: "http://ann:password@127.0.0.1:1/metrics"}, GPU: telemetry.Off}, Endpoint{})
	if u, _ := s.Observe(nil, 0, 1); strings.Contains(fmt.Sprint(*u), "password") || !strings.Contains(u.Missing, "refused") {
		t.Errorf("%+v", *u)
	}
}

// A server that is gone in the middle is a gap with its reason, and one that began anew is counted on.
func TestServerEndsAndComesBack(t *testing.T) {
	reading := func(us int64, tokens float64) telemetry.Sample {
		return telemetry.Sample{Source: telemetry.SourceServer, TUs: us, Server: &telemetry.ServerReading{Engine: "vllm", Generated: &tokens}}
	}
	s := &Sources{server: telemetry.Source{Name: "http://h/metrics"}}
	samples := []telemetry.Sample{reading(0, 100), reading(10, 200), {Source: telemetry.SourceServer, TUs: 20, Error: "refused"}, reading(30, 50), reading(40, 90), {Source: telemetry.SourceClient, TUs: 41}}
	u, _ := s.Observe(samples, 0, 40)
	if u.Samples != 3 || u.Failed != 1 || u.Resets != 1 || *u.GenerationTokens != 190 {
		t.Errorf("%+v, %g tokens", u, *u.GenerationTokens)
	}
	u, _ = s.Observe([]telemetry.Sample{{Source: telemetry.SourceServer, TUs: 20, Error: "refused"}}, 0, 40)
	if u.Missing != "refused" || u.Failed != 1 {
		t.Errorf("%+v", u)
	}
	if u, _ = s.Observe(nil, 0, 40); u.Missing != "no reading" {
		t.Errorf("%+v", u)
	}
}

// fakeSMI puts an nvidia-smi into the path that answers as the script says.
func fakeSMI(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

const (
	twoGPUs = `0, GPU-a, NVIDIA H100 80GB HBM3, 97, 640.55, 1755, 2619, 70000, 81559, 61, 700.00, 0x0000000000000044
1, GPU-b, NVIDIA H100 80GB HBM3, [N/A], [Not Supported], 345, 2619, 1, 81559, 30, [N/A], 0x0000000000000001`

	smiTwo = `case "$*" in
*clocks_event*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;;
*compute-apps*) echo 'GPU-a, 4711, /usr/bin/python3, 69000'; echo 'GPU-b, 12, [Not Found], [N/A]';;
*loop-ms*) while true; do echo '` + twoGPUs + `'; echo 'a warning of the driver'; sleep 0.1; done;;
*) echo '` + twoGPUs + `';;
esac
`
)

func TestSMI(t *testing.T) {
	fakeSMI(t, smiTwo)
	s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}, GPU: telemetry.NvidiaSMI}, Endpoint{})
	samples := watched(t, s, first(4))
	want := []telemetry.GPUReading{
		{GPU: "0", UUID: "GPU-a", Name: "NVIDIA H100 80GB HBM3", Busy: new(0.97), PowerW: new(640.55), SMClock: new(1755.0), MemoryClock: new(2619.0),
			UsedMiB: new(70000.0), TotalMiB: new(81559.0), Temperature: new(61.0), PowerLimitW: new(700.0), Throttled: []string{"sw_power_cap", "hw_thermal"}},
		{GPU: "1", UUID: "GPU-b", Name: "NVIDIA H100 80GB HBM3", SMClock: new(345.0), MemoryClock: new(2619.0), UsedMiB: new(1.0), TotalMiB: new(81559.0),
			Temperature: new(30.0), Unthrottled: true},
	}
	for i, x := range samples {
		if diff := cmp.Diff(want, x.GPUs); diff != "" || x.Error != "" {
			t.Errorf("sample %d: %s %s", i, x.Error, diff)
		}
		if ends := i == 0 || i == len(samples)-1; ends != (len(x.Processes) == 2) {
			t.Errorf("sample %d of %d: %v", i, len(samples), x.Processes)
		}
	}
	if p := samples[0].Processes; p[0].PID != 4711 || *p[0].UsedMiB != 69000 || p[1].UsedMiB != nil {
		t.Errorf("%+v", p)
	}
}

func TestSMIThatFails(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"no driver":  {"echo 'NVIDIA-SMI has failed because it could not talk to the driver.'; exit 9", "could not talk to the driver"},
		"no GPU":     {"exit 0", "lists no GPU"},
		"other text": {"echo a, b", "has 2 fields"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeSMI(t, c.script)
			s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}, GPU: telemetry.NvidiaSMI}, Endpoint{})
			if _, g := s.Observe(watched(t, s, first(1)), 0, 1); !strings.Contains(g.Missing, c.want) {
				t.Errorf("%+v", g)
			}
		})
	}
	t.Run("ends in the middle", func(t *testing.T) {
		fakeSMI(t, strings.Replace(smiTwo, "while true", "for i in 1 2", 1))
		s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}, GPU: telemetry.NvidiaSMI}, Endpoint{})
		samples := watched(t, s, func(sofar []telemetry.Sample) bool { return sofar[len(sofar)-1].Error != "" })
		if last := samples[len(samples)-2]; !strings.Contains(last.Error, "nvidia-smi ended") {
			t.Errorf("%+v", last)
		}
	})
}

func TestAutoGPU(t *testing.T) {
	fakeSMI(t, smiTwo)
	for _, c := range []struct {
		e             Endpoint
		name, missing string
	}{
		{Endpoint{}, "", "the endpoint is on another machine"},
		{Endpoint{Local: true, Simulated: true}, "", "the server is simulated"},
		{Endpoint{Local: true, Foreign: "cpu-ddr5-4800-8ch"}, "", "the hardware is cpu-ddr5-4800-8ch: only NVIDIA and AMD GPUs are supported"},
		{Endpoint{Foreign: "gaudi3"}, "", "the hardware is gaudi3"},
		{Endpoint{Local: true}, telemetry.NvidiaSMI, ""},
	} {
		if c.name == telemetry.NvidiaSMI {
			if conn, err := net.Dial("tcp", "127.0.0.1:9400"); err == nil {
				conn.Close()
				continue // this machine has an exporter
			}
		}
		s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}}, c.e)
		if s.gpu.Name != c.name || !strings.HasPrefix(s.gpu.Missing, c.missing) || c.missing == "" && s.gpu.Missing != "" {
			t.Errorf("%+v: %+v", c.e, s.gpu)
		}
	}
}

func TestExporter(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, dcgm) })
	s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}, GPU: base + "/metrics"}, Endpoint{})
	samples := watched(t, s, first(1))
	_, g := s.Observe(samples, 0, samples[1].TUs)
	if g.Source != base+"/metrics" || len(g.Devices) != 3 || g.Devices[0].DRAMActive.Mean != 0.81 || g.Before != nil {
		t.Errorf("%+v", g)
	}
}

func FuzzSMI(f *testing.F) {
	f.Add([]byte("0, GPU-a, NVIDIA H100, 97, 640.55, 1755, 2619, 70000, 81559, 61, 700.00, 0x44\n"))
	f.Add([]byte("GPU-a, 4711, \"/usr/bin/py,thon3\", [N/A]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if gpus, err := parseGPUs(text); err == nil && len(gpus) == 0 {
			t.Error("no GPU, and no error")
		}
		if p, err := parseProcesses(text); err == nil && p == nil {
			t.Error("nil is not told, nobody is empty")
		}
	})
}

// A window has three to five readings, however short it is; in a long one a costly page is read less often. A late
// answer is not a costly page.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		took, window, want time.Duration
	}{
		{0, time.Hour, time.Second},
		{10 * time.Millisecond, time.Hour, time.Second},
		{30 * time.Millisecond, time.Hour, 3 * time.Second},
		{time.Second, time.Hour, 10 * time.Second},
		{time.Second, 4 * time.Second, time.Second},
		{50 * time.Millisecond, 2 * time.Second, 500 * time.Millisecond},
		{0, 100 * time.Millisecond, 50 * time.Millisecond},
	} {
		p := &pace{window: c.window}
		if got := p.next(c.took, 0); got != c.want {
			t.Errorf("page of %s, window %s: %s, want %s", c.took, c.window, got, c.want)
		}
	}
	p := &pace{window: time.Hour}
	p.next(5*time.Millisecond, 0)
	if got := p.next(time.Second, 0); got != time.Second {
		t.Errorf("one late answer: %s", got)
	}
	if got := pause(time.Second, 5*time.Second); got != 500*time.Millisecond {
		t.Errorf("after a late answer: %s", got)
	}
}

// A window of a row of unknown length has at least three readings if it is half as long as what came before it.
func TestPaceOfUnknownLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Duration(rapid.IntRange(500, 20_000).Draw(t, "from")) * time.Millisecond
		to := from + max(from, 600*time.Millisecond)
		p, n := &pace{}, 0
		for at := time.Duration(0); at < to; at += p.next(time.Millisecond, at) {
			if at >= from {
				n++
			}
		}
		if n < 3 {
			t.Fatalf("%d readings between %s and %s", n, from, to)
		}
	})
}

// Pages of several parts are one server: requests of both, prompts of the prefill, answers of the decode, the time to
// the first token of the router. Each part has its own figures beside it.
func TestPagesOfRoles(t *testing.T) {
	page := func(text string) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }) + "/metrics"
	}
	histogram := func(name string, n, sum int) string {
		return fmt.Sprintf("vllm:%s_sum %d\nvllm:%s_count %d\n", name, sum, name, n)
	}
	prefill := page("vllm:num_requests_running 3\nvllm:num_requests_waiting 2\nvllm:kv_cache_usage_perc 0.25\nvllm:prompt_tokens_total 1000\nvllm:generation_tokens_total 10\n" +
		histogram("time_to_first_token_seconds", 10, 2) + histogram("request_queue_time_seconds", 10, 1) + histogram("e2e_request_latency_seconds", 10, 2))
	decode := page("vllm:num_requests_running 5\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0.75\nvllm:prompt_tokens_total 1000\nvllm:generation_tokens_total 500\n" +
		histogram("time_to_first_token_seconds", 10, 3) + histogram("request_queue_time_seconds", 10, 9) + histogram("request_decode_time_seconds", 10, 40))
	router := page("vllm:num_requests_running 8\n" + histogram("time_to_first_token_seconds", 10, 6) + histogram("e2e_request_latency_seconds", 10, 60))
	parts := []telemetry.Page{{URL: prefill, Role: telemetry.RolePrefill}, {URL: decode, Role: telemetry.RoleDecode}, {URL: router, Role: telemetry.RoleRouter}}
	seconds := func(sum float64) *telemetry.Histogram { return &telemetry.Histogram{Count: 10, Sum: sum} }
	for name, c := range map[string]struct {
		parts []telemetry.Page
		want  telemetry.TimeReading
	}{
		"with a router":    {parts, telemetry.TimeReading{TTFT: seconds(6), Queue: seconds(1), Decode: seconds(40), E2E: seconds(60)}},
		"without a router": {parts[:2], telemetry.TimeReading{TTFT: seconds(2), Queue: seconds(1), Decode: seconds(40)}},
	} {
		s := opened(t, telemetry.Config{Server: telemetry.Pages{Parts: c.parts}, GPU: telemetry.Off}, Endpoint{})
		samples := watched(t, s, first(1))
		want := &telemetry.ServerReading{Engine: "vllm", Running: new(8.0), Waiting: new(2.0), KVUsage: new(0.75), Prompt: new(1000.0), Generated: new(500.0), Times: c.want}
		if diff := cmp.Diff(want, samples[0].Server); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		u, _ := s.Observe(samples, samples[0].TUs, samples[len(samples)-1].TUs+1)
		if len(u.Roles) != len(c.parts) || u.Roles[0].Role != "prefill" || u.Roles[0].Usage.Running.Mean != 3 || u.Roles[1].Usage.KVUsage.Mean != 0.75 || u.Roles[1].Usage.Source != decode {
			t.Errorf("%s: %+v", name, u.Roles)
		}
	}
	lost := append(parts[:2:2], telemetry.Page{URL: "http://127.0.0.1:1/metrics"})
	s := opened(t, telemetry.Config{Server: telemetry.Pages{Parts: lost}, GPU: telemetry.Off}, Endpoint{})
	if u, _ := s.Observe(nil, 0, 1); !strings.HasPrefix(u.Missing, "replica http://127.0.0.1:1/metrics: ") {
		t.Errorf("%q", u.Missing)
	}
}

func TestHostLoad(t *testing.T) {
	dir := t.TempDir()
	if got := hostLoad(dir); got != nil {
		t.Errorf("of nothing: %g", *got)
	}
	for text, want := range map[string]float64{"0.52 0.58 0.59 3/602 29384\n": 0.52, "x": -1, "": -1, "-1 2": -1, "NaN 1": -1} {
		if err := os.WriteFile(filepath.Join(dir, "loadavg"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := hostLoad(dir); (got == nil) != (want < 0) || got != nil && *got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
