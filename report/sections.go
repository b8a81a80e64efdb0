package report

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/unit"
)

type Tab struct {
	ID, Name string
	Paper    bool // its own charts are printed
	Sections []Section
}

// Section is a table of the page. Charts that name its id are drawn above it.
type Section struct {
	Table
	Folded bool // the reader opens the table
	Paper  bool // printed; what is not is a click away on the screen
}

const (
	TabSummary   = "summary"
	TabLatency   = "latency"
	TabTimeline  = "timeline"
	TabTrust     = "trust"
	TabReproduce = "reproduce"
)

// Tabs are the tables of a run in the page's order, those without rows left out. detailed runs have charts of
// their requests, which contain every percentile.
func (r *Run) Tabs(o *Analysis, detailed bool) []Tab {
	var percentiles []Section
	if !detailed {
		for _, metric := range o.Latencies() {
			percentiles = append(percentiles, Sections(percentilesTable(o, metric))...)
		}
	}
	predicted, limits := besideTables(r, o)
	unmeasured := newTable("unmeasured", "Not measured", "what") // what a reader could mistake for measured
	for _, s := range o.Answer.NotMeasured {
		unmeasured.Add(TextCell(s))
	}
	trust := o.Answer.Trust
	trustName := fmt.Sprintf("Trust (%s, %d invalid)", unit.Plural(trust.Cautions, "caution"), trust.Invalid)
	return []Tab{
		candidateTab(r),
		{TabSummary, "Summary", true, onPaper(tilingTable(r), sessionsTable(r), racedTable(o), pointsTable(o),
			limits, predicted, settingsTable(o), workloadsTable(o), searchesTable(r),
			bottlenecksTable(o), expectTable(o), variantsTable(r, o))},
		{TabLatency, "Latency", false, slices.Concat(percentiles,
			Sections(reasoningTable(r).withoutUniform(), ttftPartsTable(r, nil).withoutUniform(), seriesTable(o)),
			Sections(groupTables(o)...), Sections(interferenceTable(r), serviceTable(r)))},
		{TabTimeline, "Timeline", true, Sections(loadTable(r).withoutUniform())},
		{"roofline", "Roofline", false, append(Sections(rooflineTable(o).withoutUniform()),
			folded(publishedTable(o, nil))...)},
		{"cache", "Cache", false, Sections(prefixTable(o), reuseTable(r), coldTable(r))},
		{"server", "Server", false, slices.Concat(Sections(serverTable(r).withoutUniform(), answersTable(r),
			speculationTable(r), gpuTable(r).withoutUniform()), onPaper(workersTable(r)),
			folded(clientTable(r).withoutUniform()))},
		{TabTrust, trustName, false, slices.Concat(onPaper(findingsTable(o)), Sections(unmeasured, missingTable(r)),
			folded(sloTable(r)))},
		{TabReproduce, "Reproduce", false, append(onPaper(reproduceTable(r)), folded(metadataTable(r, o))...)},
	}
}

func Sections(tables ...Table) []Section {
	var out []Section
	for _, t := range tables {
		if len(t.Rows) > 0 {
			out = append(out, Section{Table: t})
		}
	}
	return out
}

func onPaper(tables ...Table) []Section {
	out := Sections(tables...)
	for i := range out {
		out[i].Paper = true
	}
	return out
}

func folded(table Table) []Section {
	out := Sections(table)
	for i := range out {
		out[i].Folded = true
	}
	return out
}

// withoutUniform moves columns with the same cell in every row of several into the note. The first column stays.
func (t Table) withoutUniform() Table {
	if len(t.Rows) < 2 {
		return t
	}
	var keep []int
	var same []string
	for i, c := range t.Columns {
		first := t.Rows[0][i]
		uniform := i > 0
		for _, row := range t.Rows {
			uniform = uniform && row[i].Full() == first.Full() && row[i].Tag == first.Tag
		}
		switch {
		case !uniform:
			keep = append(keep, i)
		case first.Text != Absent().Text:
			same = append(same, strings.TrimSpace(c.Head+" "+strings.TrimSpace(first.Full()+" "+c.Unit)))
		}
	}
	if len(keep) == len(t.Columns) {
		return t
	}
	out := t.keep(keep)
	if len(same) > 0 {
		out.Note = strings.TrimSpace(t.Note + " In every row: " + strings.Join(same, "; ") + ".")
	}
	return out
}
