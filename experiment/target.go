package experiment

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"

	"bench/experiment/target"
	"bench/experiment/workload"
)

// Target is the [target] table: the server under test, as declared.
type Target struct {
	target.Target
	// id in the hardware table; empty = no roofline
	Hardware string `toml:"hardware" json:"hardware,omitempty"`
	// 0 = not specified: no figures per GPU
	GPUs int `toml:"gpus" json:"gpus,omitempty"`
	// of the weights; empty = the model's own
	Precision string `toml:"precision" json:"precision,omitempty"`
	// price of one GPU for an hour; nil = not specified
	GPUHourUSD *float64          `toml:"gpu_hour_usd" json:"gpu_hour_usd,omitempty"`
	Facts      map[string]string `toml:"facts" json:"facts,omitempty"` // what bench can't see
	// in place of endpoint: servers that each run all rows, one after the other
	Endpoints []string `toml:"endpoints" json:"endpoints,omitempty"`
	// Replicas are servers of one model under one load, in place of endpoint: Routing decides which one gets a request.
	Replicas []string `toml:"replicas" json:"replicas,omitempty"`
	// round_robin (also if empty) or sticky: all turns of a session to one replica
	Routing string `toml:"routing" json:"routing,omitempty"`
}

const (
	RoundRobin = "round_robin"
	Sticky     = "sticky"
)

func (t Target) Spread() workload.Replicas {
	return workload.Replicas{N: len(t.Replicas), Sticky: t.Routing == Sticky}
}

func (t Target) Check(bad func(key, problem, hint string)) {
	t.Target.Check(bad)
	t.checkEndpoints(bad)
	checkFields("extra_body", t.ExtraBody, bad)
	t.checkReplicas(bad)
	if t.GPUs < 0 {
		bad("gpus", "gpus is negative", "write gpus = 1")
	}
	if usd := t.GPUHourUSD; usd != nil && !(*usd >= 0 && *usd <= math.MaxFloat64) { // refuses NaN
		bad("gpu_hour_usd", fmt.Sprintf("gpu_hour_usd is %v, not a price", *usd), "write gpu_hour_usd = 2.5")
	}
}

// Priced reports whether the price of all GPUs for an hour is specified.
func (t Target) Priced() bool { return t.GPUHourUSD != nil && t.GPUs > 0 }

func (t Target) checkEndpoints(bad func(key, problem, hint string)) {
	if len(t.Endpoints) > 0 && t.Endpoint != "" {
		bad("endpoints", "endpoint and endpoints exclude each other",
			"remove one; each server in endpoints runs all rows")
	}
	checkURLs("endpoints", t.Endpoints, "remove one; repeats = 2 runs a point twice", bad)
}

func (t Target) checkReplicas(bad func(key, problem, hint string)) {
	const apart = "replicas share one load; endpoints run all rows one after the other, to be compared"
	switch {
	case len(t.Replicas) > 0 && t.Endpoint != "" && t.Endpoint != t.Replicas[0]:
		// package sweep makes the first one the endpoint
		bad("replicas", "endpoint and replicas exclude each other", "remove endpoint, or add it to replicas")
	case len(t.Replicas) > 0 && len(t.Endpoints) > 0:
		bad("replicas", "endpoints and replicas exclude each other", apart)
	case len(t.Replicas) == 1:
		bad("replicas", "one replica is no choice", "write endpoint, or add the URL of another replica")
	case t.Routing != "" && len(t.Replicas) == 0:
		bad("routing", "routing needs replicas", `write replicas = ["http://a:8000", "http://b:8000"]; `+apart)
	}
	if t.Routing != "" && t.Routing != RoundRobin && t.Routing != Sticky {
		bad("routing", fmt.Sprintf("unknown routing %q", t.Routing),
			`write "round_robin", or "sticky": all turns of a session to one replica`)
	}
	checkURLs("replicas", t.Replicas, "remove one: each replica gets the same share", bad)
}

func checkURLs(key string, urls []string, twice string, bad func(key, problem, hint string)) {
	seen := map[string]bool{}
	for i, e := range urls {
		at := fmt.Sprintf("%s[%d]", key, i)
		_, err := target.BaseURL(e)
		if e == "mock" {
			err = errors.New("the simulated server has no address of its own: start it with bench mock")
		}
		switch name := EndpointName(e); {
		case err != nil:
			bad(at, err.Error(), `write it as "http://host:port"`)
		case seen[name]:
			bad(at, name+" is in the list twice", twice)
		default:
			seen[name] = true
		}
	}
}

// EndpointName is an endpoint as part of a name: host and port, without scheme, /v1 and user info.
func EndpointName(endpoint string) string {
	base, err := target.BaseURL(endpoint)
	if err != nil {
		return target.Redact(endpoint)
	}
	u, err := url.Parse(base)
	if err != nil {
		return target.Redact(endpoint)
	}
	return u.Host + strings.TrimSuffix(u.Path, "/v1")
}

// ExpectedFacts are the keys of [target.facts] that a reader of the report needs and bench can't see.
var ExpectedFacts = []string{"driver", "network", "quantization", "server_flags", "storage", "tokenizer"}

func (t Target) Unspecified() []string {
	missing := []string{}
	for _, key := range []struct {
		name   string
		stated bool
	}{{"hardware", t.Hardware != ""}, {"gpus", t.GPUs != 0}, {"precision", t.Precision != ""},
		{"gpu_hour_usd", t.GPUHourUSD != nil}} {
		if !key.stated {
			missing = append(missing, key.name)
		}
	}
	for _, f := range ExpectedFacts {
		if strings.TrimSpace(t.Facts[f]) == "" {
			missing = append(missing, f)
		}
	}
	return missing
}
