package report

// Section is a table of the page. Charts that name its id are drawn above it.
type Section struct {
	Table
	Charted bool // the table belongs to charts; else it comes after all that do
	Folded  bool // the reader opens the table
}

// Sections are the tables of a run in the page's order, those without rows left out.
func (r *Run) Sections(o *Outcome) []Section {
	var out []Section
	add := func(charted, folded bool, tables ...Table) {
		for _, t := range tables {
			if len(t.Rows) > 0 {
				out = append(out, Section{t, charted, folded})
			}
		}
	}
	u := InCell
	add(true, false, o.seriesTable(), o.pointsTable(u))
	add(true, true, o.percentilesTable("ttft", u), o.percentilesTable("tpot", u), o.percentilesTable("e2e", u), o.rooflineTable(u))
	add(true, false, o.prefixTable(u), r.interferenceTable(u))
	add(true, true, r.loadTable())
	add(false, false, r.searchesTable(), o.stagesTable(), o.diagnosisTable(), o.rejectedTable(), o.unmeasuredTable(), r.sloTable(), o.findingsTable(),
		o.costsTable(), r.variantsTable(o), o.classesTable(u), r.reuseTable(), r.coldTable(), r.serverTable(), r.gpuTable(), r.clientTable(),
		o.expectTable(), r.missingTable(), r.reproduceTable(), r.metadataTable())
	return out
}
