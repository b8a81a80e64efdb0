package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/text"
	"bench/experiment/unit"
)

const stamp = "2006-01-02 15:04:05 UTC"

// metadataTable has what other tables and the head of a report lack. run.json has everything.
func metadataTable(r *Run, o *Analysis) Table {
	m, c, g := r.Manifest, r.Manifest.Client, r.Manifest.Target
	t := newTable("metadata", "Metadata", "what", "value")
	add := func(what, value string) { t.Add(TextCell(what), TextCell(cmp.Or(value, "not specified"))) }
	addKnown := func(what, value string) {
		if value != "" {
			add(what, value)
		}
	}
	add("matrix", fmt.Sprintf("%s (%s, sha256 %s)", m.Matrix, cmp.Or(m.MatrixFile, "no file"), m.MatrixHash))
	for i, a := range m.Attempts {
		if len(m.Attempts) == 1 && a.Ended == "done" { // it is the run
			continue
		}
		add(fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("%s, bench %s, %s: %s", span(a.StartedAt, a.EndedAt), a.Bench,
			cmp.Or(a.Ended, "killed"), strings.Join(a.Command, " ")))
	}
	addKnown("time", o.Time.line())
	add("seed, salt", fmt.Sprintf("%d, %s", m.Seed, m.Salt))
	add("endpoint", g.Endpoint)
	if tag := r.Tag(); tag != "" {
		add(tag, cmp.Or(g.Simulator, "simulated server not specified"))
	}
	add("api, prompt form", cmp.Or(g.API, "not specified")+", "+cmp.Or(g.PromptForm, "not known"))
	if g.Tokenizer != "" && g.PromptForm != "token_ids" {
		add("tokenizer of text prompts", g.Tokenizer)
	}
	add("connections", g.Connections)
	if g.HTTP2 {
		add("protocol", "HTTP/2: requests share connections; token timestamps are of reads")
	}
	addKnown("proxy", g.Proxy)
	vantage := g.Vantage.Place
	if rtt := g.Vantage.RTT; rtt != nil {
		vantage += fmt.Sprintf(", TCP round trip p50 %s, p99 %s ms (n=%d)", unit.Digits(rtt.P50),
			unit.Digits(rtt.P99), rtt.N)
	}
	add("vantage", vantage)
	if m.GPUHourUSD != nil {
		add("price per GPU hour", unit.Format(*m.GPUHourUSD, "usd"))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Facts)) {
		add("fact: "+key, m.Facts[key])
	}
	addKnown("extra body", asJSON(g.ExtraBody))
	addKnown("version, as reported", g.ServerVersion())
	client := "client"
	if record.ByWorkers(r.Rows) {
		client = "leader" // which sent no request
	}
	add(client, fmt.Sprintf("%s %s (commit %s, %s), %s %s, %s", cmp.Or(c.Tool, "bench"), c.Version,
		cmp.Or(c.Commit, "unknown"), c.Go, c.OS, c.Kernel, c.Host))
	add(client+" machine", fmt.Sprintf("%s, %d cores, GOMAXPROCS %d, %s GiB", cmp.Or(c.CPU, "unknown processor"),
		c.Cores, c.MaxProcs, unit.Digits(c.MemoryGiB)))
	if loadWorkers(r) != "" {
		addByRow(r, add, "load workers", (*record.Row).LoadWorkers)
	}
	addByRow(r, add, "timestamps", func(row *record.Row) string { return row.Clock.Stamps })
	addByRow(r, add, "sampling, as sent", func(row *record.Row) string { return asJSON(row.Sampling) })
	for _, n := range m.Notes {
		add("note", n)
	}
	return t
}

const maxValues = 5

// addByRow adds one line if all live rows agree, else a line for each value with its number of rows.
func addByRow(r *Run, add func(what, value string), what string, of func(*record.Row) string) {
	rows, rowsWith := r.Live(), map[string]int{}
	var values []string
	for _, row := range rows {
		v := of(&row)
		if rowsWith[v]++; rowsWith[v] == 1 {
			values = append(values, v)
		}
	}
	if len(values) == 1 {
		if values[0] != "" {
			add(what, values[0])
		}
		return
	}
	for i, v := range values {
		if i == maxValues {
			add(what+" (rows differ)", unit.Plural(len(values)-i, "more value")+": see <row>.json")
			break
		}
		add(fmt.Sprintf("%s (rows differ: %s of %s)", what, unit.Count(rowsWith[v]), unit.Count(len(rows))), v)
	}
}

