package record

import (
	"time"

	"bench/experiment/telemetry"
)

// Run is what a run left, whichever tool measured it.
type Run struct {
	Manifest Manifest
	Rows     []Row // in plan order, then rows that are not in the plan

	// Records reads the requests of a row; nil: they are files of the run's directory, or there are none.
	Records func(*Row) ([]*Record, error)

	// Definitions are another tool's definitions of metrics (ttft, itl, …); others are as in docs/reading.md.
	Definitions map[string]string

	// WithoutRecords are the ids of rows of a run of bench, still in the matrix, whose file of requests is missing.
	WithoutRecords []string
	Altered        []string // files that were changed after the run, by SHA-256, or cannot be read
}

// RecordsOf is Run.Records for requests in memory, by row id.
func RecordsOf(rows map[string][]*Record) func(*Row) ([]*Record, error) {
	return func(row *Row) ([]*Record, error) { return rows[row.ID], nil }
}

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

// TimeSplit is where the wall time of a row or of an attempt went. The parts sum to TotalS.
type TimeSplit struct {
	// from the command until ready, also of starts that failed; absent = bench started no server
	ServerStartS float64 `json:"server_start_s,omitzero"`
	SettleS      float64 `json:"settle_s"` // wait for an idle server
	// connecting, probes, priming, connections opened ahead, the first bodies: until the load began
	PrepareS    float64 `json:"prepare_s"`
	WarmupS     float64 `json:"warmup_s"`
	WindowS     float64 `json:"window_s"`
	DrainS      float64 `json:"drain_s"`                // from the window's end until every request had ended
	ServerStopS float64 `json:"server_stop_s,omitzero"` // absent = bench started no server
	// in rows that were cut, so that they have no result; absent = none
	LostS float64 `json:"lost_s,omitzero"`
	// bench's own: evaluating and writing results, between rows; not the report
	OwnS   float64 `json:"own_s"`
	TotalS float64 `json:"total_s"`
}

type TimePart struct {
	Name    string
	Seconds float64
}

func (t *TimeSplit) Parts() []TimePart {
	return []TimePart{
		{"server start", t.ServerStartS}, {"settling", t.SettleS}, {"preparing", t.PrepareS}, {"warm-up", t.WarmupS},
		{"window", t.WindowS}, {"drain", t.DrainS}, {"server stop", t.ServerStopS}, {"cut rows", t.LostS}, {"bench", t.OwnS},
	}
}

func (t *TimeSplit) Add(o *TimeSplit) {
	of := o.fields()
	for i, part := range t.fields() {
		*part = RoundSeconds(*part + *of[i])
	}
}

func (t *TimeSplit) fields() [10]*float64 {
	return [...]*float64{
		&t.ServerStartS, &t.SettleS, &t.PrepareS, &t.WarmupS, &t.WindowS, &t.DrainS, &t.ServerStopS, &t.LostS, &t.OwnS,
		&t.TotalS,
	}
}

func RoundSeconds(s float64) float64 { return telemetry.Round(s, 6) }

// Took is the time of a row after its settle; in a prediction it is of the simulated server.
func (r *Row) Took() time.Duration {
	if t := r.Time; t != nil {
		return time.Duration((t.TotalS - t.SettleS - t.OwnS) * float64(time.Second))
	}
	return r.EndedAt.Sub(r.StartedAt)
}

// RowTimes are the moments between the parts of a row's wall time; one before its predecessor counts as that.
type RowTimes struct {
	Settled   time.Duration // the wait for an idle server was over
	LoadBegan time.Duration // offset 0 of the records
	LoadEnded time.Duration // every request had ended
	Ended     time.Duration // the row was evaluated

	Window Window // from LoadBegan; it can end after the load, if that was cut
}

func (m *RowTimes) Split() *TimeSplit {
	loadEnded := max(m.LoadEnded, m.LoadBegan)
	inLoad := func(us int64) time.Duration { return min(m.LoadBegan+time.Duration(us)*time.Microsecond, loadEnded) }
	t := &TimeSplit{}
	var until int64 // µs
	for _, part := range []struct {
		seconds *float64
		end     time.Duration
	}{
		{&t.SettleS, m.Settled}, {&t.PrepareS, m.LoadBegan}, {&t.WarmupS, inLoad(m.Window.StartUs)},
		{&t.WindowS, inLoad(m.Window.EndUs)}, {&t.DrainS, loadEnded}, {&t.OwnS, m.Ended},
	} {
		end := max(until, RoundMicros(part.end))
		*part.seconds = float64(end-until) / 1e6
		until = end
	}
	t.TotalS = float64(until) / 1e6
	return t
}
