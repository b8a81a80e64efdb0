package peers

import (
	"math"
	"path"
	"strings"
)

// streams is guidellm's own limit of requests in flight.
const streams = 512

// fromGuideLLM reads the flags of both generations: --target, --rate-type, --data until v0.6, then --backend, --profile
// and --constraint with key=value lists.
func fromGuideLLM(a *args, d *draft) {
	backend := a.sub("backend", "backend-kwargs", "backend-args")
	d.address(or(a.text("target"), backend.text("target")), "", "", "8000")
	d.model(a.text("model"), backend.text("model"))
	d.setAPI(or(a.text("request-format", "request-type"), backend.text("request-format"), "chat"))
	d.key(backend, "api-key")
	if timeout := backend.number(0, "timeout"); timeout > 0 {
		d.target.set("timeout", span(timeout))
	}
	d.seed(a, "random-seed")
	d.seed(a.sub("seed"), "value")

	l := load{}
	for _, c := range append(a.each("constraint"), a) {
		d.guideLimit(&l, c, c == a)
	}
	turns := d.guideData(a)
	d.fields(backend.under("extras.body", "_")) // after the data, which set ignore_eos
	for name, value := range backend.under("extras.headers", "-") {
		d.header(name + ": " + scalar(value))
	}
	for name, value := range backend.under("headers", "-") {
		d.header(name + ": " + scalar(value))
	}
	d.guideProfile(a, l, turns)
	backend.ignore("kind type verify http2 follow-redirects validate-backend timeout-connect")
	d.unread(backend, "--backend ")
	a.ignore(`backend-type processor processor-args tokenizer output outputs output-path output-dir output-extras
		display-scheduler-stats disable-progress disable-console disable-console-outputs disable-console-interactive
		sample-requests data-samples data-sampler data-args data-num-workers data-loader data-column-mapper
		data-finalizer data-preprocessor metrics label random-seed seed`)
}

// or is the first text that is not empty.
func or(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func (d *draft) guideLimit(l *load, c *args, legacy bool) {
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
	d.unread(c, "--constraint ")
}

// guideData sets the lengths, and returns the mean number of turns of a conversation.
func (d *draft) guideData(a *args) (turns float64) {
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
		d.guideFile(a, data)
		return 1
	}
	tokens := func(name string) length {
		mean, std := data.number(0, name), data.number(0, name+"-stdev")
		low, high := data.whole(0, name+"-min"), data.whole(0, name+"-max")
		switch {
		case std > 0: // guidellm clips at five standard deviations
			low, high = max(low, int(mean-5*std), 1), or0(high, int(mean+5*std))
		case low > 0 || high > 0:
			return uniform(or0(low, int(mean)), or0(high, int(mean)))
		}
		return normal(mean, std, low, high)
	}
	output := unlimited
	if data.has("output-tokens") {
		d.stop(true) // guidellm sets ignore_eos with an output size
		output = 0
	} else {
		d.stop(false)
	}
	prompt, response := tokens("prompt-tokens"), tokens("output-tokens")
	if output > 0 {
		response = d.unlimitedOutput()
	}
	first := prompt
	if data.has("first-prompt-tokens") {
		first = tokens("first-prompt-tokens")
	}
	prefix, groups := data.whole(0, "prefix-tokens", "prefix-buckets.0.prefix-tokens"), data.whole(1, "prefix-count",
		"prefix-buckets.0.prefix-count")
	data.ignore("prefix-buckets.0.bucket-weight")
	d.shape(first, response, prefix, groups)
	turns = data.number(1, "turns")
	if turns > 1 {
		d.session(turns, 0, prompt, data.number(0, "delay"))
	}
	data.ignore("kind type source samples")
	d.unread(data, "--data ")
	return turns
}

func or0(n, other int) int {
	if n != 0 {
		return n
	}
	return other
}

// session makes each arrival a conversation, whose later turns add user tokens after a pause.
func (d *draft) session(turns, std float64, user length, pause float64) {
	session := table{{"turns", normal(turns, std, 0, 0).value()}, {"user", user.value()}}
	if pause > 0 {
		session.set("think", span(pause))
	}
	d.row.set("session", session)
}

func (d *draft) guideFile(a, data *args) {
	file := or(data.text("path"), data.text("source"), a.text("data"))
	switch kind := data.text("kind"); {
	case kind == "trace_synthetic" || kind == "mooncake":
		d.replay(table{{"file", file}, {"format", "mooncake"}})
		d.unread(data, "--data ")
		return
	case kind == "huggingface" || kind == "" && path.Ext(file) == "":
		d.prompts(fileName(strings.ReplaceAll(file, "/", "-"))+".jsonl", 0, unlimited,
			"write the data set "+file+` to it, one line {"prompt": "…"} for each prompt`)
	default:
		d.prompts(file, 0, unlimited, `one JSON object a line, as {"prompt": "…"}; other columns are not read`)
	}
	data.ignore("load-kwargs.")
	d.unread(data, "--data ")
	d.say("the command limits no output: output = %d, ended by the model", unlimited)
}

