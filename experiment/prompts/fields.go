package prompts

// isRequestField has the request fields that a line can set: OpenAI's, Anthropic's, and what vLLM, SGLang and llama.cpp
// add. Others, and those whose names data files use for something else, belong into the line's extra_body.
var isRequestField = setOf(
	"add_generation_prompt", "allowed_token_ids", "bad_words", "cache_salt", "chat_template", "chat_template_kwargs",
	"continue_final_message", "ebnf", "frequency_penalty", "function_call", "functions", "grammar",
	"guided_choice", "guided_grammar", "guided_json", "guided_regex", "include_stop_str_in_output",
	"instructions", "json_schema", "length_penalty", "logit_bias", "logprobs", "metadata", "min_p",
	"mm_processor_kwargs", "modalities", "n", "output_config", "output_format", "parallel_tool_calls",
	"presence_penalty", "priority", "reasoning",
	"reasoning_effort", "reasoning_format", "repetition_penalty", "response_format", "seed", "service_tier",
	"skip_special_tokens", "spaces_between_special_tokens", "stop", "stop_sequences", "stop_token_ids",
	"structured_outputs", "suffix", "system", "temperature", "thinking", "tool_choice", "tools",
	"top_k", "top_logprobs", "top_p", "truncate_prompt_tokens", "truncation", "typical_p", "user", "verbosity",
)

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}
