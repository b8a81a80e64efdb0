package collector

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
	s.Watch(ctx, func() { begun = 1 + len(out) }, func(x telemetry.Sample) {
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
	s := opened(t, telemetry.Config{GPU: telemetry.Off}, Endpoint{Base: base + "/v1"})
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
			s := opened(t, telemetry.Config{GPU: telemetry.Off}, Endpoint{Base: serve(t, c.answer) + "/v1", Header: key})
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
		{telemetry.Config{Server: base + "/metrics", GPU: telemetry.Off}, "http://127.0.0.1:1/v1", ""},
		{telemetry.Config{Server: strings.Replace(base, "://", "://ann:pass%2Fword@", 1) + "/metrics?token=x", GPU: telemetry.Off}, "http://127.0.0.1:1/v1", "Basic YW5uOnBhc3Mvd29yZA=="},
	} {
		s := opened(t, c.config, Endpoint{Base: c.base, Header: key})
		u, _ := s.Observe(nil, 0, 1)
		if got.Load() != c.want || u.Source != base+"/metrics" {
			t.Errorf("sent %q, want %q; %s", got.Load(), c.want, u.Source)
		}
	}
	s := opened(t, telemetry.Config{Server: "http://ann:password@127.0.0.1:1/metrics", GPU: telemetry.Off}, Endpoint{})
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
	twoGPUs = `0, GPU-a, NVIDIA H100 80GB HBM3, 97, 640.55, 1755, 2619, 70000, 81559, 61, 0x0000000000000044
1, GPU-b, NVIDIA H100 80GB HBM3, [N/A], [Not Supported], 345, 2619, 1, 81559, 30, 0x0000000000000001`

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
	s := opened(t, telemetry.Config{Server: telemetry.Off, GPU: telemetry.NvidiaSMI}, Endpoint{})
	samples := watched(t, s, first(4))
	want := []telemetry.GPUReading{
		{GPU: "0", UUID: "GPU-a", Name: "NVIDIA H100 80GB HBM3", Busy: new(0.97), PowerW: new(640.55), SMClock: new(1755.0), MemoryClock: new(2619.0),
			UsedMiB: new(70000.0), TotalMiB: new(81559.0), Temperature: new(61.0), Throttled: []string{"sw_power_cap", "hw_thermal"}},
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
			s := opened(t, telemetry.Config{Server: telemetry.Off, GPU: telemetry.NvidiaSMI}, Endpoint{})
			if _, g := s.Observe(watched(t, s, first(1)), 0, 1); !strings.Contains(g.Missing, c.want) {
				t.Errorf("%+v", g)
			}
		})
	}
	t.Run("ends in the middle", func(t *testing.T) {
		fakeSMI(t, strings.Replace(smiTwo, "while true", "for i in 1 2", 1))
		s := opened(t, telemetry.Config{Server: telemetry.Off, GPU: telemetry.NvidiaSMI}, Endpoint{})
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
		{Endpoint{Local: true, Foreign: "cpu-ddr5-4800-8ch"}, "", "the hardware is cpu-ddr5-4800-8ch: only NVIDIA GPUs are supported"},
		{Endpoint{Foreign: "mi300x"}, "", "the hardware is mi300x"},
		{Endpoint{Local: true}, telemetry.NvidiaSMI, ""},
	} {
		if c.name == telemetry.NvidiaSMI {
			if conn, err := net.Dial("tcp", "127.0.0.1:9400"); err == nil {
				conn.Close()
				continue // this machine has an exporter
			}
		}
		s := opened(t, telemetry.Config{Server: telemetry.Off}, c.e)
		if s.gpu.Name != c.name || !strings.HasPrefix(s.gpu.Missing, c.missing) || c.missing == "" && s.gpu.Missing != "" {
			t.Errorf("%+v: %+v", c.e, s.gpu)
		}
	}
}

func TestExporter(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, dcgm) })
	s := opened(t, telemetry.Config{Server: telemetry.Off, GPU: base + "/metrics"}, Endpoint{})
	samples := watched(t, s, first(1))
	_, g := s.Observe(samples, 0, samples[1].TUs)
	if g.Source != base+"/metrics" || len(g.Devices) != 3 || g.Devices[0].DRAMActive.Mean != 0.81 || g.Before != nil {
		t.Errorf("%+v", g)
	}
}

func FuzzSMI(f *testing.F) {
	f.Add([]byte("0, GPU-a, NVIDIA H100, 97, 640.55, 1755, 2619, 70000, 81559, 61, 0x44\n"))
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

func TestPagePause(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: time.Second, 10 * time.Millisecond: time.Second, 30 * time.Millisecond: 3 * time.Second, time.Second: 10 * time.Second} {
		if got := nextPageInterval(took); got != want {
			t.Errorf("after %s: %s, want %s", took, got, want)
		}
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
