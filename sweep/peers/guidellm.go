package peers

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
)

// streams is guidellm's own limit of requests in flight.
const streams = 512

// fromGuideLLM reads the flags of both generations: --target, --rate-type, --data until v0.6, then --backend, --profile
// and --constraint with key=value lists.
func fromGuideLLM(a *args, d *draft) {
	backend := a.sub("backend", "backend-kwargs", "backend-args")
	d.address(cmp.Or(a.text("target"), backend.text("target")), "", "", "8000")
	d.model(a.text("model"), backend.text("model"))
	d.setAPI(cmp.Or(a.text("request-format", "request-type"), backend.text("request-format"), "chat"))
	d.key(backend, "api-key")
	d.target.time("timeout", backend.number(0, "timeout"))
	d.seed(a, "random-seed")
	d.seed(a.sub("seed"), "value")

	l := load{}
	for _, c := range append(a.each("constraint"), a) {
		guideLimit(d, &l, c, c == a)
	}
	turns := guideData(a, d)
	d.fields(backend.under("extras.body", "_")) // after the data, which set ignore_eos
	d.headerFields(backend.under("extras.headers", "-"))
	d.headerFields(backend.under("headers", "-"))
	guideProfile(a, d, l, turns)
	d.unread(backend, "--backend ", "kind type verify http2 follow-redirects validate-backend timeout-connect")
	a.ignore(`backend-type processor processor-args tokenizer output outputs output-path output-dir output-extras
		display-scheduler-stats disable-progress disable-console disable-console-outputs disable-console-interactive
		sample-requests data-samples data-sampler data-args data-num-workers data-loader data-column-mapper
		data-finalizer data-preprocessor metrics label random-seed seed`)
}

func guideLimit(d *draft, l *load, c *args, legacy bool) {
	kind := c.text("kind")
	if legacy {
		l.seconds, l.requests = c.number(l.seconds, "max-seconds", "max-duration"), c.whole(l.requests, "max-requests")
		return
	}
	switch kind {
	case "max_duration", "max_seconds":
		l.seconds = c.number(0, "seconds", "max-seconds", "max-duration")
	case "max_requests", "max_number":
		l.requests = c.whole(0, "count", "max-requests", "max-num")
	default:
		d.say("not imported: --constraint of kind %s", kind)
		c.flags = nil
	}
	d.unread(c, "--constraint ", "")
}

// guideData sets the lengths, and returns the mean number of turns of a conversation.
func guideData(a *args, d *draft) (turns float64) {
	sets := a.each("data")
	if len(sets) == 0 {
		d.bad("the command has no --data", `add --data "prompt_tokens=256,output_tokens=128"`)
		return 1
	}
	data := sets[0]
	if len(sets) > 1 {
		d.say("not imported: every --data after the first")
	}
	if !data.has("prompt-tokens") {
		guideFile(a, data, d)
		return 1
	}
	tokens := func(name string) length {
		mean, std := data.number(0, name), data.number(0, name+"-stdev")
		low, high := data.whole(0, name+"-min"), data.whole(0, name+"-max")
		switch {
		case std > 0: // guidellm clips at five standard deviations
			low, high = max(low, int(mean-5*std), 1), cmp.Or(high, int(mean+5*std))
		case low > 0 || high > 0:
			return uniform(cmp.Or(low, int(mean)), cmp.Or(high, int(mean)))
		}
		return normal(mean, std, low, high)
	}
	limited := data.has("output-tokens")
	d.stop(limited) // guidellm sets ignore_eos with an output size
	prompt, response := tokens("prompt-tokens"), tokens("output-tokens")
	if !limited {
		response = d.unlimitedOutput()
	}
	first := prompt
	if data.has("first-prompt-tokens") {
		first = tokens("first-prompt-tokens")
	}
	d.shape(first, response, data.whole(0, "prefix-tokens", "prefix-buckets.0.prefix-tokens"),
		data.whole(1, "prefix-count", "prefix-buckets.0.prefix-count"))
	turns = data.number(1, "turns")
	if turns > 1 {
		d.session(turns, 0, prompt, data.number(0, "delay"))
	}
	d.unread(data, "--data ", "kind type source samples prefix-buckets.0.bucket-weight")
	return turns
}

// session makes each arrival a conversation, whose later turns add user tokens after a pause.
func (d *draft) session(turns, std float64, user length, pause float64) {
	session := table{{"turns", normal(turns, std, 0, 0).value()}, {"user", user.value()}}
	session.time("think", pause)
	d.row.set("session", session)
}

func guideFile(a, data *args, d *draft) {
	file := cmp.Or(data.text("path"), data.text("source"), a.text("data"))
	switch kind := data.text("kind"); {
	case kind == "trace_synthetic" || kind == "mooncake":
		d.row.set("trace", table{{"file", file}, {"format", "mooncake"}})
		d.unread(data, "--data ", "")
		return
	case kind == "huggingface" || kind == "" && path.Ext(file) == "":
		d.prompts(fileName(strings.ReplaceAll(file, "/", "-"))+".jsonl", 0, unlimited,
			"write the data set "+file+` to it, one line {"prompt": "…"} for each prompt`)
	default:
		d.prompts(file, 0, unlimited, `one JSON object a line, as {"prompt": "…"}; other columns are not read`)
	}
	d.unread(data, "--data ", "load-kwargs.")
	d.say("the command limits no output: output = %d, ended by the model", unlimited)
}

