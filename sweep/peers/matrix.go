package peers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/text"
)

// draft is a matrix in the making.
type draft struct {
	tool      string
	variables map[string]string // that the command sets: OPENAI_API_BASE=…

	top, target, server, body, headers, each table

	name string  // of the rows
	row  table   // keys of every row
	mix  []table // classes of every row
	rows []table // name and load of each row
	note []string
	err  []string
}

func (d *draft) say(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); !slices.Contains(d.note, text) {
		d.note = append(d.note, text)
	}
}

func (d *draft) bad(problem, hint string) { d.err = append(d.err, problem+"\nhint: "+hint) }

// finish names the flags that were not read, and writes the matrix.
func (d *draft) finish(a *args) (*Matrix, error) {
	if errs := append(d.err, a.problems...); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %s", d.tool, strings.Join(errs, "\nerror: "))
	}
	lead := "--"
	if d.tool == inferencePerf {
		lead = ""
	}
	d.unread(a, lead, "")
	if d.body.get("temperature") == nil && !strings.HasPrefix(d.tool, "vllm") && !strings.HasPrefix(d.tool, "sglang") {
		d.say("temperature: bench sends 0, this tool leaves it to the server; write temperature in [target.extra_body]")
	}
	if each := without(d.each, "ttft", "ttfo", "tpot"); d.row.get("stream") == false && len(each) < len(d.each) {
		d.each = each
		d.say("limits of TTFT and TPOT are left out: they need stream = true")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Made from a command of %s. bench sweep FILE --dry-run prints its points and sends nothing.\n",
		d.tool)
	for _, s := range d.note {
		b.WriteString("# - " + text.Escape(s) + "\n")
	}
	d.tables(&b)
	return &Matrix{b.String(), d.note}, nil
}

// unread names the flags that no one read, but for those to ignore.
func (d *draft) unread(a *args, lead, ignored string) {
	a.ignore(ignored)
	for _, text := range a.unused(lead) {
		d.say("not imported: %s", text)
	}
}

func (d *draft) tables(b *strings.Builder) {
	top := table{{"name", "from-" + strings.NewReplacer(" ", "-", ".", "-", "_", "-").Replace(d.tool)}}
	append(top, d.top...).lines(b)
	for _, t := range []entry{{"target", d.target}, {"target.extra_body", d.body}, {"target.headers", d.headers},
		{"server", d.server}, {"slo.each", d.each}} {
		if keys := t.value.(table); len(keys) > 0 {
			b.WriteString("\n[" + t.key + "]\n")
			keys.lines(b)
		}
	}
	for _, row := range d.rows {
		b.WriteString("\n[[row]]\n")
		append(slices.Clone(row), d.row...).lines(b)
		for _, class := range d.mix {
			b.WriteString("[[row.mix]]\n")
			class.lines(b)
		}
	}
}

// address writes the endpoint; base is a whole URL, else host and port make it.
func (d *draft) address(base, host, port, defaultPort string) {
	if base == "" {
		if host == "" || host == "0.0.0.0" {
			host = "127.0.0.1"
		}
		if _, after, found := strings.Cut(host, "://"); !found || !strings.Contains(after, ":") {
			host += ":" + cmp.Or(port, defaultPort)
		}
		base = host
	}
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	isHTTP := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	if !isHTTP || strings.ContainsAny(base, "$<{") {
		d.say("the command's address is no URL: write endpoint in [target]")
		d.target.set("endpoint", "http://127.0.0.1:8000")
		return
	}
	if u.User != nil || u.RawQuery != "" {
		d.say(hiddenAddress)
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	u.Path, u.RawPath = apiBase(u.Path), ""
	d.target.set("endpoint", u.String())
}

// apiBase is the path of the API that a tool's address means: bench adds /v1 to an address without a path alone.
func apiBase(path string) string {
	for _, call := range []string{"/", "/chat/completions", "/completions", "/responses", "/messages", "/", "/v1"} {
		path = strings.TrimSuffix(path, call)
	}
	if path != "" {
		path += "/v1"
	}
	return path
}

// call names the path of a call that bench does not send.
func (d *draft) call(path string) {
	path, _, _ = strings.Cut(path, "?") // what follows may be secret
	for _, own := range []string{"", "v1/completions", "v1/chat/completions", "v1/responses", "v1/messages"} {
		if strings.Trim(path, "/") == own {
			return
		}
	}
	d.say("bench calls the API's own path in place of %s", path)
}

func (d *draft) model(names ...string) {
	for _, name := range names {
		switch {
		case strings.ContainsAny(name, "$<"):
			d.say("the model's name is a placeholder: bench takes the model that the server lists")
			return
		case name != "":
			d.target.set("model", name)
			return
		}
	}
}

// setAPI finds the API in a tool's word for its kind: a path, a backend, a type of endpoint.
func (d *draft) setAPI(kind string) {
	lower := strings.ToLower(kind)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(lower, part) })
	}
	switch {
	case has("embed", "rerank", "rank", "pooling", "audio", "transcription", "translation", "retrieval"):
		d.bad(fmt.Sprintf("%s writes no tokens, and bench measures APIs that do", kind),
			"keep "+d.tool+" for embeddings, rerank and audio")
	case has("messages", "anthropic"):
		d.target.set("api", "messages")
	case has("responses"):
		d.target.set("api", "responses")
	case has("chat"):
		d.target.set("api", "chat")
	default:
		d.target.set("api", "completions")
		if kind != "" && !has("completion", "openai", "vllm", "oai", "lmdeploy") {
			d.say("bench uses the server's OpenAI API, completions, in place of %s", kind)
		}
	}
}

