package peers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/text"
)

const shareGPT = "wget " +
	"https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered/resolve/main/ShareGPT_V3_unfiltered_cleaned_split.json"

// samplingFlags become fields of the body in both tools of this file.
var samplingFlags = []string{"temperature", "top-p", "top-k", "min-p", "frequency-penalty", "presence-penalty",
	"repetition-penalty", "logprobs"}

func fromVLLM(a *args, d *draft) {
	d.address(a.text("base-url"), a.text("host"), a.text("port"), "8000")
	d.model(a.text("served-model-name"), a.text("model"))
	backend := a.text("backend", "endpoint-type")
	if path, _, _ := strings.Cut(a.text("endpoint"), "?"); path != "" && !strings.Contains(backend, "embed") {
		backend = path
		d.call(path)
	}
	d.setAPI(backend)
	d.sampling(a, samplingFlags...)
	d.stop(a.on(false, "ignore-eos"))
	d.fields(a.object("extra-body"))
	if kwargs := a.object("chat-template-kwargs"); kwargs != nil {
		d.fields(map[string]any{"chat_template_kwargs": kwargs})
	}
	d.header(a.words("header")...)
	d.goodput(a.all("goodput"), 1)
	d.seed(a, "seed")
	d.lora(a.all("lora-modules"), a.text("lora-assignment"))
	percentiles(d, a.all("metric-percentiles"))
	requests := vllmData(a, d)
	vllmLoad(a, d, requests, a.whole(0, "num-warmups"))
	a.ignore(`tokenizer tokenizer-mode trust-remote-code skip-tokenizer-init save-result save-detailed append-result
		result-dir result-filename label metadata disable-tqdm plot-timeline timeline-itl-thresholds
		plot-dataset-stats request-id-prefix no-stream ready-check-timeout-sec percentile-metrics no-oversample
		disable-shuffle skip-chat-template num-runs dry-run`)
}

// fromVLLMSweep reads vllm bench sweep: a server command and a bench command, with files of parameters for both.
func fromVLLMSweep(a *args, d *draft) {
	words := firstCommand(a.text("bench-cmd"))
	n := begins(words, "vllm bench serve")
	if n == 0 {
		d.bad("the command has no --bench-cmd 'vllm bench serve …'", "import the vllm bench serve command alone")
		return
	}
	bench := parse(words[n:])
	fromVLLM(bench, d)
	d.unread(bench, "--", "")
	a.problems = append(a.problems, bench.problems...)
	if command := firstCommand(a.text("serve-cmd")); len(command) > 0 {
		if slices.ContainsFunc(command, func(word string) bool { return isSecret(strings.TrimLeft(word, "-"), word) }) {
			d.say("--serve-cmd has a secret: write [server] command, with the secret in a variable of the environment")
		} else {
			d.server.set("command", command)
		}
	}
	d.row.set("repeats", a.whole(3, "num-runs"))
	if file := a.text("serve-params"); file != "" {
		d.say("not imported: --serve-params %s: its combinations are lists in [server.knobs], and {name} in command",
			file)
	}
	if file := a.text("bench-params"); file != "" {
		d.say("not imported: --bench-params %s: its values are lists of the row's keys", file)
	}
	a.ignore("output-dir o experiment-name e show-stdout dry-run resume server-ready-timeout after-bench-cmd link-vars")
}

func firstCommand(text string) []string {
	commands, _, err := split(text)
	if err != nil || len(commands) == 0 {
		return nil
	}
	return commands[0]
}

func (d *draft) seed(a *args, names ...string) {
	if seed := a.whole(0, names...); seed > 0 {
		d.top.set("seed", seed)
	}
}

// lora makes the names of adapters the models of the requests.
func (d *draft) lora(names []string, order string) {
	if len(names) == 0 {
		return
	}
	adapters := table{{"names", names}}
	if strings.HasPrefix(strings.ReplaceAll(order, "_", "-"), "round-robin") {
		adapters.set("order", "round_robin")
	}
	d.row.set("adapters", adapters)
}

func percentiles(d *draft, asked []string) {
	for _, p := range asked {
		if !slices.Contains([]string{"50", "90", "95", "99", "99.9"}, p) {
			d.say("percentile %s: bench reports p50, p90, p95, p99 and p99.9; bench report --format csv has every "+
				"request", p)
		}
	}
}

