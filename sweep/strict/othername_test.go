package strict

import (
	"strings"
	"testing"
)

// Words of other tools lead to the key that means the same, also with dashes, and to the table that it stands in.
func TestMeaning(t *testing.T) {
	for words, want := range map[string]string{
		"qps request_rate request-rate rate":                            "row.rate",
		"users max_concurrency max-concurrency num_concurrent_requests": "row.concurrency",
		"isl random_input_len prompt_tokens mean_input_tokens":          "row.input",
		"osl random_output_len output_tokens max_tokens":                "row.output",
		"num_prompts num_requests request_count max_requests":           "row.requests",
		"max_seconds benchmark_duration":                                "row.duration",
		"num_warmups warmup_request_count":                              "row.warmup",
		"arrival_pattern":                                               "row.arrival",
		"burstiness arrival_smoothness":                                 "row.burstiness",
		"ignore_eos":                                                    "row.stop",
		"url base_url host":                                             "target.endpoint",
		"backend endpoint_type":                                         "target.api",
		"something":                                                     ".",
	} {
		for word := range strings.FieldsSeq(words) {
			if key, table, _ := Meaning(word); table+"."+key != want {
				t.Errorf("%s means %s.%s, want %s", word, table, key, want)
			}
		}
	}
	seen := map[string]string{}
	for line := range strings.Lines(rowNames + targetNames) {
		key, words, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for word := range strings.FieldsSeq(words) {
			if other := seen[word]; other != "" {
				t.Errorf("%s means %s and %s", word, other, key)
			}
			seen[word] = key
		}
	}
}

func TestOtherName(t *testing.T) {
	row, top := []string{"rate", "input", "slo"}, []string{"name", "row", "target"}
	for _, c := range []struct {
		key   string
		known []string
		want  string
	}{
		{"isl", row, "write input in place of isl"},
		{"isl", top, "write input in [[row]]"},
		{"base_url", top, "write endpoint in [target]"},
		{"goodput", row, "write [slo.each]"},
		{"temperature", row, "write it in [target.extra_body]"},
		{"dataset", row, "write input and output for synthetic prompts"},
		{"api_key", top, "a matrix contains no API key"},
		{"imput", row, ""},
	} {
		if hint, ok := otherName(c.key, c.known); ok != (c.want != "") || !strings.HasPrefix(hint, c.want) {
			t.Errorf("%s: %q, want %q", c.key, hint, c.want)
		}
	}
}
