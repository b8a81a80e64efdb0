package report

import (
	"cmp"
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

// metadataTable has what other tables and the head of a report lack. run.json has everything.
func (r *Run) metadataTable(o *Analysis) Table {
	m, c, g := r.Manifest, r.Manifest.Client, r.Manifest.Target
	t := newTable("metadata", "Metadata", "what", "value")
	add := func(what, value string) {
		if value == "" {
			value = "not specified"
		}
		t.Rows = append(t.Rows, []Cell{TextCell(what), TextCell(value)})
	}
	add("matrix", fmt.Sprintf("%s (%s, sha256 %s)", m.Matrix, cmp.Or(m.MatrixFile, "no file"), m.MatrixHash))
	for i, a := range m.Attempts {
		if len(m.Attempts) == 1 && a.Ended == "done" { // it is the run
			continue
		}
		add(fmt.Sprintf("attempt %d", i+1), fmt.Sprintf("%s, bench %s, %s: %s", span(a.StartedAt, a.EndedAt), a.Bench,
			cmp.Or(a.Ended, "killed"), strings.Join(a.Command, " ")))
	}
	if line := o.Time.Line(); line != "" {
		add("time", line)
	}
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
	if g.Proxy != "" {
		add("proxy", g.Proxy)
	}
	add("vantage", vantage(g.Vantage))
	if m.GPUHourUSD != nil {
		add("price per GPU hour", unit.Format(*m.GPUHourUSD, "usd"))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Facts)) {
		add("fact: "+key, m.Facts[key])
	}
	if len(g.ExtraBody) > 0 {
		add("extra body", asJSON(g.ExtraBody))
	}
	if v := g.ServerVersion(); v != "" {
		add("version, as reported", v)
	}
	client := "client"
	if record.ByWorkers(r.Rows) {
		client = "leader" // which sent no request
	}
	add(client, fmt.Sprintf("%s %s (commit %s, %s), %s %s, %s", cmp.Or(c.Tool, "bench"), c.Version,
		cmp.Or(c.Commit, "unknown"), c.Go, c.OS, c.Kernel, c.Host))
	add(client+" machine", fmt.Sprintf("%s, %d cores, GOMAXPROCS %d, %s GiB", cmp.Or(c.CPU, "unknown processor"),
		c.Cores, c.MaxProcs, unit.Digits(c.MemoryGiB)))
	if r.loadWorkers() != "" {
		r.addByRow(add, "load workers", (*record.Row).LoadWorkers)
	}
	r.addByRow(add, "timestamps", func(row *record.Row) string {
		return row.Clock.Stamps
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

const maxValues = 5

// addByRow adds one line if all live rows agree, else a line for each value with its number of rows.
func (r *Run) addByRow(add func(what, value string), what string, of func(*record.Row) string) {
	rows := r.Live()
	rowsWith := map[string]int{}
	var values []string
	for i := range rows {
		v := of(&rows[i])
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

func asJSON(v any) string {
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

func vantage(v record.Vantage) string {
	if v.RTT == nil {
		return v.Place
	}
	return fmt.Sprintf("%s, TCP round trip p50 %s, p99 %s ms (n=%d)", v.Place, unit.Digits(v.RTT.P50),
		unit.Digits(v.RTT.P99), v.RTT.N)
}
