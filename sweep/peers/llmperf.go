package peers

import "strings"

func fromLLMPerf(a *args, d *draft) {
	base := ""
	for name, value := range d.variables {
		if strings.HasSuffix(name, "_API_BASE") || strings.HasSuffix(name, "_BASE_URL") {
			base = value
		}
	}
	d.address(base, "", "", "8000")
	if base == "" {
		d.say("llmperf takes the address from OPENAI_API_BASE: write endpoint in [target]")
	}
	d.model(a.text("model"))
	api := a.text("llm-api")
	if api != "" && api != "openai" && api != "anthropic" {
		d.say("--llm-api %s is a client library: bench uses the server's chat API", api)
	}
	if api != "anthropic" {
		api = "chat"
	}
	d.setAPI(api)
	d.stop(false)
	d.fields(a.object("additional-sampling-params"))
	d.shape(normal(a.number(550, "mean-input-tokens"), a.number(150, "stddev-input-tokens"), 0, 0),
		normal(a.number(150, "mean-output-tokens"), a.number(80, "stddev-output-tokens"), 0, 0), 0, 0)
	d.say("prompts are synthetic with exactly these lengths; llmperf's are whole lines of a sonnet, counted by " +
		"Llama's tokenizer")
	d.add(load{name: "llmperf", concurrency: []float64{a.number(10, "num-concurrent-requests")},
		seconds: a.number(90, "timeout"), requests: a.whole(10, "max-num-completed-requests")})
	a.ignore("results-dir metadata")
}

// fromTmesh: bench tile is the same workload, sized by the same formula.
func fromTmesh(a *args, d *draft) {
	d.address(a.text("endpoint"), "", "", "8000")
	d.key(a, "api-key")
	endpoint, _ := d.target.get("endpoint").(string)
	d.say("bench tile %s is this matrix, with a line of metrics every five seconds", endpoint)
	d.say("contexts = 30 is this tool's number for Qwen3-30B-A3B and 100 GiB: bench tile counts them by the model")
	d.say("lengths are tokens: this tool's throughputs count characters, and its contexts of 32,000 are not 32,000 " +
		"tokens")
	d.row = table{{"workload", "tiling"}, {"input", 32000}, {"output", 100}, {"stop", "natural"}, {"until", "stopped"},
		{"grace", "30s"}, {"tile", table{{"contexts", 30}}}}
	d.add(load{name: "tile"})
}
