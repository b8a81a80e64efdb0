package endpoint

import (
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/prompts"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// A worker whose limit of files does not allow its part of the connections refuses the row before it sends a request.
func TestWorkerLimits(t *testing.T) {
	t.Parallel()
	s := mocked(t, mock.Config{}, experiment.Target{}, "completions")
	spec := experiment.Spec{Name: "row", Repeat: 1, Load: workload.Load{Concurrency: 20, Requests: 20},
		Workload: workload.Workload{Input: workload.Fixed(20), Output: workload.Fixed(2)}}
	for files, want := range map[int]string{94: "", 93: "row needs about 94 open files for its 10 connections, the limit is 93\nhint: ulimit -n"} {
		g := crew(t, s, 2)
		g.servers[0].limits = &telemetry.Limits{}
		g.servers[1].limits = &telemetry.Limits{Files: files, Open: 10}
		_, records, err := driven(t, s, spec, g)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || len(records) > 0) {
			t.Errorf("limit %d: %d records, error %v, want %q", files, len(records), err, want)
		}
	}
}

// Counts of real prompts hold for a worker that has the file at another path.
func TestPromptCountsOfWorkers(t *testing.T) {
	of := func(file string) *experiment.Spec {
		return &experiment.Spec{Workload: workload.Workload{Prompts: &prompts.Source{File: file, SHA256: "abc"}}}
	}
	encoders := func() classEncoders {
		out := classEncoders{}
		for _, class := range of("").Classes() {
			out[class.Name] = &classEncoder{api: &apiClient{model: "m"}}
		}
		return out
	}
	here, there := encoders(), encoders()
	api := func(es classEncoders) *apiClient {
		for _, e := range es {
			return e.api
		}
		return nil
	}
	counted := countedPrompts{
		{api(here), "m", "abc", 7, 0}:   {Number: 7, Tokens: 12},
		{api(here), "m", "abc", 8, 100}: {Number: 8, Cut: 100, Refused: "too long"},
		{api(here), "m", "other", 7, 0}: {Tokens: 99}, // of another row
		{api(here), "n", "abc", 9, 0}:   {Tokens: 99}, // of another model
	}
	sent := counted.of(of("/leader/prompts.jsonl"), here)
	got := countedPrompts{}
	got.take(sent, of("/tmp/1-prompts.jsonl"), there)
	want := countedPrompts{{api(there), "m", "abc", 7, 0}: {Number: 7, Tokens: 12}, {api(there), "m", "abc", 8, 100}: {Number: 8, Cut: 100, Refused: "too long"}}
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for key, n := range want {
		if n.Class = got[key].Class; got[key] != n {
			t.Errorf("prompt %d: %v, want %v", key.number, got[key], n)
		}
	}
}
