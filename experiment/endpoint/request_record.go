package endpoint

import (
	"cmp"

	"bench/experiment/load"
	"bench/experiment/measured"
	"bench/experiment/openai"
	"bench/experiment/record"
)

func requestRecord(j *load.Job) *record.Record {
	r := &j.Result
	rec := measured.Record(r)
	rec.I, rec.Class, rec.Phase = j.Request.Index, j.Request.Class, phases[j.Phase]
	rec.Arrival, rec.Ready = measured.Offset(j.At), measured.Offset(j.Ready)
	rec.PromptRequested, rec.OutputRequested = cmp.Or(j.Input, j.Request.Input), j.Request.Output
	if q := &j.Request; q.InSession() { // of a conversation, or of a trace with sessions
		rec.Session, rec.Turn = new(q.Session), new(q.Turn)
		rec.Agent = q.Agent()
		if q.Turn == 0 && q.Whole() {
			rec.Turns = q.Turns
		}
		if r.Outcome != openai.Unfinished && r.Outcome != openai.Cancelled {
			rec.TurnsLost = j.Lost
		}
	}
	if r.HasUsage && j.InputEstimated { // else the estimate counts
		rec.PromptRequested = 0
	}
	if p := j.Request.Prompt; p != nil {
		rec.Category, rec.PromptHash = p.Category, p.Hash
		private(rec, r, p)
	}
	return rec
}

var phases = [...]string{load.Warmup: record.PhaseWarmup, load.Window: record.PhaseWindow,
	load.Cooldown: record.PhaseCooldown}
