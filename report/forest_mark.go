package report

// ForestMark is the shape of a mark: colour is never the only carrier of meaning.
type ForestMark string

const (
	MarkWorse        ForestMark = "worse"
	MarkBetter       ForestMark = "better"
	MarkNoChange     ForestMark = "no change"
	MarkPass         ForestMark = "not worse than the threshold" // PASS of the gate, else inconclusive
	MarkInconclusive ForestMark = "inconclusive"
	MarkRaw          ForestMark = "not tested" // no interval
)

var ForestMarks = []ForestMark{MarkWorse, MarkBetter, MarkNoChange, MarkPass, MarkInconclusive, MarkRaw}

func (m ForestMark) Text() string {
	return map[ForestMark]string{MarkWorse: "▶", MarkBetter: "◀", MarkNoChange: "●", MarkPass: "■",
		MarkInconclusive: "○", MarkRaw: "×"}[m]
}

func (m ForestMark) Kind() Kind {
	return map[ForestMark]Kind{MarkWorse: Failed, MarkBetter: Passed, MarkInconclusive: Undecided,
		MarkRaw: Faint}[m]
}