// vllmData sets lengths or files by the data set, and returns the number of requests.
func vllmData(a *args, d *draft) int {
	requests, set, file := dataset(a, d, "random")
	count := requests
	if requests < 1 {
		count, requests = 0, 1000
		d.say("--num-prompts -1 sends the whole file: bench sends requests = 1000")
	}
	switch set {
	case "random", "random-mm":
		d.stop(true) // vLLM sets --ignore-eos for them
		input := a.whole(1024, "random-input-len", "random-input", "input-len")
		output := a.whole(128, "random-output-len", "random-output", "output-len")
		in, out := rangeRatio(a, d, "random-range-ratio")
		d.shape(around(input, in), around(output, out), a.whole(0, "random-prefix-len"), 1)
		if set == "random-mm" {
			vllmImages(a, d)
		}
	case "prefix_repetition":
		d.shape(a.length(256, "prefix-repetition-suffix-len"),
			a.length(128, "prefix-repetition-output-len", "output-len"),
			a.whole(256, "prefix-repetition-prefix-len"), a.whole(10, "prefix-repetition-num-prefixes"))
	case "sonnet":
		prefix := a.whole(200, "sonnet-prefix-len")
		input := a.whole(550, "sonnet-input-len", "input-len")
		d.shape(fixed(input-prefix), a.length(150, "sonnet-output-len", "output-len"), prefix, 1)
		d.say("sonnet: synthetic text of the same lengths in place of Shakespeare's")
	case "burstgpt", "timed_trace":
		vllmTrace(a, d, set, file)
	case "sharegpt":
		d.shareGPT(file, count, a.whole(0, "sharegpt-output-len", "output-len"))
	case "custom", "spec_bench", "speed_bench", "hf":
		vllmFile(a, d, set, file, count)
	default:
		noData(d, set)
	}
	return requests
}

func dataset(a *args, d *draft, fallback string) (requests int, set, file string) {
	d.name = cmp.Or(a.text("dataset-name"), fallback)
	return a.whole(1000, "num-prompts", "num-prompt"), d.name, a.text("dataset-path")
}

func noData(d *draft, set string) {
	d.bad("the data set "+set+" has no counterpart",
		`write the prompts as lines {"prompt": "…"}, and import --dataset-name custom --dataset-path FILE`)
}

// rangeRatio is a number, or {"input": …, "output": …}.
func rangeRatio(a *args, d *draft, name string) (in, out float64) {
	if strings.HasPrefix(a.text(name), "{") {
		both := a.sub(name)
		return both.number(0, "input"), both.number(0, "output")
	}
	ratio := a.number(0, name)
	if ratio > 0 {
		d.say("%s %g: lengths from 1 - %[2]g to 1 + %[2]g times the length, as in today's vLLM; before v0.9 they "+
			"began at %[2]g times it", name, ratio)
	}
	return ratio, ratio
}

func around(n int, ratio float64) length {
	ratio = math.Min(math.Max(ratio, 0), 1)
	return uniform(int(math.Floor(float64(n)*(1-ratio))), int(math.Ceil(float64(n)*(1+ratio))))
}

var imageBucket = text.Lazy(`\(\s*(\d+)\s*,\s*(\d+)\s*,\s*1\s*\)`)

func vllmImages(a *args, d *draft) {
	buckets := imageBucket().FindAllStringSubmatch(a.text("random-mm-bucket-config"), -1)
	height, width := 256, 256
	if len(buckets) > 0 {
		height, _ = strconv.Atoi(buckets[0][1])
		width, _ = strconv.Atoi(buckets[0][2])
	}
	if len(buckets) != 1 {
		d.say("bench sends images of one size, %d × %d: other sizes are classes of [[row.mix]]", width, height)
	}
	d.images(a.whole(1, "random-mm-base-items-per-request"), width, height)
	a.ignore("random-mm-limit-mm-per-prompt enable-multimodal-chat")
}

func (d *draft) images(count, width, height int) {
	d.row.set("images", table{{"count", count}, {"width", width}, {"height", height}})
	if d.target.get("api") != "chat" {
		d.target.set("api", "chat")
		d.say("images need the chat API")
	}
}

func (d *draft) shareGPT(file string, count, output int) {
	how := "its recorded responses are not sent; later messages of the user are turns of a conversation, which " +
		"this tool leaves out"
	if file == "" {
		file = "ShareGPT_V3_unfiltered_cleaned_split.json"
		how = "get it by " + shareGPT + "; " + how
	}
	d.prompts(file, count, output, how)
}

