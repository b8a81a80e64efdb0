package peers

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/text"
)

// nvidia reads aiperf, and genai-perf, its predecessor, whose flags are almost the same.
func nvidia(a *args, d *draft, genai bool) {
	urls := a.all("url", "u")
	d.address(cmp.Or(urls...), "", "", "8000")
	if len(urls) > 1 {
		d.say("one of %d addresses is in the matrix: replicas in [target] share one load", len(urls))
	}
	if names := a.all("model", "model-names", "m"); len(names) > 1 {
		d.lora(names, cmp.Or(a.text("model-selection-strategy"), "round_robin"))
	} else {
		d.model(names...)
	}
	d.call(a.text("endpoint", "custom-endpoint"))
	d.setAPI(cmp.Or(a.text("endpoint-type"), map[bool]string{true: "Triton's KServe", false: "chat"}[genai]))
	if !a.on(false, "streaming") {
		d.row.set("stream", false)
		d.say("without --streaming there is no TTFT, TPOT or ITL: stream = false")
	}
	d.stop(false)
	for _, text := range a.words("extra-inputs") { // name:value, or JSON
		if tree, ok := parseJSON(text); ok {
			d.fields(tree)
		} else if name, value, pair := strings.Cut(text, ":"); pair {
			d.fields(map[string]any{name: typed(value)})
		}
	}
	for _, g := range a.find("header", "H") {
		d.header(strings.Join(g.values, " "))
	}
	d.key(a, "api-key")
	d.goodput(a.all("goodput"), 1)
	d.seed(a, "random-seed")
	d.target.time("timeout", a.number(0, "request-timeout-seconds"))
	cancellation(a, d)
	turns := nvidiaData(a, d, genai)
	nvidiaLoad(a, d, genai, turns)
	a.ignore(`tokenizer tokenizer-revision tokenizer-trust-remote-code artifact-dir output-artifact-dir output-dir
		profile-export-file profile-export-prefix ui ui-type v vv verbose extra-verbose log-level workers-max
		max-workers record-processors record-processor-service-count generate-plots checkpoint-dir
		enable-checkpointing service-kind backend endpoint custom-endpoint custom-dataset-type
		model-selection-strategy stability-percentage s use-server-token-count slice-duration export-level
		no-gpu-telemetry no-server-metrics`)
}

func cancellation(a *args, d *draft) {
	share, delay := a.number(0, "request-cancellation-rate"), a.number(0, "request-cancellation-delay")
	if share <= 0 {
		return
	}
	if delay <= 0 {
		delay = 0.001
		d.say("users leave after 1ms: a user who leaves at once sends no request")
	}
	d.row.set("leave", table{{"share", math.Min(share/100, 1)}, {"after", span(delay)}})
}

// nvidiaData sets lengths or files, and returns the mean number of turns of a conversation.
func nvidiaData(a *args, d *draft, genai bool) (turns float64) {
	turns = a.number(1, "session-turns-mean", "conversation-turn-mean")
	if file := a.text("input-file"); file != "" {
		nvidiaFile(a, d, file)
		return turns
	}
	if a.text("public-dataset") == "sharegpt" {
		d.shareGPT("", 0, a.whole(0, "osl", "output-tokens-mean", "prompt-output-tokens-mean"))
		return 1
	}
	if text := a.text("sequence-distribution", "seq-dist"); text != "" {
		sequences(d, text)
		return 1
	}
	prefix := 0
	groups := a.whole(0, "num-prefix-prompts", "prefix-prompt-pool-size", "prompt-prefix-pool-size")
	if groups > 0 {
		prefix = a.whole(map[bool]int{true: 100}[genai], "prefix-prompt-length", "prompt-prefix-length")
	}
	if shared := a.whole(0, "shared-system-prompt-length"); shared > 0 {
		prefix, groups = shared, 1
	}
	prompt := normal(a.number(550, "isl", "synthetic-input-tokens-mean", "prompt-input-tokens-mean"),
		a.number(0, "isl-stddev", "synthetic-input-tokens-stddev", "prompt-input-tokens-stddev"), 0, 0)
	osl := a.number(0, "osl", "output-tokens-mean", "prompt-output-tokens-mean")
	output := normal(osl, a.number(0, "osl-stddev", "output-tokens-stddev", "prompt-output-tokens-stddev"), 0, 0)
	if osl <= 0 {
		output = d.unlimitedOutput()
	}
	if a.on(false, "output-tokens-mean-deterministic") {
		d.stop(true)
	}
	if least, _ := d.body.get("min_tokens").(interface{ Int64() (int64, error) }); least != nil {
		if n, _ := least.Int64(); float64(n) == osl { // bench sends it with ignore_eos
			d.body = without(d.body, "min_tokens", "max_tokens")
			d.stop(true)
		}
	}
	d.shape(prompt, output, prefix, groups)
	if turns > 1 {
		pause := a.number(0, "session-turn-delay-mean", "conversation-turn-delay-mean") / 1000
		pause *= a.number(1, "session-delay-ratio", "conversation-turn-delay-ratio")
		d.session(turns, a.number(0, "session-turns-stddev", "conversation-turn-stddev"), prompt, pause)
		if a.number(0, "session-turn-delay-stddev", "conversation-turn-delay-stddev") > 0 {
			d.say("pauses between turns all have their mean: bench draws exponential and lognormal ones")
		}
	}
	if width, height := a.whole(0, "image-width-mean"), a.whole(0, "image-height-mean"); width > 0 && height > 0 {
		d.images(a.whole(1, "image-batch-size", "batch-size-image"), width, height)
		a.ignore("image-format")
	}
	if entries := a.whole(0, "num-dataset-entries"); entries > 0 {
		d.say("every prompt is new; this tool repeats %d prompts, which the server's prefix cache then has", entries)
	}
	return turns
}

