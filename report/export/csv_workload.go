package export

import "bench/experiment/record"

// workload writes the figures that only some workloads have: sessions, drafts, answers that were checked.
func (r *csvLine) workload(row *record.Row) {
	var time, interactivity *float64
	if s := row.Sessions; s != nil {
		if s.Time != nil {
			time = &s.Time.P50
		}
		if s.Interactivity != nil {
			interactivity = &s.Interactivity.TokensPerS
		}
	}
	r.float("session_time_p50_s", time)
	r.float("e2e_interactivity_tokens_per_s", interactivity)
	var rate, length *float64
	if s := row.Speculation; s != nil {
		rate, length = s.AcceptanceRate, s.AcceptanceLength
	}
	r.float("acceptance_rate", rate)
	r.float("acceptance_length", length)
	var valid, correct *float64
	if a := row.Summary.Answers; a != nil {
		valid, correct = shareOf(a.Valid), shareOf(a.Correct)
	}
	r.float("answers_valid", valid)
	r.float("answers_correct", correct)
}

func shareOf(s *record.Share) *float64 {
	if s == nil {
		return nil
	}
	return &s.Share
}