func vllmFile(a *args, d *draft, set, file string, count int) {
	fallback := 256
	if set == "hf" {
		fallback = 0
	}
	output := a.whole(fallback, map[string]string{"custom": "custom-output-len", "spec_bench": "spec-bench-output-len",
		"speed_bench": "speed-bench-output-len", "hf": "hf-output-len"}[set], "output-len")
	how := `one JSON object a line, as {"prompt": "…"}`
	switch set {
	case "hf":
		how = "write the data set " + strings.TrimSpace(file+" "+a.text("hf-subset")) +
			` to it, one line {"prompt": "…"} for each prompt`
		file = fileName(strings.ReplaceAll(file, "/", "-")) + ".jsonl"
		a.ignore("hf-name hf-subset hf-split")
	case "spec_bench", "speed_bench":
		how = "its later turns are a conversation, which this tool leaves out"
	}
	d.prompts(file, count, output, how)
	if category := a.text("spec-bench-category", "speed-bench-category"); category != "" {
		d.row.setIn("prompts", "category", []string{category})
	}
}

func vllmTrace(a *args, d *draft, set, file string) {
	keys := table{{"file", file}}
	if set == "burstgpt" {
		d.say("burstgpt: the lengths come in the file's order, not drawn from it")
	} else {
		keys.set("format", "mooncake")
		keys.set("block_tokens", a.whole(16, "timed-trace-chunk-hash-size"))
		unit := map[float64]string{1: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns"}[a.number(1,
			"timed-trace-sec-multiplier")]
		if unit == "" {
			d.say("the trace's unit of time is none of s, ms, us, ns: write time_unit")
			unit = "s"
		}
		keys.set("time_unit", unit)
	}
	d.row.set("trace", keys)
}

// vllmLoad makes rows of the rate and the cap, which vLLM and SGLang share: a cap without a rate is a closed loop.
func vllmLoad(a *args, d *draft, requests, warmup int) {
	rates := a.numbers("request-rate", "sweep-request-rate")
	caps := a.numbers("max-concurrency", "sweep-max-concurrency")
	l := load{name: d.name, concurrency: caps, requests: requests}
	if warmup > 0 {
		l.warmup = warmup
		d.say("the prompts of the warm-up differ from each other; this tool repeats the first one")
	}
	if strategy := a.text("ramp-up-strategy"); strategy != "" {
		ramp(d, l, strategy, a.number(1, "ramp-up-start-rps"), a.number(10, "ramp-up-end-rps"))
		return
	}
	if a.on(false, "self-timed") {
		l.arrival = "trace"
		d.add(l)
		return
	}
	finite := slices.DeleteFunc(slices.Clone(rates), func(x float64) bool { return math.IsInf(x, 1) })
	if len(finite) > 0 {
		open := l
		open.rate = finite
		switch burstiness := a.number(1, "burstiness"); {
		case math.IsInf(burstiness, 1):
			open.arrival = "constant"
		case burstiness != 1:
			open.arrival, open.burstiness = "gamma", burstiness
		}
		d.add(open)
	}
	if len(finite) == len(rates) && len(rates) > 0 {
		return
	}
	if len(finite) > 0 {
		l.name += "-inf"
	}
	d.unpaced(l)
}

// unpaced is a load without a rate: a closed loop if it has a cap, else all requests at once. Prompts of a file can be
// conversations, whose turns wait for each other: they get a worker each.
func (d *draft) unpaced(l load) {
	if len(l.concurrency) == 0 && (d.row.get("prompts") != nil || d.row.get("session") != nil) {
		l.concurrency = []float64{float64(min(max(l.requests, 1), 65535))}
		d.say("all requests at once: one worker for each, since prompts of a file can be conversations")
	}
	if len(l.concurrency) == 0 {
		l.rate = []float64{math.Inf(1)}
		if l.warmup != nil {
			d.say("no warm-up: all requests of the row arrive at its start")
			l.warmup = nil
		}
	}
	d.add(l)
}

// ramp: vLLM's rate is linear or exponential in the number of the request. Linear in the number is exponential in time.
func ramp(d *draft, l load, strategy string, from, to float64) {
	arrival := table{{"process", "ramp"}, {"from", from}, {"to", to}}
	if over := float64(l.requests) * math.Log(to/from) / (to - from); from > 0 && to > 0 && from != to {
		arrival.set("over", span(over))
		arrival.set("shape", "exponential")
		if strategy == "exponential" {
			d.say("ramp: exponential over time; this tool's is exponential over the number of requests")
		}
	} else {
		arrival.set("over", span(2*float64(l.requests)/math.Max(to, 1e-3)))
		d.say("ramp: linear over time")
	}
	l.arrival = arrival
	d.add(l)
}

