package server

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCause: the first line that names a fault is found among what follows from it.
func TestCause(t *testing.T) {
	for name, tt := range map[string]struct{ log, want string }{
		"nothing":   {"loading\nready\n", ""},
		"empty":     {"", ""},
		"argparse":  {"usage: vllm [-h]\n  ...\nvllm: error: unrecognized arguments: --typo 3\n", "vllm: error: unrecognized arguments: --typo 3"},
		"exception": {"Traceback (most recent call last):\n  File \"x.py\", line 5\nValueError: no room\n", "ValueError: no room"},
		"vLLM: the worker's exception is the cause, and the others follow from it": {`(APIServer pid=1) WARNING 11-22 22:16:04 [system_utils.py:255] This can cause errors like OSError: [Errno 24] Too many open files.
(Worker pid=3) ERROR 11-22 22:19:00 [multiproc_executor.py:1063]     raise ValueError(
(Worker pid=3) ERROR 11-22 22:19:00 [multiproc_executor.py:1063] ValueError: requested memory for kv (200.0 GiB)
(EngineCore pid=2) ERROR 11-22 22:19:00 [core.py:1510] RuntimeError: Worker failed with error 'requested memory for kv (200.0 GiB)'
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}
resource_tracker.py:254: UserWarning: resource_tracker: leaked objects
`, "ValueError: requested memory for kv (200.0 GiB)"},
		"only a consequence is left":   {"RuntimeError: Engine core initialization failed. See root cause above.\n", "RuntimeError: Engine core initialization failed. See root cause above."},
		"out of memory":                {"ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."},
		"out of memory, no exception":  {"ggml_backend_cuda: cudaMalloc failed: out of memory\n", "ggml_backend_cuda: cudaMalloc failed: out of memory"},
		"llama.cpp: a flag":            {"error: invalid argument: --typo\n", "error: invalid argument: --typo"},
		"llama.cpp: the port":          {"0.01.2 E srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1\n", "0.01.2 E srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1"},
		"the port, by uvicorn":         {"INFO:     Started\nERROR:    [Errno 98] error while attempting to bind: address already in use\n", "ERROR:    [Errno 98] error while attempting to bind: address already in use"},
		"an exception before messages": {"error: a\nKeyError: 'b'\n", "KeyError: 'b'"},
		"a progress bar":               {"loading 10 %\rloading 20 %\rOSError: no file\r\n", "OSError: no file"},
		"an interpreter":               {"bash: line 1: vlm: command not found\nbash: vlm: No such file or directory\n", "bash: vlm: No such file or directory"},
	} {
		if got := Cause(tt.log); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func FuzzCause(f *testing.F) {
	f.Add("ValueError: " + strings.Repeat("é", 500))
	f.Add("a\r\rb\rerror: \r\n")
	f.Fuzz(func(t *testing.T, log string) {
		got := Cause(log)
		if len(got) > lineBytes+len("…") || strings.ContainsAny(got, "\n") || utf8.ValidString(log) && !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
	})
}
