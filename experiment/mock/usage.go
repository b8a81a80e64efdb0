package mock

type usage struct {
	prompt, cached          int
	output, reasoning       int
	hasCached, hasReasoning bool // the answer reports them
}

func (p *reply) usage(output int) usage {
	u := usage{prompt: len(p.q.prompt), cached: p.q.cached, output: output}
	u.reasoning = min(output, p.answer.reasoning)
	u.hasReasoning = !p.f.has("no-completion-tokens-details") && p.answer.reasons
	u.hasCached = !p.f.has("no-prompt-tokens-details") && (!p.f.has("no-zero-cached-tokens") || u.cached > 0)
	if p.f.has("wrong-usage") {
		u.output, u.cached = p.f["wrong-usage"].n, p.f["wrong-usage"].cached
	}
	return u
}

func (u usage) object() map[string]any { return u.named("prompt_tokens", "completion_tokens") }

func (u usage) responses() map[string]any { return u.named("input_tokens", "output_tokens") }

func (u usage) named(prompt, output string) map[string]any {
	object := map[string]any{prompt: u.prompt, output: u.output, "total_tokens": u.prompt + u.output}
	if u.hasCached {
		object[prompt+"_details"] = map[string]int{"cached_tokens": u.cached}
	}
	if u.hasReasoning {
		object[output+"_details"] = map[string]int{"reasoning_tokens": u.reasoning}
	}
	return object
}

func (u usage) append(b []byte) []byte {
	return append(append(b, `"usage":`...), marshal(u.object())...)
}
