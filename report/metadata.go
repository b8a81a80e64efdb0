package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/unit"
)

const stamp = "2006-01-02 15:04:05 UTC"

// metadataTable is what somebody else needs to do the run again, and what nobody stated.
func (r *Run) metadataTable() table {
	m, c, g := r.Manifest, r.Manifest.Client, r.Manifest.Target
	t := table{id: "metadata", caption: "Metadata", columns: []column{{head: "what"}, {head: "value"}}}
	add := func(what, value string) {
		if value == "" {
			value = "not stated"
		}
		t.rows = append(t.rows, []cell{text(what), text(value)})
	}
	add("run", m.Run)
	add("matrix", fmt.Sprintf("%s (%s, sha256 %s)", m.Matrix, or(m.MatrixFile, "no file"), m.MatrixHash))
	add("state", m.State)
	add("started, ended", span(m.StartedAt, m.EndedAt))
	add("command", strings.Join(m.Command, " "))
	for i, a := range m.Attempts {
		add(fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("%s, bench %s, %s: %s", span(a.StartedAt, a.EndedAt), a.Bench,
			or(a.Ended, "killed"), strings.Join(a.Command, " ")))
	}
	add("seed, salt", fmt.Sprintf("%d, %s", m.Seed, m.Salt))
	add("endpoint", g.Endpoint)
	if r.Simulated() {
		add("SIMULATED", or(g.Simulator, "what it simulates is not stated"))
	}
	add("api, prompt form", or(g.API, "not stated")+", "+or(g.PromptForm, "not stated"))
	if g.Tokenizer != "" {
		add("text prompts were sized by", g.Tokenizer)
	}
	add("connections", g.Connections)
	if g.HTTP2 {
		add("protocol", "HTTP/2: requests share connections, token times are those of the reads")
	}
	if g.Proxy != "" {
		add("proxy", g.Proxy)
	}
	add("vantage", vantage(g.Vantage))
	add("model", g.Model)
	add("hardware, GPUs, precision", fmt.Sprintf("%s, %s, %s", or(g.Hardware, "not stated"), stated(g.GPUs), or(g.Precision, "not stated")))
	if m.Priced != nil {
		add("price of a GPU hour", unit.Format(*m.Priced, "usd"))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Facts)) {
		add("fact: "+key, m.Facts[key])
	}
	if len(m.NotStated) > 0 {
		add("NOT STATED", strings.Join(m.NotStated, ", "))
	}
	addJSON(add, "extra body", g.ExtraBody, len(g.ExtraBody) > 0)
	addJSON(add, "version, as answered", g.Version, g.Version != nil)
	addJSON(add, "models, as answered", g.Models, g.Models != nil)
	addJSON(add, "server headers", g.Headers, len(g.Headers) > 0)
	for _, line := range g.BuildInfo {
		add("build info", line)
	}
	add("client", fmt.Sprintf("bench %s (commit %s, %s), %s %s, %s", c.Version, or(c.Commit, "unknown"), c.Go, c.OS, c.Kernel, c.Host))
	add("client machine", fmt.Sprintf("%s, %d cores, GOMAXPROCS %d, %s GiB", or(c.CPU, "unknown processor"), c.Cores, c.MaxProcs, unit.Digits(c.MemoryGiB)))
	if use := r.clientUse(); use != "" {
		add("client, at most in a row", use)
	}
	r.addByRow(add, "token times", func(row *record.Row) string {
		if row.Clock.Stamps == "" {
			return ""
		}
		return row.Clock.Stamps + " stamps"
	})
	r.addByRow(add, "sampling, as sent", func(row *record.Row) string {
		if len(row.Sampling) == 0 {
			return ""
		}
		return asJSON(row.Sampling)
	})
	for _, n := range m.Notes {
		add("note", n)
	}
	return t
}

// clientUse is the most that a row's window asked of the client; empty = no row was sampled. Rows differ in
// it by nature, and each has its own in its file.
func (r *Run) clientUse() string {
	var cores, sched, files, pause float64
	pauses := 0
	for _, row := range r.Live() {
		u := row.Client
		if u == nil {
			continue
		}
		raise(&cores, u.CPUMean)
		raise(&sched, u.SchedP99)
		if u.Files != nil {
			files = max(files, float64(*u.Files))
		}
		if u.GCPauses >= pause {
			pause, pauses = u.GCPauses, u.GCs
		}
	}
	var said []string
	say := func(known float64, text string) {
		if known > 0 {
			said = append(said, text)
		}
	}
	say(cores, unit.Digits(cores)+" cores")
	say(sched, "sched p99 "+unit.Format(sched, "ms"))
	say(float64(pauses), fmt.Sprintf("GC %s in %s", unit.Format(pause, "ms"), plural(pauses, "pause", "pauses")))
	say(files, plural(int(files), "fd", "fds"))
	return strings.Join(said, ", ")
}

func raise(most, x *float64) {
	if x != nil {
		*most = max(*most, *x)
	}
}

// differing is how many values of one thing the metadata list where rows differ.
const differing = 5

// addByRow adds what each row says for itself: one line where all say the same, else one for each
// value with the number of rows that say it. Removed rows have no say.
func (r *Run) addByRow(add func(what, value string), what string, of func(*record.Row) string) {
	rows := r.Live()
	said := map[string]int{}
	var values []string
	for i := range rows {
		v := of(&rows[i])
		if said[v]++; said[v] == 1 {
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
		if i == differing {
			add(what+" (rows differ)", plural(len(values)-i, "further value", "further values")+": see the rows' files")
			break
		}
		add(fmt.Sprintf("%s (rows differ: %s of %s)", what, unit.Count(said[v]), unit.Count(len(rows))), v)
	}
}

func addJSON(add func(what, value string), what string, v any, has bool) {
	if has {
		add(what, asJSON(v))
	}
}

func asJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the renderers escape, each in its way
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func stated(n int) string {
	if n == 0 {
		return "not stated"
	}
	return plural(n, "GPU", "GPUs")
}

func span(from, to time.Time) string {
	s := from.UTC().Format(stamp)
	if to.IsZero() {
		return s + " to (not ended)"
	}
	return fmt.Sprintf("%s to %s (%s)", s, to.UTC().Format(stamp), to.Sub(from).Round(time.Second))
}

// vantage is where the client stood, in a line.
func vantage(v record.Vantage) string {
	if v.RTT == nil {
		return v.Place
	}
	return fmt.Sprintf("%s, TCP round trip p50 %s, p99 %s ms (n=%d)", v.Place, unit.Digits(v.RTT.P50), unit.Digits(v.RTT.P99), v.RTT.N)
}