func without(t table, keys ...string) table {
	return slices.DeleteFunc(slices.Clone(t), func(e entry) bool { return slices.Contains(keys, e.key) })
}

func nvidiaFile(a *args, d *draft, file string) {
	file = strings.TrimPrefix(file, "payload:")
	kind := a.text("custom-dataset-type")
	if kind == "mooncake_trace" || kind == "" && a.has("fixed-schedule", "fixed-schedule-auto-offset") ||
		kind == "bailian_trace" || kind == "burst_gpt_trace" {
		keys := table{{"file", file}}
		for _, end := range []string{"start", "end"} {
			keys.time(end, a.number(0, "fixed-schedule-"+end+"-offset")/1000)
		}
		if kind == "bailian_trace" {
			keys.set("time_unit", "s")
			keys.set("block_tokens", 16)
		}
		d.row.set("trace", keys)
		return
	}
	d.prompts(file, 0, cmp.Or(a.whole(0, "osl", "output-tokens-mean"), unlimited),
		`one JSON object a line, as {"prompt": "…"}: this tool's own key is text`)
}

// A pair of a sequence distribution: 256|40,128|20:60, with brackets (256,128):60 too.
var sequence = text.Lazy(`\(?\s*([0-9.]+)(?:\|([0-9.]+))?\s*,\s*([0-9.]+)(?:\|([0-9.]+))?\s*\)?\s*:\s*([0-9.]+)`)

// sequences makes each pair of lengths a class.
func sequences(d *draft, text string) {
	add := func(isl, islStd, osl, oslStd, weight float64) {
		if isl >= 1 && osl >= 1 && weight > 0 {
			name := strconv.Itoa(int(isl)) + "-" + strconv.Itoa(int(osl))
			d.mix = append(d.mix, table{{"name", name}, {"weight", weight},
				{"input", normal(isl, islStd, 0, 0).value()}, {"output", normal(osl, oslStd, 0, 0).value()}})
		}
	}
	tree, isJSON := parseJSON(text)
	pairs, _ := tree["pairs"].([]any)
	for _, p := range pairs {
		in := &args{}
		in.flatten("", p)
		add(in.number(0, "isl"), in.number(0, "isl-stddev"), in.number(0, "osl"), in.number(0, "osl-stddev"),
			in.number(0, "prob"))
	}
	for _, m := range sequence().FindAllStringSubmatch(text, -1) {
		if isJSON {
			break
		}
		var x [5]float64
		for i := range x {
			x[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		add(x[0], x[1], x[2], x[3], x[4])
	}
	if len(d.mix) == 0 {
		d.bad("the sequence distribution has no pair", `--sequence-distribution "256,128:60;1024,256:40"`)
	}
}

func nvidiaLoad(a *args, d *draft, genai bool, turns float64) {
	l := load{name: "profile",
		rate: a.numbers("request-rate"), concurrency: a.numbers("concurrency", "session-concurrency"),
		seconds: a.number(0, "benchmark-duration"), requests: a.whole(0, "request-count", "num-requests")}
	if interval := a.number(0, "measurement-interval", "p"); genai && interval > 0 && l.requests == 0 {
		l.seconds = 3 * interval / 1000
		d.say("duration: three measurement intervals, as this tool measures by default")
	}
	sessions := a.whole(0, "num-sessions", "conversation-num", "num-conversations")
	if sessions > 0 && l.requests == 0 {
		l.requests = int(math.Round(float64(sessions) * turns))
	}
	if grace := a.number(0, "benchmark-grace-period"); !math.IsInf(grace, 0) {
		d.row.time("grace", grace)
	}
	if n := a.whole(0, "warmup-request-count", "num-warmup-requests"); n > 0 {
		l.warmup = n
	}
	if s := a.number(0, "warmup-duration"); s > 0 {
		l.warmup = span(s)
	}
	arrivals(a, d, &l, turns)
	scheduled := a.has("fixed-schedule", "fixed-schedule-auto-offset", "fixed-schedule-start-offset",
		"fixed-schedule-end-offset")
	if d.row.get("trace") != nil && (scheduled || len(l.rate)+len(l.concurrency) == 0) {
		l.arrival = "trace"
	} else if len(l.rate)+len(l.concurrency) == 0 {
		l.concurrency = []float64{1}
	}
	if l.seconds == 0 && l.requests == 0 {
		l.requests = 10
		if l.arrival == "trace" {
			l.requests, l.seconds = 0, 86400
		} else {
			d.say("the command states neither a number of requests nor a time: requests = 10, this tool's default")
		}
	}
	d.add(l)
}

func arrivals(a *args, d *draft, l *load, turns float64) {
	if users := a.whole(0, "num-users"); users > 0 {
		qps := a.number(1, "user-centric-rate")
		l.concurrency = []float64{float64(users)}
		if think := span(float64(users) / qps); qps > 0 && d.row.get("session") != nil {
			d.row.setIn("session", "think", think)
			d.say("users pause from the end of a turn; this tool counts %s from its start", think)
		}
		return
	}
	if len(l.rate) == 0 {
		return
	}
	d.conversations(l.rate, math.Max(turns, 1))
	switch pattern := a.text("arrival-pattern", "request-rate-mode"); pattern {
	case "constant":
		l.arrival = "constant"
	case "gamma":
		l.arrival, l.burstiness = "gamma", a.number(1, "arrival-smoothness", "vllm-burstiness")
	}
}
