package schema

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	root "bench"
	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/sweep"
	"bench/sweep/live"
	"bench/sweep/matrix"
)

// stated has every kind of row, and says all that can be said; bare says nothing, and some of its
// requests fail.
const (
	stated = `
name       = "stated"
hypothesis = "files and schemas agree"
notes      = ["a test"]

[target]
hardware     = "h100-sxm"
gpus         = 1
precision    = "bf16"
gpu_hour_usd = 2.5
extra_body   = { top_p = 0.9 }
[target.facts]
driver       = "none"
network      = "loopback"
quantization = "none"
server_flags = "none"
storage      = "none"
tokenizer    = "none"

[mock]
model = "meta-llama/Llama-3.1-8B-Instruct"

[defaults]
warmup = "50ms"

[[row]]
name        = "closed"
expect      = "it answers"
input       = 32
output      = 8
concurrency = [1, 2]
duration    = "150ms"
[row.slo]
ttft_p95   = "1s"
itl_p95    = "1s"
tpot_mean  = "1s"
error_rate = 0.01
min_goodput_requests_per_s      = 1
usd_per_million_output_tokens   = 1e6
min_output_tokens_per_s_per_gpu = 1

[[row]]
name       = "mix"
rate       = 60
arrival    = "gamma"
burstiness = 0.5
duration   = "200ms"
slo   = { e2e_p99 = "2s", each = { ttft = "1s" } }
[[row.mix]]
name     = "chat"
weight   = 3
input    = { dist = "lognormal", p50 = 30, p95 = 60 }
output   = { dist = "uniform", min = 2, max = 8 }
slo = { ttft_p90 = "1s" }
[[row.mix]]
name   = "rag"
weight = 1
input  = { dist = "normal", mean = 200, std = 20, min = 100 }
output = 4
prefix = { tokens = 64, groups = 2, state = "shared" }

[[row]]
name        = "warm"
input       = 96
output      = 8
prefix      = { tokens = 64, groups = 2, state = "warm" }
concurrency = 2
requests    = 10

[[row]]
name        = "whole"
input       = 32
output      = 8
stream      = false
stop        = "natural"
concurrency = 2
requests    = 10

[[row]]
name     = "all"
input    = 32
output   = 8
rate     = "inf"
warmup   = 0
requests = 10
`
	bare = `
name = "bare"
[mock]
ttft   = "2ms"
faults = ["status=500@7", "fin-mid=2@9", "short=3@8", "multi=3@11"]
[[row]]
name        = "faults"
input       = 32
output      = 8
concurrency = 2
requests    = 30
`
)

