package stats

type Verdict string

// Pass and Fail hold with the requested confidence; Undecided means that the sample is too small.
const (
	Pass      Verdict = "PASS"
	Fail      Verdict = "FAIL"
	Undecided Verdict = "UNDECIDED"
)
