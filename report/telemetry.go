package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
)

// known is a figure that can be missing.
func known(x *float64, u string) cell {
	if x == nil {
		return absent()
	}
	return text(unit.Format(*x, u))
}

// level is a gauge over the window: its mean, with its maximum as the tag.
func level(g *record.Gauge, u string) cell {
	if g == nil {
		return absent()
	}
	return cell{text: unit.Format(g.Mean, u), tag: "max " + unit.Format(g.Max, u)}
}

// serverTable is the server's own metrics of each row.
func (r *Run) serverTable() table {
	t := table{id: "server", caption: "Server metrics", note: "Means over the window, with the maximum.", columns: []column{
		{head: "row"}, {head: "running", num: true}, {head: "waiting", num: true}, {head: "KV cache in use", num: true},
		{head: "preemptions", num: true}, {head: "prefix-cache hit rate", num: true}, {head: "draft tokens accepted", num: true}, {head: "tokens per step", num: true}, {head: "source"},
	}}
	for _, row := range r.Live() {
		m := row.Server.Metrics
		if m == nil {
			continue
		}
		source := text(strings.TrimPrefix(m.Engine+", ", ", ") + m.Source)
		if m.Missing != "" {
			source = cell{text: m.Missing, kind: faint}
		}
		t.rows = append(t.rows, []cell{text(row.ID), level(m.Running, ""), level(m.Waiting, ""), level(m.KVUsage, "share"), known(m.Preemptions, ""),
			known(m.PrefixHitRate, "share"), known(m.AcceptanceRate, "share"), known(m.AcceptanceLength, ""), source})
	}
	return t
}

// gpuTable is the metrics of each GPU.
func (r *Run) gpuTable() table {
	t := table{id: "gpus", caption: "GPU metrics", note: "Means over the window, with the maximum.", columns: []column{
		{head: "row"}, {head: "GPU"}, {head: "memory active", num: true}, {head: "tensor cores active", num: true}, {head: "SMs active", num: true}, {head: "busy", num: true},
		{head: "power", num: true}, {head: "energy", num: true}, {head: "SM clock", num: true}, {head: "memory used", num: true}, {head: "throttled by"},
	}}
	for _, row := range r.Live() {
		if row.GPU == nil {
			continue
		}
		for _, d := range row.GPU.Devices {
			t.rows = append(t.rows, []cell{text(row.ID), text(strings.TrimSpace(d.GPU + " " + d.Name)), level(d.DRAMActive, "share"), level(d.TensorActive, "share"),
				level(d.SMActive, "share"), level(d.Busy, "share"), level(d.PowerW, "W"), known(d.EnergyJ, "J"), level(d.SMClock, "MHz"), level(d.UsedMiB, "MiB"), throttled(&d)})
		}
	}
	return t
}

func throttled(d *record.GPUDevice) cell {
	if !d.Known {
		return cell{text: "not collected", kind: faint}
	}
	shares := make([]string, 0, len(d.Throttled))
	for _, why := range slices.Sorted(maps.Keys(d.Throttled)) {
		shares = append(shares, why+" "+unit.Format(d.Throttled[why], "share"))
	}
	return text(cmp.Or(strings.Join(shares, ", "), "nothing"))
}

// clientTable is the load of the measuring machine.
func (r *Run) clientTable() table {
	t := table{id: "client", caption: "Client", note: "Latencies contain client lag; a row with too much of it has a finding.", columns: []column{
		{head: "row"}, {head: "lag p50", num: true, help: "lag"}, {head: "lag p99", num: true, help: "lag"}, {head: "read lag", num: true, help: "lag"}, {head: "cores used", num: true},
		{head: "machine busy", num: true}, {head: "run-queue wait p99", num: true}, {head: "GC pauses", num: true}, {head: "retransmits", num: true},
		{head: "connections", num: true}, {head: "timestamps"},
	}}
	for _, row := range r.Live() {
		cells := []cell{text(row.ID), lagCell(&row, "p50"), lagCell(&row, "p99"), text(unit.Format(row.Clock.ReadLagMeanMs, "ms"))}
		if u := row.Client; u != nil {
			again := absent()
			if u.Retransmits != nil {
				again = count(int(*u.Retransmits))
			}
			cells = append(cells, known(u.CPUMean, ""), known(u.MachineBusy, "share"), known(u.SchedP99, "ms"), text(unit.Format(u.GCPauses, "ms")), again)
		} else {
			cells = append(cells, absent(), absent(), absent(), absent(), absent())
		}
		opened := row.Connections
		t.rows = append(t.rows, append(cells, text(fmt.Sprintf("%s before, %s during", unit.Count(opened.Ahead), unit.Count(opened.During))),
			text(cmp.Or(row.Clock.Stamps, "not reported"))))
	}
	return t
}

func lagCell(row *record.Row, percentile string) cell {
	return inCell.percentile(record.PercentilesOf(row.Summary.Lag), percentile)
}