func guideProfile(a *args, d *draft, l load, turns float64) {
	profile := a.sub("profile")
	for _, g := range a.find("override") {
		if name, found := strings.CutPrefix(plain(strings.Join(g.values[:min(1, len(g.values))], "")),
			"profile."); found {
			profile.add(name, g.values[1:]...)
			continue
		}
		d.say("not imported: --override …")
	}
	kind := cmp.Or(profile.text("kind"), a.text("rate-type"))
	if text := a.text("profile"); kind == "" && !strings.ContainsAny(text, "={") {
		kind = text
	}
	kind = cmp.Or(kind, "sweep")
	values := append(a.numbers("rate"), profile.numbers("rate", "streams", "sweep-size")...)
	most := profile.numbers("max-concurrency")
	l.name = kind
	if l.seconds == 0 && l.requests == 0 {
		l.seconds = 60
		d.say("the command ends with its data: duration = 60s")
	}
	warm, cool := a.number(profile.number(0, "warmup", "warmup.value"), "warmup", "warmup-percent"),
		a.number(profile.number(0, "cooldown", "cooldown.value"), "cooldown", "cooldown-percent")
	l = transient(d, l, warm, cool)
	switch kind {
	case "synchronous":
		l.concurrency = []float64{1}
		d.add(l)
	case "concurrent":
		l.concurrency = values
		d.add(l)
	case "throughput":
		throughput(d, l, append(values, most...))
	case "constant", "async", "poisson":
		if len(values) == 0 {
			d.bad("the profile "+kind+" has no rate", "add --rate 10")
		}
		d.conversations(values, turns)
		l.rate, l.concurrency, l.arrival = values, most, "constant"
		if kind == "poisson" {
			l.arrival = kind
		}
		d.add(l)
	case "sweep":
		guideSweep(d, l, values, most)
	case "replay":
		l.arrival = "trace"
		if scale := profile.number(1, "time-scale"); scale != 1 && scale > 0 {
			d.row.setIn("trace", "speed", 1/scale)
		}
		d.add(l)
	default:
		d.bad("the profile "+kind+" has no counterpart", "import the command with --profile sweep, constant, "+
			"poisson, concurrent, synchronous or throughput")
	}
	d.unread(profile, "--profile ", "random-seed warmup.mode cooldown.mode")
	a.problems = append(a.problems, profile.problems...)
}

// conversations makes rates of requests, which the tool counts by conversation, those of bench.
func (d *draft) conversations(rates []float64, turns float64) {
	for i := range rates {
		rates[i] /= turns
	}
	if turns > 1 {
		d.say("rate counts conversations, each of %g requests", turns)
	}
}

// throughput is as many requests at once as allowed.
func throughput(d *draft, l load, most []float64) {
	if len(most) > 0 {
		l.concurrency = most[len(most)-1:]
	} else if l.requests == 0 {
		l.concurrency = []float64{streams}
		d.say("throughput without a number of requests: a closed loop of %d workers", streams)
	}
	d.unpaced(l)
}

// guideSweep writes three rows: one user, the maximum, and a search in place of the rates between.
func guideSweep(d *draft, l load, size, most []float64) {
	one, all := l, l
	one.name, one.concurrency = "synchronous", []float64{1}
	d.add(one)
	all.name = "throughput"
	throughput(d, all, append([]float64{streams}, most...))
	steps := slices.Concat(size, []float64{10})[0]
	d.say("sweep: in place of %g rates between one user and the maximum, bench searches the highest rate that the "+
		"server sustains; with [slo] write search = \"slo\"", math.Max(steps-2, 1))
	d.add(load{name: "sweep", search: saturation(math.Max(steps-2, 1) * l.seconds), warmup: l.warmup})
}

// saturation searches the highest rate that the server sustains, in the time that the tool's own steps take; 0: any.
func saturation(seconds float64) table {
	search := table{{"search", "saturation"}}
	search.time("budget", seconds)
	return search
}

// transient takes the warm-up and the cool-down, shares or amounts, off a load that contains them.
func transient(d *draft, l load, warm, cool float64) load {
	total := l.seconds
	if total == 0 {
		total = float64(l.requests)
	}
	part := func(x float64) float64 {
		if x < 1 {
			x *= total
		}
		return x
	}
	before, after := part(warm), part(cool)
	if before+after <= 0 || before+after >= total {
		return l
	}
	d.say("warm-up and cool-down are outside of the window in bench: it is as much shorter")
	var warmup any = span(before)
	if l.seconds > 0 {
		l.seconds = total - before - after
	} else {
		l.requests, warmup = int(math.Round(total-before-after)), int(math.Round(before))
	}
	if before > 0 {
		l.warmup = warmup
	}
	return l
}