func (d *draft) guideProfile(a *args, l load, turns float64) {
	profile := a.sub("profile")
	for _, g := range a.find("override") {
		if name, found := strings.CutPrefix(plain(strings.Join(g.values[:min(1, len(g.values))], "")),
			"profile."); found {
			profile.add(name, g.values[1:]...)
			continue
		}
		d.say("not imported: --override …")
	}
	kind := or(profile.text("kind"), a.text("rate-type"))
	if text := a.text("profile"); kind == "" && !strings.ContainsAny(text, "={") {
		kind = text
	}
	kind = or(kind, "sweep")
	values := append(a.numbers("rate"), profile.numbers("rate", "streams", "sweep-size")...)
	most := profile.numbers("max-concurrency")
	l.name = kind
	if l.seconds == 0 && l.requests == 0 {
		l.seconds = 60
		d.say("the command ends with its data: duration = 60s")
	}
	warm, cool := a.number(profile.number(0, "warmup", "warmup.value"), "warmup", "warmup-percent"),
		a.number(profile.number(0, "cooldown", "cooldown.value"), "cooldown", "cooldown-percent")
	l = d.transient(l, warm, cool)
	switch kind {
	case "synchronous":
		l.concurrency = []float64{1}
		d.add(l)
	case "concurrent":
		l.concurrency = values
		d.add(l)
	case "throughput":
		d.throughput(l, append(values, most...))
	case "constant", "async", "poisson":
		d.guideRates(l, kind, values, most, turns)
	case "sweep":
		d.guideSweep(l, values, most)
	case "replay":
		l.arrival = "trace"
		if scale := profile.number(1, "time-scale"); scale != 1 && scale > 0 {
			trace, _ := d.row.get("trace").(table)
			trace.set("speed", 1/scale)
			d.row.set("trace", trace)
		}
		d.add(l)
	default:
		d.bad("the profile "+kind+" has no counterpart", "import the command with --profile sweep, constant, "+
			"poisson, concurrent, synchronous or throughput")
	}
	profile.ignore("random-seed warmup.mode cooldown.mode")
	d.unread(profile, "--profile ")
	a.problems = append(a.problems, profile.problems...)
}

func (d *draft) guideRates(l load, kind string, values, most []float64, turns float64) {
	if len(values) == 0 {
		d.bad("the profile "+kind+" has no rate", "add --rate 10")
	}
	for i := range values {
		values[i] /= turns
	}
	if turns > 1 {
		d.say("rate counts conversations, each of %g requests", turns)
	}
	l.rate, l.concurrency, l.arrival = values, most, "constant"
	if kind == "poisson" {
		l.arrival = "poisson"
	}
	d.add(l)
}

// throughput is as many requests at once as allowed.
func (d *draft) throughput(l load, most []float64) {
	if len(most) > 0 {
		l.concurrency = most[len(most)-1:]
	} else if l.requests == 0 {
		l.concurrency = []float64{streams}
		d.say("throughput without a number of requests: a closed loop of %d workers", streams)
	}
	d.unpaced(l)
}

// guideSweep writes three rows: one user, the maximum, and a search in place of the rates between.
func (d *draft) guideSweep(l load, size, most []float64) {
	one, all := l, l
	one.name, one.concurrency = "synchronous", []float64{1}
	d.add(one)
	if len(most) == 0 {
		most = []float64{streams}
	}
	all.name = "throughput"
	d.throughput(all, most)
	steps := 10.0
	if len(size) > 0 {
		steps = size[0]
	}
	d.say("sweep: in place of %g rates between one user and the maximum, bench searches the highest rate that the "+
		"server sustains; with [slo] write search = \"slo\"", math.Max(steps-2, 1))
	d.add(load{name: "sweep", search: saturation(math.Max(steps-2, 1) * l.seconds), warmup: l.warmup})
}

// saturation searches the highest rate that the server sustains, in the time that the tool's own steps take; 0: any.
func saturation(seconds float64) table {
	search := table{{"search", "saturation"}}
	if seconds > 0 {
		search.set("budget", span(seconds))
	}
	return search
}

// transient takes the warm-up and the cool-down, shares or amounts, off a load that contains them.
func (d *draft) transient(l load, warm, cool float64) load {
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
	if l.seconds > 0 {
		l.seconds = total - before - after
		if before > 0 {
			l.warmup = span(before)
		}
		return l
	}
	l.requests = int(math.Round(total - before - after))
	if before > 0 {
		l.warmup = int(math.Round(before))
	}
	return l
}