// sampling moves the flags of sampling parameters to the body.
func (d *draft) sampling(a *args, names ...string) {
	for _, name := range names {
		if a.has(name) {
			d.body.set(strings.ReplaceAll(name, "-", "_"), a.number(0, name))
		}
	}
}

// fields adds fields of the request's body. ignore_eos is the row's stop.
func (d *draft) fields(fields map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[key]; {
		case v == nil || key == "stream" || key == "model":
		case key == "ignore_eos":
			d.stop(fmt.Sprint(v) == "true")
		case holdsSecret(key, v):
			d.say("the field %s of the body may be secret: it is not in the matrix", key)
		default:
			d.body.set(key, v)
		}
	}
}

func (d *draft) stop(ignoreEOS bool) {
	d.row.set("stop", map[bool]string{true: "forced", false: "natural"}[ignoreEOS])
}

var harmlessHeader = text.Lazy(`(?i)^(accept|accept-language|content-type|user-agent|x-request-[a-z-]+)$`)

// header takes "Name: value" or Name=value. Only a header that can't be a secret is in the matrix.
func (d *draft) header(texts ...string) {
	for _, text := range texts {
		at := max(strings.IndexAny(text, ":="), 0)
		name, value := strings.TrimSpace(text[:at]), strings.TrimSpace(text[min(at+1, len(text)):])
		switch {
		case !bareKey().MatchString(name):
			d.say("not imported: a header that is not Name: value")
		case harmlessHeader().MatchString(name) && !isSecret("", value):
			d.headers.set(name, value)
		default:
			d.say("the header %s may be secret: it is not in the matrix; give it by --set 'target.headers.%[1]s=\"…\"', "+
				"a key by --api-key-env VAR or --api-key-file FILE", name)
		}
	}
}

func (d *draft) headerFields(fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		d.header(name + ": " + scalar(fields[name]))
	}
}

// environment names the variables of the command that change what the tool does. Others are the shell's own.
func (d *draft) environment() {
	for _, name := range slices.Sorted(maps.Keys(d.variables)) {
		switch {
		case strings.HasSuffix(name, "_API_BASE"):
		case isSecret(name, ""):
			d.say("the variable %s is not in the matrix: export it, and bench sweep takes it by --api-key-env %[1]s",
				name)
		case toolVariable().MatchString(name):
			d.say("not imported: the variable %s", name)
		}
	}
}

var toolVariable = text.Lazy(`^(VLLM|SGLANG|GUIDELLM|AIPERF|OPENAI)_`)

func (d *draft) key(a *args, names ...string) {
	if a.has(names...) {
		d.say("the API key is not in the matrix: bench sweep takes it by --api-key-env VAR or --api-key-file FILE")
	}
}

// goodput reads limits of single requests: ttft:100, in milliseconds times unit.
func (d *draft) goodput(limits []string, unit float64) {
	for _, limit := range limits {
		name, value, _ := strings.Cut(limit, ":")
		ms, err := strconv.ParseFloat(value, 64)
		key := map[string]string{
			"ttft": "ttft", "time_to_first_token": "ttft", "tpot": "tpot", "inter_token_latency": "tpot", "e2el": "e2e",
			"request_latency": "e2e", "time_to_first_output_token": "ttfo", "ntpot": "",
		}[strings.ReplaceAll(name, "-", "_")]
		if err != nil || !(ms*unit > 0) || key == "" {
			d.say("not imported: goodput %s: [slo.each] limits ttft, ttfo, tpot and e2e", limit)
			continue
		}
		d.each.set(key, span(ms*unit/1000))
	}
}

func span(seconds float64) string {
	return Span(time.Duration(math.Min(seconds, 3e6) * float64(time.Second)).Round(time.Microsecond))
}

