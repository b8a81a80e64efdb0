package peers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// fromInferencePerf reads the keys of a YAML file, as load.stages.0.rate.
func fromInferencePerf(a *args, d *draft) {
	d.address(a.text("server.base-url"), "", "", "8000")
	d.model(a.text("server.model-name"))
	d.setAPI(cmp.Or(a.text("api.type"), "completion"))
	if !a.on(false, "api.streaming") {
		d.row.set("stream", false)
		d.say("api.streaming is not true: stream = false, without TTFT, TPOT and ITL")
	}
	d.stop(a.on(true, "server.ignore-eos"))
	if a.text("server.api-key") != "" {
		d.key(a, "server.api-key")
	}
	d.headerFields(a.under("api.headers", "-"))
	var limits []string
	for name, value := range a.under("report.goodput.constraints", "_") {
		limits = append(limits, name+":"+scalar(value))
	}
	slices.Sort(limits)
	d.goodput(limits, 1000)
	d.target.time("timeout", a.number(0, "load.request-timeout"))
	d.seed(a, "load.base-seed")
	splitLoRA(a, d)
	perfData(a, d)
	perfLoad(a, d)
	a.ignore(`server.type load.interval load.num-workers load.worker-max-concurrency load.worker-max-tcp-connections
		metrics. report. storage. tokenizer. data.trace. load.trace. data.use-chat-template`)
}

func splitLoRA(a *args, d *draft) {
	var names []string
	var weights []float64
	for i := 0; a.has(fmt.Sprintf("load.lora-traffic-split.%d.name", i)); i++ {
		at := fmt.Sprintf("load.lora-traffic-split.%d.", i)
		names, weights = append(names, a.text(at+"name")), append(weights, a.number(1, at+"split"))
	}
	if len(names) > 0 {
		d.row.set("adapters", table{{"names", names}, {"weights", weights}})
	}
}

func perfData(a *args, d *draft) {
	kind := cmp.Or(a.text("data.type"), "mock")
	d.name = fileName(kind)
	switch kind {
	case "synthetic", "random":
		d.shape(perfLength(a, d, "data.input-distribution"), perfLength(a, d, "data.output-distribution"), 0, 0)
	case "shared_prefix":
		sharedPrefix(a, d)
	case "shareGPT":
		d.shareGPT(a.text("data.path"), 0, 0)
	case "mock":
		d.say("mock data have no lengths: input = 256, output = 128")
		d.shape(fixed(256), fixed(128), 0, 0)
	default:
		d.bad("data of type "+kind+" has no counterpart", "bench trace FILE reads traces of agents; real prompts "+
			"are lines {\"prompt\": \"…\"} for [row.prompts]")
	}
	if file := a.text("load.trace.file", "data.trace.file"); file != "" {
		d.row = without(d.row, "input", "output", "prefix")
		d.row.set("trace", table{{"file", file}, {"format", "azure"}})
	}
}

// perfLength is a fixed number, or a table with a type. Its defaults are the tool's.
func perfLength(a *args, d *draft, at string) length {
	if a.has(at) {
		return a.length(0, at)
	}
	mean, std := a.number(512, at+".mean"), a.number(200, at+".std-dev")
	if a.has(at + ".variance") {
		std = math.Sqrt(math.Max(a.number(0, at+".variance"), 0))
	}
	stated := a.has(at+".std-dev") || a.has(at+".variance")
	low, high := a.whole(10, at+".min"), a.whole(1024, at+".max")
	a.ignore(at + ".total-count")
	kind := cmp.Or(a.text(at+".type"), "normal")
	if !stated && kind != "fixed" && kind != "uniform" {
		d.say("%s: a standard deviation of 200 tokens, this tool's default", at)
	}
	switch kind {
	case "fixed":
		return fixed(int(mean))
	case "uniform":
		return uniform(low, high)
	case "lognormal":
		return length{"lognormal", mean, std, low, high}
	case "normal":
	default:
		d.say("%s: a normal distribution in place of %s", at, kind)
		a.ignore(at + ".skew")
	}
	return normal(mean, std, low, high)
}

func sharedPrefix(a *args, d *draft) {
	const at = "data.shared-prefix."
	part := func(name, distribution string, fallback int) length {
		for _, key := range []string{distribution, name} {
			if a.hasUnder(at + key) {
				return perfLength(a, d, at+key)
			}
		}
		return fixed(fallback)
	}
	prefix := a.whole(100, at+"system-prompt-len")
	question, output := part("question-len", "question-distribution", 50), part("output-len", "output-distribution", 50)
	groups := a.whole(10, at+"num-unique-system-prompts", at+"num-groups")
	each := a.whole(10, at+"num-users-per-system-prompt", at+"num-prompts-per-group")
	d.shape(question, output, prefix, groups)
	d.say("every question is new; this tool repeats %d questions in each of %d groups", each, groups)
	if a.on(false, at+"enable-multi-turn-chat") {
		d.session(5, 0, question, 0)
		d.say("conversations have 5 turns; this tool's grow until the load ends")
	}
	d.seed(a, at+"seed")
}

func perfLoad(a *args, d *draft) {
	kind := cmp.Or(a.text("load.type"), "constant")
	if a.has("load.sweep.type") {
		stages, seconds := a.number(5, "load.sweep.num-stages"), a.number(180, "load.sweep.stage-duration")
		d.add(load{name: "sweep", search: saturation(stages * seconds)})
		d.say("sweep: in place of %g stages up to the saturation rate, bench searches the highest rate that the server "+
			"sustains", stages)
		a.ignore("load.sweep.")
		return
	}
	stages := 0
	for a.hasUnder("load.stages." + strconv.Itoa(stages)) {
		stages++
	}
	if stages == 0 || stages > 1000 {
		d.bad(fmt.Sprintf("the load has %d stages", stages), "write load.stages with rate and duration, up to 1,000")
		return
	}
	for i := range stages {
		at := "load.stages." + strconv.Itoa(i) + "."
		l := load{name: fmt.Sprintf("stage-%d", i), rate: a.numbers(at + "rate"), seconds: a.number(0, at+"duration"),
			concurrency: a.numbers(at + "concurrency-level"), requests: a.whole(0, at+"num-requests")}
		switch kind {
		case "constant", "poisson":
			l.arrival, l.concurrency = "poisson", nil
		case "concurrent":
			l.rate = nil
		case "trace_replay":
			l.rate, l.arrival = nil, "trace"
		default:
			d.bad("load of type "+kind+" has no counterpart", "replay sessions by [row.trace] with replay = "+
				"\"sessions\": docs/traces.md")
			return
		}
		d.add(l)
	}
	if kind == "constant" {
		d.say("this tool's constant load has exponential gaps: arrival = \"poisson\"; \"constant\" has equal ones")
	}
}

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