func fromSGLang(a *args, d *draft) {
	backend := a.text("backend")
	port := map[string]string{"vllm": "8000", "vllm-chat": "8000", "trt": "8000", "truss": "8080",
		"lmdeploy": "23333", "lmdeploy-chat": "23333"}[backend]
	d.address(a.text("base-url"), a.text("host"), a.text("port"), cmp.Or(port, "30000"))
	d.model(a.text("served-model-name"), a.text("model"))
	d.setAPI(cmp.Or(backend, "sglang"))
	d.stop(!a.on(false, "disable-ignore-eos"))
	d.sampling(a, "temperature", "top-p")
	d.fields(a.object("extra-request-body"))
	d.header(a.words("header")...)
	if a.on(false, "disable-stream") {
		d.row.set("stream", false)
	}
	d.seed(a, "seed")
	d.lora(a.all("lora-name"), "")
	requests := sglangData(a, d)
	warmup := a.whole(1, "warmup-requests")
	if !a.has("warmup-requests") && len(a.find("max-concurrency"))+len(a.find("request-rate")) == 0 {
		warmup = 0 // the default of one request, before all others at once
	}
	vllmLoad(a, d, requests, warmup)
	a.ignore(`tokenizer tag ready-check-timeout-sec output-file output-details disable-tqdm plot-throughput flush-cache
		flush-cache-timeout print-requests apply-chat-template tokenize-prompt cache-report fake-prefill`)
}

func sglangData(a *args, d *draft) int {
	requests, set, file := dataset(a, d, "sharegpt")
	output := a.whole(1024, "random-output-len", "random-output")
	switch {
	case set == "random" || set == "random-ids" || set == "image":
		ratio := a.number(0, "random-range-ratio")
		// The ratio is the low end here, not the spread.
		from := func(n int) length { return uniform(int(float64(n)*ratio), n) }
		d.shape(from(a.whole(1024, "random-input-len", "random-input")), from(output), 0, 0)
		if set == "image" {
			sglangImages(a, d)
		}
	case set == "sharegpt":
		d.shareGPT(file, requests, a.whole(0, "sharegpt-output-len"))
	case set == "custom" || set == "openai":
		d.prompts(file, requests, a.whole(0, "sharegpt-output-len"), `one JSON object a line, as {"prompt": "…"}`)
	case set == "generated-shared-prefix":
		groups, each := a.whole(64, "gsp-num-groups"), a.whole(16, "gsp-prompts-per-group")
		requests = groups * each
		d.shape(a.length(128, "gsp-question-len"), a.length(256, "gsp-output-len"),
			a.whole(2048, "gsp-system-prompt-len"),
			groups)
		d.say("%d groups × %d prompts = %d requests, each of a group drawn by the seed", groups, each, requests)
	case strings.HasPrefix(set, "mooncake"):
		sglangTrace(a, d, file)
	default:
		noData(d, set)
	}
	return requests
}

func sglangImages(a *args, d *draft) {
	resolutions := map[string][2]int{"4k": {3840, 2160}, "1080p": {1920, 1080}, "720p": {1280, 720}, "360p": {640, 360}}
	size := a.text("image-resolution")
	at, known := resolutions[size]
	if !known {
		at = resolutions["1080p"]
		var height, width int
		if n, _ := fmt.Sscanf(size, "%dx%d", &height, &width); n == 2 {
			at = [2]int{width, height}
		}
	}
	d.images(a.whole(1, "image-count", "random-image-count"), at[0], at[1])
	a.ignore("image-format image-content")
}

func sglangTrace(a *args, d *draft, file string) {
	if file == "" {
		file = "conversation_trace.jsonl"
		d.say("get the trace from https://github.com/kvcache-ai/Mooncake (FAST25-release/traces)")
	}
	keys := table{{"file", file}, {"format", "mooncake"}}
	if slowdown := a.number(1, "mooncake-slowdown-factor"); slowdown != 1 && slowdown > 0 {
		keys.set("speed", 1/slowdown)
	}
	d.row.set("trace", keys)
	if a.on(false, "use-trace-timestamps") {
		a.add("self-timed") // the name of the same thing in vLLM
	}
	a.ignore("mooncake-workload random-output-len random-output")
}
