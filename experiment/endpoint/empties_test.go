package endpoint

import (
	"slices"
	"testing"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/target"
)

// TestAnswersWithoutText: answers of special tokens are complete. Their times are known by token IDs, or where their
// events fit the usage; else they are absent, and a finding says so.
func TestAnswersWithoutText(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults []string
		times  bool
	}{
		{"by token IDs", []string{"no-text=all"}, true},
		{"several tokens an event, by their IDs", []string{"no-text=all", "multi=3"}, true},
		{"by usage", []string{"no-text=all", "no-token-ids"}, true},
		{"the first, by usage", []string{"no-text=first", "no-token-ids"}, true},
		{"the last, by usage", []string{"no-text=last", "no-token-ids"}, true},
		{"not known", []string{"no-text=all", "no-token-ids", "multi=3"}, false},
	} {
		for _, api := range []string{target.Completions, target.Chat} {
			t.Run(tt.name+", "+api, func(t *testing.T) {
				s := mocked(t, mock.Config{Faults: tt.faults}, experiment.Target{}, api)
				spec := point()
				spec.Concurrency, spec.API = 2, api
				row := run(t, s, &spec)
				if n := row.Summary.Requests; n.Completed != 12 || row.Summary.Tokens.Output != 12*6 {
					t.Fatalf("%+v, %d tokens", n, row.Summary.Tokens.Output)
				}
				if known := row.Summary.TTFT != nil && row.Summary.TTFT.N == 12; known != tt.times {
					t.Errorf("TTFT known: %v", known)
				}
				if slices.Contains(row.Checks.Passed, "token_times") != tt.times || slices.Contains(row.Checks.Failed, "token_times") == tt.times {
					t.Errorf("checks %+v", row.Checks)
				}
				if row.Summary.Throughput.RequestsPerS == 0 || row.Summary.Throughput.OutputTokensPerS == 0 {
					t.Errorf("throughput %+v", row.Summary.Throughput)
				}
			})
		}
	}
}