// Span is a duration as a matrix has it: 2m, not 2m0s.
func Span(d time.Duration) string {
	text := d.String()
	if minutes, isWhole := strings.CutSuffix(text, "m0s"); isWhole {
		return minutes + "m"
	}
	return text
}

// load is the load of one row. Zero values are left out.
type load struct {
	name        string
	rate        []float64 // +Inf: all at once
	search      table     // in place of the rate
	arrival     any
	burstiness  float64
	concurrency []float64
	warmup      any
	seconds     float64
	requests    int
}

// add writes a row for a load.
func (d *draft) add(l load) {
	row := table{{"name", fileName(l.name)}}
	set := func(key string, value any, isSet bool) {
		if isSet {
			row.set(key, value)
		}
	}
	set("rate", series(l.rate), len(l.rate) > 0)
	set("rate", l.search, l.search != nil)
	set("arrival", l.arrival, l.arrival != nil)
	set("burstiness", l.burstiness, l.burstiness != 0)
	set("concurrency", series(l.concurrency), len(l.concurrency) > 0)
	set("warmup", l.warmup, l.warmup != nil)
	row.time("duration", l.seconds)
	set("requests", min(l.requests, 5_000_000), l.requests > 0)
	d.rows = append(d.rows, row)
}

// series is a value, or the list of several.
func series(values []float64) any {
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// fileName keeps the characters that every file system takes.
func fileName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, text)
	return strings.TrimLeft(name[:min(len(name), 40)], ".")
}

// length is a number of tokens.
type length struct {
	dist      string // fixed, uniform, normal, lognormal
	mean, std float64
	low, high int // 0 = 1; 0 = none
}

func fixed(n int) length { return length{dist: "fixed", mean: float64(n)} }

func (a *args) length(fallback int, names ...string) length {
	return fixed(a.whole(fallback, names...))
}

// normal is a normal length from low on; without a standard deviation it is fixed.
func normal(mean, std float64, low, high int) length {
	if std == 0 {
		return fixed(int(math.Round(mean)))
	}
	return length{"normal", mean, std, low, high}
}

func uniform(low, high int) length {
	low, high = max(low, 1), max(high, low, 1)
	if low == high {
		return fixed(low)
	}
	return length{dist: "uniform", low: low, high: high}
}

// plus adds the tokens of a prefix, which the input of bench includes.
func (l length) plus(n int) length {
	if n == 0 {
		return l
	}
	l.low = max(l.low, 1) + n
	l.mean += float64(n)
	if l.high > 0 {
		l.high += n
	}
	return l
}

func (l length) value() any {
	if l.dist == "fixed" {
		return max(int(l.mean), 1)
	}
	t := table{{"dist", l.dist}}
	switch l.dist {
	case "normal":
		t.set("mean", l.mean)
		t.set("std", l.std)
	case "lognormal": // of the mean and standard deviation of the tokens themselves
		sigma := math.Sqrt(math.Log(1 + l.std*l.std/(l.mean*l.mean)))
		p50 := l.mean / math.Exp(sigma*sigma/2)
		t.set("p50", math.Round(10*p50)/10)
		t.set("p95", math.Round(10*p50*math.Exp(1.6448536*sigma))/10)
	}
	if l.low > 0 {
		t.set("min", l.low)
	}
	if l.high > 0 {
		t.set("max", l.high)
	}
	return t
}

// shape writes the lengths, with a prefix of so many tokens in front of the prompt.
func (d *draft) shape(input, output length, prefix, groups int) {
	d.row.set("input", input.plus(prefix).value())
	d.row.set("output", output.value())
	if prefix > 0 {
		d.row.set("prefix", table{{"tokens", prefix}, {"groups", max(groups, 1)}})
	}
}

// unlimited is the limit of output for a tool that sends none: a row needs one.
const unlimited = 1024

func (d *draft) unlimitedOutput() length {
	d.say("the command limits no output: output = %d, ended by the model", unlimited)
	return fixed(unlimited)
}

// prompts makes a file of real prompts the input. output is the most tokens of a response; 0: the tool takes it from
// the file.
func (d *draft) prompts(file string, limit, output int, how string) {
	if output <= 0 {
		d.say("%s limits each response to its recorded length; bench limits all by output", d.tool)
		output = 256
	}
	source := table{{"file", file}}
	if limit > 0 {
		source.set("limit", limit)
	}
	d.row.set("prompts", source)
	d.row.set("output", output)
	if d.row.get("stop") == nil {
		d.stop(false)
	}
	d.say("prompts come from the file %s: %s", text.ShellWord(file), how)
}
