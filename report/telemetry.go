package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

// known is a figure that can be missing, in a unit of the heading.
func known(x *float64, scale float64) Cell {
	return optional(x, func(x float64) string { return unit.Digits(x * scale) })
}

// level is the mean of a gauge over the window, in a unit of the heading, with the maximum in the tooltip.
func level(g *record.Gauge, scale float64) Cell {
	if g == nil {
		return Absent()
	}
	c := Cell{Text: unit.Digits(g.Mean * scale), Title: "maximum " + unit.Digits(g.Max*scale)}
	if g.Covered != nil {
		c.Title += ", over " + unit.Format(*g.Covered, "share") + " of the window"
	}
	return c
}

const percent = 100

func serverTable(r *Run) Table {
	t := newTable("server", "Server metrics", "row", "running #", "waiting #", "KV cache in use|% #",
		"preemptions #", "prefix-cache hit rate|% #", "draft tokens accepted|% #", "acceptance length #", "source")
	t.Note = "Means over the window; tooltips: maxima."
	add := func(name string, m *telemetry.ServerUsage) {
		source := TextCell(strings.TrimPrefix(m.Engine+", ", ", ") + m.Source)
		if m.Missing != "" {
			source = Cell{Text: m.Missing, Kind: Faint}
		}
		t.Add(TextCell(name), level(m.Running, 1), level(m.Waiting, 1), level(m.KVUsage, percent),
			known(m.Preemptions, 1), known(m.PrefixHitRate, percent), known(m.AcceptanceRate, percent),
			known(m.AcceptanceLength, 1), source)
	}
	for _, row := range r.Live() {
		m := row.Server.Metrics
		if m == nil {
			continue
		}
		add(row.ID, m)
		for _, part := range m.Roles {
			add(row.ID+", "+cmp.Or(part.Role, "replica"), part.Usage)
		}
	}
	return t
}

func gpuTable(r *Run) Table {
	t := newTable("gpus", "GPU metrics", "row", "GPU", "memory active|% #", "tensor cores active|% #",
		"SMs active|% #", "busy|% #", "power|W #", "energy|J #", "SM clock|MHz #", "memory used|MiB #", "throttled by")
	t.Note = "Means over the window; tooltips: maxima."
	for _, row := range r.Live() {
		if row.GPU == nil {
			continue
		}
		for _, d := range row.GPU.Devices {
			t.Add(TextCell(row.ID), TextCell(strings.TrimSpace(d.GPU+" "+d.Name)), level(d.DRAMActive, percent),
				level(d.TensorActive, percent), level(d.SMActive, percent), level(d.Busy, percent), level(d.PowerW, 1),
				known(d.EnergyJ, 1), level(d.SMClock, 1), level(d.UsedMiB, 1), throttled(&d))
		}
	}
	return t
}

func throttled(d *record.GPUDevice) Cell {
	if !d.Known {
		return Cell{Text: "not collected", Kind: Faint}
	}
	shares := make([]string, 0, len(d.Throttled))
	for _, why := range slices.Sorted(maps.Keys(d.Throttled)) {
		shares = append(shares, why+" "+unit.Format(d.Throttled[why], "share"))
	}
	return TextCell(cmp.Or(strings.Join(shares, ", "), "nothing"))
}

func busyCell(u *telemetry.Usage) Cell {
	if u == nil {
		return Absent()
	}
	c := known(u.MachineBusy, percent)
	if u.CPUMean != nil {
		c.Title = unit.Digits(*u.CPUMean) + " cores by the client"
	}
	return c
}

func clientTable(r *Run) Table {
	t := newTable("client", "Client", "row", "lag p99|ms # ?lag", "read lag|ms # ?lag", "machine busy|% #",
		"run-queue wait p99|ms #", "connections opened #", "timestamps")
	for _, row := range r.Live() {
		if len(row.Workers) > 0 {
			continue
		}
		u := cmp.Or(row.Client, &telemetry.Usage{})
		opened := count(row.Connections.During)
		opened.Title = unit.Count(row.Connections.Ahead) + " before the window"
		t.Add(TextCell(row.ID), msCell(record.PercentilesOf(row.Summary.Lag), "p99"),
			TextCell(unit.Digits(row.Clock.ReadLagMeanMs)), busyCell(u), known(u.SchedP99, 1), opened,
			TextCell(cmp.Or(row.Clock.Stamps, "not reported")))
	}
	return t
}

func workersTable(r *Run) Table {
	t := newTable("workers", "Load workers", "row", "worker", "requests #", "concurrency #", "max in flight #",
		"lag p99|ms # ?lag", "TTFT p50 from send|ms #", "machine busy|% #", "connections opened #", "start skew|ms #")
	for _, row := range r.Live() {
		for _, w := range row.Workers {
			concurrency, skew := Absent(), "±"+unit.Digits(float64(w.StartSkewUs)/record.UsPerMs)
			if w.Concurrency > 0 {
				concurrency = count(w.Concurrency)
			}
			if w.StartLateUs > 0 {
				skew += fmt.Sprintf(", %s late", unit.Digits(float64(w.StartLateUs)/record.UsPerMs))
			}
			t.Add(TextCell(row.ID), TextCell(fmt.Sprintf("%d %s", w.Worker, w.Host)), count(w.Sent), concurrency,
				count(w.MaxInFlight), known(w.LagP99, 1), known(w.TTFTP50, 1), busyCell(w.Client),
				count(w.Connections.During), TextCell(skew))
		}
	}
	return t
}

// loadWorkers is how many load workers sent the rows; empty: bench sweep itself sent them all.
func loadWorkers(r *Run) string {
	if load := record.LoadWorkers(r.Live()); load != "none" {
		return load
	}
	return ""
}

// ttftPartsTable has the rows that shows picks (nil: all), of those whose server reports its own times.
func ttftPartsTable(r *Run, shows func(*record.TTFTSplit) bool) Table {
	t := newTable("ttft-parts", "TTFT by part", "row", "n #", "TTFT from send|ms # ?ttftparts")
	t.Note = "Means over the same requests. Network: time outside of the server. Histograms include the warm-up."
	var names []string
	rows := r.Live()
	for _, row := range rows {
		for _, p := range cmp.Or(row.TTFTSplit, &record.TTFTSplit{}).Parts() {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
				t.addColumns(p.Name + "|ms # ?ttftparts")
			}
		}
	}
	t.addColumns("by")
	for _, row := range rows {
		s := row.TTFTSplit
		if s == nil || shows != nil && !shows(s) {
			continue
		}
		parts, source := slices.Repeat([]Cell{Absent()}, len(names)), TextCell("each answer")
		for _, p := range s.Parts() {
			parts[slices.Index(names, p.Name)] = Cell{Text: unit.Digits(p.Ms), Title: share(p.Ms / s.Total)}
		}
		switch {
		case s.Missing != "":
			source = Cell{Text: s.Missing, Kind: Faint}
		case s.Source == record.SplitOfHistograms:
			source.Text = "histograms"
		}
		t.Add(slices.Concat([]Cell{TextCell(row.ID), count(s.Requests), TextCell(unit.Digits(s.Total))}, parts,
			[]Cell{source})...)
	}
	return t
}

func notPrefill(s *record.TTFTSplit) bool {
	parts := s.Parts()
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p record.Part) bool {
		return p.Name == "prefill" && p.Ms >= s.Total/2
	})
}
