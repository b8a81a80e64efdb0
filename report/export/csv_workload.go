package export

import (
	"cmp"
	"math"

	"bench/experiment/record"
)

func (r *csvLine) workload(row *record.Row) {
	has, s := row.Sessions != nil, cmp.Or(row.Sessions, &record.Sessions{})
	p50, known := s.Percentiles(s.Time).Get("p50")
	if !known {
		p50.Median = math.NaN()
	}
	r.optional("sessions_started", s.Started, has)
	r.optional("sessions_completed", s.Completed, has)
	r.optional("sessions_cut", s.Cut, has)
	r.float("session_time_p50_s", &p50.Median)
	r.put("session_time_p50_grade", string(p50.Grade))
	var interactivity, energy *float64
	if s.Interactivity != nil {
		interactivity = &s.Interactivity.TokensPerS
	}
	r.float("e2e_interactivity_tokens_per_s", interactivity)
	drafts := cmp.Or(row.Speculation, &record.Speculation{})
	r.float("acceptance_rate", drafts.AcceptanceRate)
	r.float("acceptance_length", drafts.AcceptanceLength)
	answers := cmp.Or(row.Summary.Answers, &record.Answers{})
	r.float("answers_valid", shareOf(answers.Valid))
	r.float("answers_correct", shareOf(answers.Correct))
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