// measure runs a matrix against the simulated server, and gives what it left in its directory and told while
// it ran.
func measure(t *testing.T, text string) documents {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var config mock.Config
	m, err := matrix.ParseSet("matrix.toml", []byte(text), nil, matrix.Extension{Table: "mock", Into: &config})
	if err != nil {
		t.Fatal(err)
	}
	simulator, err := mock.New(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- simulator.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	server, err := endpoint.Reach(ctx, m.Target, "http://"+l.Addr().String()+"/v1", "", experiment.APIs(m.Points, m.Target), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.MarkSimulated(simulator.Describe())
	models, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		t.Fatal(err)
	}
	var events bytes.Buffer
	messages := live.NewMessages(&events, m, nil)
	result, err := sweep.Run(ctx, m, sweep.Options{
		Out: t.TempDir(), Server: server, Roofline: record.NewRooflineSource(models, roofline.BuiltinHardware(), server.Info.Model, m.Target),
		Client: sweep.Client("test", "none"), Command: []string{"bench", "sweep", "matrix.toml"},
		Event: messages.Event,
	})
	messages.Stop()
	if err != nil {
		t.Fatal(err)
	}
	found := collect(t, result.Dir)
	messages.End(result)
	found["event"] = bytes.Split(bytes.TrimSpace(events.Bytes()), []byte("\n"))
	return found
}

func TestSchemasOfARun(t *testing.T) {
	compiled := compile(t)
	full, faulty := measure(t, stated), measure(t, bare)
	if n := len(full["telemetry"]); n < 6 {
		t.Errorf("the stated run left %d samples of its client", n)
	}
	if n := len(full["row"]); n != 6 || len(full["run"]) != 1 || len(full["record"]) < 40 {
		t.Errorf("the stated run left %d rows, %d manifests and %d records", n, len(full["run"]), len(full["record"]))
	}
	if n := len(full["event"]); n != 2+2*6 {
		t.Errorf("%d events of six rows", n)
	}
	validate(t, compiled, "stated", full)
	validate(t, compiled, "bare", faulty)
	for _, outcome := range []string{"ok", "short", "truncated", "status"} {
		if !bytes.Contains(bytes.Join(faulty["record"], nil), []byte(`"outcome":"`+outcome+`"`)) {
			t.Errorf("no request of the bare run is %s: its faults were not met", outcome)
		}
	}
	t.Run("refused", func(t *testing.T) { refuse(t, compiled, full) })
}

// refuse breaks a valid document in one place at a time.
func refuse(t *testing.T, compiled map[string]*jsonschema.Schema, valid documents) {
	at := func(doc any, keys ...string) map[string]any {
		m := doc.(map[string]any)
		for _, k := range keys {
			m = m[k].(map[string]any)
		}
		return m
	}
	first := func(doc any, list string) map[string]any { return at(doc)[list].([]any)[0].(map[string]any) }
	for _, c := range []struct {
		name, kind string
		spoil      func(doc any)
		want       string // in the error
	}{
		{"unknown field", "record", func(d any) { at(d)["first_ms"] = 3 }, "first_ms"},
		{"missing outcome", "record", func(d any) { delete(at(d), "outcome") }, "outcome"},
		{"unknown outcome", "record", func(d any) { at(d)["outcome"] = "fine" }, "/outcome"},
		{"unknown phase", "record", func(d any) { at(d)["phase"] = "window " }, "/phase"},
		{"time as text", "record", func(d any) { at(d)["at_us"] = "12" }, "/at_us"},
		{"time in parts of a µs", "record", func(d any) { at(d)["at_us"] = 1.5 }, "/at_us"},
		{"absent time as null", "record", func(d any) { at(d)["sent_us"] = nil }, "/sent_us"},
		{"gaps that are no list", "record", func(d any) { at(d)["gaps_us"] = 12 }, "/gaps_us"},

		{"later version", "row", func(d any) { at(d)["schema"] = "bench/row/v2" }, "/schema"},
		{"no schema", "row", func(d any) { delete(at(d), "schema") }, "schema"},
		{"no summary", "row", func(d any) { delete(at(d), "summary") }, "summary"},
		{"unknown metric", "row", func(d any) { at(d, "summary")["ttft_s"] = 1 }, "ttft_s"},
		{"half an interval", "row", func(d any) { at(d, "summary", "e2e_ms", "ci95")["p50"] = []any{1} }, "/ci95/p50"},
		{"interval of texts", "row", func(d any) { at(d, "summary", "e2e_ms", "ci95")["p50"] = []any{"1", nil} }, "/ci95/p50/0"},
		{"unknown rate", "row", func(d any) { at(d, "spec")["rate"] = "fast" }, "/spec/rate"},
		{"duration as text", "row", func(d any) { at(d, "spec")["duration_s"] = "10s" }, "/spec/duration_s"},
		{"errors as null", "row", func(d any) { at(d, "summary", "requests")["errors"] = nil }, "/errors"},
		{"findings as null", "row", func(d any) { at(d)["findings"] = nil }, "/findings"},
		{"no roofline", "row", func(d any) { delete(at(d), "roofline") }, "roofline"},
		{"no date", "row", func(d any) { at(d)["started_at"] = "yesterday" }, "/started_at"},

		{"later version", "telemetry", func(d any) { at(d)["schema"] = "bench/telemetry/v2" }, "/schema"},
		{"unknown source", "telemetry", func(d any) { at(d)["source"] = "moon" }, "/source"},
		{"no time", "telemetry", func(d any) { delete(at(d), "t_us") }, "t_us"},
		{"absent figure as null", "telemetry", func(d any) { at(d)["run_delay"] = nil }, "/run_delay"},
		{"half a bucket", "telemetry", func(d any) { at(d)["sched_us"] = []any{[]any{64}} }, "/sched_us/0"},
		{"unknown figure", "telemetry", func(d any) { at(d)["load"] = 1 }, "load"},

		{"state", "run", func(d any) { at(d)["state"] = "finished" }, "/state"},
		{"later version", "run", func(d any) { at(d)["schema"] = "bench/run/v2" }, "/schema"},
		{"plan without a hash", "run", func(d any) { delete(first(d, "plan"), "spec_hash") }, "spec_hash"},
		{"unknown key", "run", func(d any) { at(d, "client")["user"] = "me" }, "user"},
		{"fact as a number", "run", func(d any) { at(d, "facts")["driver"] = 580 }, "/facts/driver"},
		{"date of the end", "run", func(d any) { at(d)["ended_at"] = "" }, "/ended_at"},
	} {
		t.Run(c.kind+" "+c.name, func(t *testing.T) {
			doc := parse(t, valid[c.kind][0])
			c.spoil(doc)
			err := compiled[c.kind].Validate(doc)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error at %s", err, c.want)
			}
		})
	}
}
