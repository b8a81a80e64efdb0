package text

import (
	"strings"
	"testing"
)

func TestMaskCommand(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"vllm serve m --api-key sk-1 sk-2 --port 8000", "vllm serve m --api-key *** *** --port 8000"},
		{"vllm serve m --api-keys=a1 --max-num-batched-tokens 8192", "vllm serve m --api-keys=*** --max-num-batched-tokens 8192"},
		{"llama-server -hft hf_abc -m f.gguf --ssl-key-file k", "llama-server -hft *** -m f.gguf --ssl-key-file k"},
		{"env HF_TOKEN=abc OMP_NUM_THREADS=4 serve", "env HF_TOKEN=*** OMP_NUM_THREADS=4 serve"},
		{`s --conf {"accessKey":"x"} --aws-secret-access-key y`, "s --conf *** --aws-secret-access-key ***"},
		{"s -H X-Auth:abc --tokenizer mine --passwd p --auth a --credentials c", "s -H *** --tokenizer mine --passwd *** --auth *** --credentials ***"},
		{"s http://user:pass@host/v1 --bytes-per-token=4", "s *** --bytes-per-token=***"},
		{"sk-alone", "***"},
	} {
		if got := strings.Join(MaskCommand(strings.Fields(tt.in)), " "); got != tt.want {
			t.Errorf("%s:\n  %s, expected\n  %s", tt.in, got, tt.want)
		}
	}
	script := []string{"sh", "-c", "serve --token abc --port 1", "--password", "two words"}
	if got := strings.Join(MaskCommand(script), " "); got != "sh -c serve --token *** --port 1 --password ***" {
		t.Error(got)
	}
}
