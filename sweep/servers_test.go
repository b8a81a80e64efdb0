package sweep

import "testing"

// TestNamed: a server's last output names a variable that it did not get, or does not.
func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"KeyError: 'OPENAI_API_KEY'": "OPENAI_API_KEY", "error: no API key is set": "OPENAI_API_KEY",
		"--api-key is required": "OPENAI_API_KEY", "BENCH_TOKEN: unbound variable": "BENCH_TOKEN",
		"out of memory": "", "max_num_batched_tokens is too small": "", "KeyError: 'rope'": "", "": "",
	} {
		if got := named(text, []string{"OPENAI_API_KEY", "BENCH_TOKEN", "KEY_"}); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
