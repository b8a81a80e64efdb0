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

// known is a figure that can be missing.
func known(x *float64, u string) Cell {
	return optional(x, func(x float64) string { return unit.Format(x, u) })
}

// level is a gauge over the window: its mean, with its maximum as the tag.
func level(g *record.Gauge, u string) Cell {
	if g == nil {
		return Absent()
	}
	return Cell{Text: unit.Format(g.Mean, u), Tag: "max " + unit.Format(g.Max, u)}
}

// serverTable is the server's own metrics of each row.
func (r *Run) serverTable() Table {
	t := Table{ID: "server", Caption: "Server metrics", Note: "Means over the window, with the maximum.", Columns: []Column{
		{Head: "row"}, {Head: "running", Num: true}, {Head: "waiting", Num: true}, {Head: "KV cache in use", Num: true},
		{Head: "preemptions", Num: true}, {Head: "prefix-cache hit rate", Num: true}, {Head: "draft tokens accepted", Num: true}, {Head: "tokens per step", Num: true}, {Head: "source"},
	}}
	for _, row := range r.Live() {
		m := row.Server.Metrics
		if m == nil {
			continue
		}
		source := TextCell(strings.TrimPrefix(m.Engine+", ", ", ") + m.Source)
		if m.Missing != "" {
			source = Cell{Text: m.Missing, Kind: Faint}
		}
		t.Rows = append(t.Rows, []Cell{TextCell(row.ID), level(m.Running, ""), level(m.Waiting, ""), level(m.KVUsage, "share"), known(m.Preemptions, ""),
			known(m.PrefixHitRate, "share"), known(m.AcceptanceRate, "share"), known(m.AcceptanceLength, ""), source})
	}
	return t
}

// gpuTable is the metrics of each GPU.
func (r *Run) gpuTable() Table {
	t := Table{ID: "gpus", Caption: "GPU metrics", Note: "Means over the window, with the maximum.", Columns: []Column{
		{Head: "row"}, {Head: "GPU"}, {Head: "memory active", Num: true}, {Head: "tensor cores active", Num: true}, {Head: "SMs active", Num: true}, {Head: "busy", Num: true},
		{Head: "power", Num: true}, {Head: "energy", Num: true}, {Head: "SM clock", Num: true}, {Head: "memory used", Num: true}, {Head: "throttled by"},
	}}
	for _, row := range r.Live() {
		if row.GPU == nil {
			continue
		}
		for _, d := range row.GPU.Devices {
			t.Rows = append(t.Rows, []Cell{TextCell(row.ID), TextCell(strings.TrimSpace(d.GPU + " " + d.Name)), level(d.DRAMActive, "share"), level(d.TensorActive, "share"),
				level(d.SMActive, "share"), level(d.Busy, "share"), level(d.PowerW, "W"), known(d.EnergyJ, "J"), level(d.SMClock, "MHz"), level(d.UsedMiB, "MiB"), throttled(&d)})
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

// clientTable is the load of the measuring machine.
func (r *Run) clientTable() Table {
	t := Table{ID: "client", Caption: "Client", Note: "Latencies contain client lag; a row with too much of it has a finding.", Columns: []Column{
		{Head: "row"}, {Head: "lag p50", Num: true, Help: "lag"}, {Head: "lag p99", Num: true, Help: "lag"}, {Head: "read lag", Num: true, Help: "lag"}, {Head: "cores used", Num: true},
		{Head: "machine busy", Num: true}, {Head: "run-queue wait p99", Num: true}, {Head: "GC pauses", Num: true}, {Head: "open files", Num: true}, {Head: "retransmits", Num: true},
		{Head: "connections", Num: true}, {Head: "timestamps"},
	}}
	for _, row := range r.Live() {
		cells := []Cell{TextCell(row.ID), lagCell(&row, "p50"), lagCell(&row, "p99"), TextCell(unit.Format(row.Clock.ReadLagMeanMs, "ms"))}
		u := cmp.Or(row.Client, &telemetry.Usage{})
		pauses := Absent()
		if row.Client != nil {
			pauses = Cell{Text: unit.Format(u.GCPauses, "ms"), Tag: unit.Plural(u.GCs, "pause")}
		}
		cells = append(cells, known(u.CPUMean, ""), known(u.MachineBusy, "share"), known(u.SchedP99, "ms"), pauses, optional(u.Files, unit.Count),
			optional(u.Retransmits, func(n int64) string { return unit.Count(int(n)) }))
		opened := row.Connections
		t.Rows = append(t.Rows, append(cells, TextCell(fmt.Sprintf("%s before, %s during", unit.Count(opened.Ahead), unit.Count(opened.During))),
			TextCell(cmp.Or(row.Clock.Stamps, "not reported"))))
	}
	return t
}

func lagCell(row *record.Row, percentile string) Cell {
	return InCell.Percentile(record.PercentilesOf(row.Summary.Lag), percentile)
}