// asJSON is empty of nothing.
func asJSON(v map[string]any) string {
	if len(v) == 0 {
		return ""
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // renderers escape
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func span(from, to time.Time) string {
	s := from.UTC().Format(stamp)
	if to.IsZero() {
		return s + " to (not ended)"
	}
	return fmt.Sprintf("%s to %s (%s)", s, to.UTC().Format(stamp), to.Sub(from).Round(time.Second))
}

// Names come from a file and are quoted.
func reproduceTable(r *Run) Table {
	m := r.Manifest
	t := newTable("commands", "Reproduce", "what", "command")
	t.Note = "Save the matrix below as the commands name it."
	add := func(what string, words ...string) {
		t.Add(TextCell(what), Cell{Text: text.ShellWords(words), Kind: Code})
	}
	if len(m.Command) == 0 {
		return t
	}
	add("the whole run", m.Command...)
	if loadWorkers(r) != "" {
		add("each load worker, at the URL that the run prints", "bench", "work", "--join", "URL")
	}
	file := cmp.Or(m.MatrixFile, m.Matrix+".toml")
	rows := r.Live()
	if slices.ContainsFunc(rows, func(row record.Row) bool { return row.Spec.Name != rows[0].Spec.Name }) {
		add("one row", append(slices.Clone(m.Command), "--only", rows[0].Spec.Name)...)
	}
	dir := r.Named()
	again := []string{"bench", "sweep", file}
	if hasNoFile(r) {
		again = m.Command
	}
	add("the plan, without sending", slices.Concat(again, []string{"--dry-run"}, onlyOf(m.Command))...)
	if m.State != "done" {
		add("resume an interrupted run", slices.Concat(again, []string{"--resume", dir})...)
	}
	add("this report", "bench", "report", dir)
	add("comparison with another run", "bench", "compare", dir, path.Join(outOf(m.Command), m.Matrix, "OTHER"))
	for _, s := range m.Servers {
		if len(s.Command) > 0 {
			add("server, "+cmp.Or(s.Variant, "no knobs"), s.Command...)
		}
	}
	return t
}

// Named is the directory of the run as commands name it.
func (r *Run) Named() string {
	return path.Join(outOf(r.Manifest.Command), r.Manifest.Matrix, r.Manifest.Run)
}

// ServerFlags are those of the server that bench started, or as the matrix states them; empty: unknown, or several.
func (r *Run) ServerFlags() string {
	flags := ""
	for _, s := range r.Manifest.Servers {
		i := slices.IndexFunc(s.Command, func(word string) bool { return strings.HasPrefix(word, "-") })
		if i < 0 {
			continue
		}
		if words := text.ShellWords(s.Command[i:]); flags == "" || flags == words {
			flags = words
		} else {
			return ""
		}
	}
	return cmp.Or(flags, r.Manifest.Facts["server_flags"])
}

func outOf(command []string) string {
	for i, word := range command {
		flag, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(command) {
			value = command[i+1]
		}
		switch flag {
		case "--out":
			return value
		case "--resume":
			return path.Dir(path.Dir(path.Clean(value)))
		}
	}
	return "results"
}

// onlyOf are the flags --only of a command, with their values.
func onlyOf(command []string) (words []string) {
	for i, word := range command {
		if strings.HasPrefix(word, "--only=") || i > 0 && command[i-1] == "--only" {
			words = append(words, "--only", strings.TrimPrefix(word, "--only="))
		}
	}
	return words
}

// hasNoFile reports whether bench URL ran: its matrix is one of bench's own, and a user changes it by flags.
func hasNoFile(r *Run) bool {
	m := &r.Manifest
	return m.MatrixFile == "quick.toml" && !slices.Contains(m.Command, m.MatrixFile)
}

// typeNext makes flags of bench URL of the keys of a matrix that a run without a file has no place for.
func typeNext(r *Run, a *diagnosis.Answer) {
	for _, w := range a.Workloads {
		if w.Next != nil && hasNoFile(r) {
			w.Next.Text, w.Next.TOML = asFlags(r, w.Next), ""
		}
	}
}

// asFlags: the windows of a search are its own, so more requests are a longer search.
func asFlags(r *Run, next *diagnosis.NextSweep) string {
	if i := slices.Index([]string{"duration", "requests", "budget"}, next.Variable); i >= 0 {
		for _, row := range r.Rows {
			if s := row.Spec.Search; s != nil && s.Budget > 0 {
				longer := math.Ceil(2.5 * time.Duration(s.Budget).Minutes())
				for _, f := range r.Manifest.Searches {
					longer = max(longer, math.Ceil(f.ConfirmS/60)) // what a verdict at its lower end takes
				}
				return fmt.Sprintf("a longer search: --budget %.0fm", longer)
			}
		}
	}
	keys := regexp.MustCompile(`\b(duration|requests|budget|rate|concurrency) = (?:"([^"]*)"|\[([^\]]*)\]|([0-9.]+))`)
	text := strings.ReplaceAll(next.Text, "raise budget of the search", "raise --budget")
	text = keys.ReplaceAllStringFunc(text, func(line string) string {
		m := keys.FindStringSubmatch(line)
		return "--" + m[1] + " " + strings.ReplaceAll(m[2]+m[3]+m[4], " ", "")
	})
	return strings.ReplaceAll(text, ", --", " --")
}
