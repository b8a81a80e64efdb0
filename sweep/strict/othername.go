package strict

import (
	"slices"
	"strings"
)

// otherNames are keys of other tools, each with the key that means the same.
var otherNames = map[string]string{
	"qps": "rate", "rps": "rate", "request_rate": "rate", "requests_per_second": "rate",
	"users": "concurrency", "clients": "concurrency", "workers": "concurrency", "threads": "concurrency",
	"max_tokens": "output", "max_completion_tokens": "output", "output_tokens": "output", "output_len": "output", "osl": "output",
	"prompt": "input", "prompt_tokens": "input", "input_tokens": "input", "input_len": "input", "isl": "input",
	"random_input_len": "input", "random_output_len": "output", "max_concurrency": "concurrency",
	"num_prompts": "requests", "num_requests": "requests", "max_seconds": "duration", "ignore_eos": "stop",
	"url": "endpoint", "base_url": "endpoint", "host": "endpoint", "gpu": "hardware", "num_gpus": "gpus",
	"dtype": "precision", "quantization": "precision", "backend": "api",
}

var ofBody = []string{"temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty",
	"response_format", "tools", "tool_choice", "logprobs", "logit_bias", "n"}

func otherName(key string, known []string) (hint string, ok bool) {
	switch now := otherNames[key]; {
	case slices.Contains(known, now):
		return "write " + now + " in place of " + key, true
	case strings.HasPrefix(key, "contract") && slices.Contains(known, "slo"):
		return "write slo, the new name of this table", true
	case key == "skip" && slices.Contains(known, "run"):
		return `loads above a certain FAIL are skipped unless run = "all": remove skip, or write run`, true
	case slices.Contains(ofBody, key):
		return "write it in [target.extra_body], whose fields go into every request", true
	case key == "texts":
		return "bench measures APIs that write tokens: use vllm bench serve for embeddings and rerank", true
	case key == "api_key":
		return "a matrix contains no API key: use --api-key-env VAR or --api-key-file FILE", true
	}
	return "", false
}
