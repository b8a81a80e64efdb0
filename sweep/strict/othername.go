package strict

import (
	"slices"
	"strings"
)

// Words of other tools, behind the key of a row or of [target] that means the same.
const (
	rowNames = `
rate: qps rps request_rate requests_per_second sweep_request_rate user_centric_rate
concurrency: users clients workers threads max_concurrency num_concurrent_requests num_users
concurrency: concurrency_level streams num_clients session_concurrency
output: max_tokens max_completion_tokens output_tokens output_len osl random_output_len mean_output_tokens
output: output_tokens_mean output_length sharegpt_output_len output_distribution
input: prompt prompt_tokens input_tokens input_len isl random_input_len mean_input_tokens
input: synthetic_input_tokens_mean prompt_len input_length input_distribution
requests: num_prompts num_requests request_count max_requests num_request max_num_completed_requests num_prompt
duration: max_seconds benchmark_duration max_duration_s measurement_interval seconds stage_duration
warmup: num_warmups warmup_requests warmup_request_count num_warmup_requests warmup_duration
arrival: arrival_pattern request_rate_mode
burstiness: arrival_smoothness vllm_burstiness
stop: ignore_eos disable_ignore_eos
stream: streaming disable_stream
seed: random_seed base_seed
repeats: num_runs
grace: benchmark_grace_period
session: turns session_turns_mean num_turns
adapters: lora_modules lora_name lora_traffic_split
images: image_count random_mm_base_items_per_request
`
	targetNames = `
endpoint: url base_url host target u
hardware: gpu gpu_type
gpus: num_gpus
precision: dtype quantization
api: backend endpoint_type request_format api_type llm_api
model: served_model_name model_name
timeout: request_timeout request_timeout_seconds
headers: header
extra_body: extra_inputs extra_request_body additional_sampling_params
`
)

// hints are words of other tools whose meaning takes more than another name.
var hints = []struct{ words, hint string }{
	{"goodput sla constraints slo_each",
		`write [slo.each] and below it ttft = "1s", tpot = "40ms"; limits of percentiles are in [slo]`},
	{"profile rate_type load_type strategy",
		`write rate for an open loop, concurrency for a closed one, or rate = { search = "saturation", min = 1, max = 64 }`},
	{"dataset dataset_name dataset_path data data_type input_file",
		`write input and output for synthetic prompts, or prompts = { file = "prompts.jsonl" }`},
	{"random_range_ratio", `write input = { dist = "uniform", min = 512, max = 1536 }`},
	{"isl_stddev stddev_input_tokens synthetic_input_tokens_stddev prompt_tokens_stdev " +
		"osl_stddev stddev_output_tokens output_tokens_stddev output_tokens_stdev",
		`write input = { dist = "normal", mean = 550, std = 150 }, and output in the same way`},
	{"random_prefix_len prefix_tokens prefix_len prefix_prompt_length num_prefix_prompts shared_prefix system_prompt_len",
		"write prefix = { tokens = 1024, groups = 4 }; its tokens are part of input"},
	{"stages", "write rate = [1, 2], which makes a series, or a [[row]] for each stage"},
	{"percentiles percentile_metrics metric_percentiles",
		"remove it: bench reports p50, p90, p95, p99 and p99.9 of every metric"},
	{"texts", "bench measures APIs that write tokens: use vllm bench serve for embeddings and rerank"},
	{"api_key", "a matrix contains no API key: use --api-key-env VAR or --api-key-file FILE"},
}

var ofBody = []string{"temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty",
	"repetition_penalty",
	"response_format", "tools", "tool_choice", "logprobs", "logit_bias", "n"}

// Meaning is the key that a word of another tool means, or a key itself, and the table that it stands in: row or
// target.
func Meaning(word string) (key, table string, ok bool) {
	word = strings.ReplaceAll(word, "-", "_")
	for _, of := range [][2]string{{"row", rowNames}, {"target", targetNames}} {
		for line := range strings.Lines(of[1]) {
			key, words, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if key != "" && (key == word || slices.Contains(strings.Fields(words), word)) {
				return key, of[0], true
			}
		}
	}
	return "", "", false
}

func otherName(key string, known []string) (hint string, ok bool) {
	now, table, _ := Meaning(key)
	switch top := slices.Contains(known, "row"); {
	case slices.Contains(known, now):
		return "write " + now + " in place of " + key, true
	case top && table == "row":
		return "write " + now + " in [[row]]", true
	case top && table == "target":
		return "write " + now + " in [target]", true

	case strings.HasPrefix(key, "contract") && slices.Contains(known, "slo"):
		return "write slo, the new name of this table", true
	case key == "skip" && slices.Contains(known, "run"):
		return `loads above a certain FAIL are skipped unless run = "all": remove skip, or write run`, true
	case slices.Contains(ofBody, key):
		return "write it in [target.extra_body], whose fields go into every request", true
	}
	for _, h := range hints {
		if slices.Contains(strings.Fields(h.words), strings.ReplaceAll(key, "-", "_")) {
			return h.hint, true
		}
	}
	return "", false
}
