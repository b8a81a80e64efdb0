package record

// RunTime is the wall time of a run over all of its attempts, without the time between them.
type RunTime struct {
	Split TimeSplit
	// AnswerS is the time until the last row was evaluated, s: of every attempt up to that row. 0 = no row.
	AnswerS float64
	AtLeast bool // an attempt was killed, or runs: its time after its last finished row is known only in part
}

// Time adds up the attempts; nil = not recorded, by another tool.
func (m *Manifest) Time() *RunTime {
	if len(m.Attempts) == 0 {
		return nil
	}
	t := &RunTime{}
	for _, a := range m.Attempts {
		if a.Time == nil {
			return nil
		}
		if a.LastRowS > 0 {
			t.AnswerS = RoundSeconds(t.Split.TotalS + a.LastRowS)
		}
		t.Split.Add(a.Time)
		t.AtLeast = t.AtLeast || a.Ended == ""
	}
	return t
}

func (m *Manifest) GPUSeconds(seconds float64) *float64 {
	if m.Target.GPUs == 0 {
		return nil
	}
	return new(RoundSeconds(seconds * float64(m.Target.GPUs)))
}
