package export

import "bench/experiment/record"

func (r *csvLine) workload(row *record.Row) {
	var time, interactivity *float64
	grade, sessions := "", row.Sessions != nil
	var started, completed, cut int
	if s := row.Sessions; s != nil {
		started, completed, cut = s.Started, s.Completed, s.Cut
		if p50, ok := s.Percentiles(s.Time).Get("p50"); ok {
			time, grade = &p50.Median, string(p50.Grade)
		}
		if s.Interactivity != nil {
			interactivity = &s.Interactivity.TokensPerS
		}
	}
	r.optional("sessions_started", started, sessions)
	r.optional("sessions_completed", completed, sessions)
	r.optional("sessions_cut", cut, sessions)
	r.float("session_time_p50_s", time)
	r.put("session_time_p50_grade", grade)
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
	var energy *float64
	if row.Energy != nil {
		energy = &row.Energy.PerToken
	}
	r.float("energy_j_per_output_token", energy)
}

func shareOf(s *record.Share) *float64 {
	if s == nil {
		return nil
	}
	return &s.Share
}
