package report

import (
	"bench/experiment/record"
	"bench/experiment/unit"
)

func (r *Run) answersTable() Table {
	t := newTable("answers", "Answers", "row", "checked #", "valid|% #", "reasons", "correct of #",
		"correct|% #")
	t.Note = "Valid: of the form that the request asks for. Correct: as expected. With 95 % intervals."
	r.eachSummary(func(name string, row *record.Row, s *record.Summary) {
		if a := s.Answers; a != nil && (a.Valid != nil || a.Correct != nil) {
			checked, valid := shareCells(a.Valid)
			known, correct := shareCells(a.Correct)
			t.Add(TextCell(name), checked, valid, TextCell(unit.Counts(a.Reasons)), known, correct)
		}
		if a := row.Accuracy; a != nil && name == row.ID {
			known, correct := shareCells(&a.Correct)
			t.Add(TextCell(name+", questions before"), Absent(), Absent(), TextCell(""), known, correct)
			for _, r := range a.Replicas {
				known, correct := shareCells(&r.Correct)
				t.Add(TextCell(name+", questions to "+r.Endpoint), Absent(), Absent(), TextCell(""), known, correct)
			}
		}
	})
	return t
}

func shareCells(s *record.Share) (checked, share Cell) {
	if s == nil {
		return Absent(), Absent()
	}
	return count(s.Checked), with95(&s.Share, &s.CI95, unit.PercentDigits)
}
