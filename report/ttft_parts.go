package report

import (
	"slices"

	"bench/experiment/record"
	"bench/experiment/unit"
)

// ttftPartsTable has the rows that shows picks, of those whose server reports its own times.
func (r *Run) ttftPartsTable(shows func(*record.TTFTSplit) bool) Table {
	t := newTable("ttft-parts", "TTFT by part", "row", "n #", "TTFT from send|ms # ?ttftparts")
	t.Note = "Means over the same requests. Network: time outside of the server. Histograms include the warm-up."
	names := r.ttftParts()
	for _, name := range names {
		t.addColumns(name + "|ms # ?ttftparts")
	}
	t.addColumns("by")
	for _, row := range r.Live() {
		s := row.TTFTSplit
		if s == nil || !shows(s) {
			continue
		}
		cells := []Cell{TextCell(row.ID), count(s.Requests), TextCell(unit.Digits(s.Total))}
		for _, name := range names {
			cells = append(cells, partCell(s, name))
		}
		t.Rows = append(t.Rows, append(cells, splitSource(s)))
	}
	return t
}

func (r *Run) ttftParts() (names []string) {
	for _, row := range r.Live() {
		if row.TTFTSplit == nil {
			continue
		}
		for _, p := range row.TTFTSplit.Parts() {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

func partCell(s *record.TTFTSplit, name string) Cell {
	for _, p := range s.Parts() {
		if p.Name == name {
			return Cell{Text: unit.Digits(p.Ms), Title: unit.Format(p.Ms/s.Total, "share")}
		}
	}
	return Absent()
}

func splitSource(s *record.TTFTSplit) Cell {
	switch {
	case s.Missing != "":
		return Cell{Text: s.Missing, Kind: Faint}
	case s.Source == record.SplitOfHistograms:
		return TextCell("histograms")
	}
	return TextCell("each answer")
}

func anyTTFT(*record.TTFTSplit) bool { return true }

func notPrefill(s *record.TTFTSplit) bool {
	parts := s.Parts()
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(p record.Part) bool {
		return p.Name == "prefill" && p.Ms >= s.Total/2
	})
}
