package sweep

import (
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
)

// Event is a step of a run. Exactly one of the pointers is set.
type Event struct {
	Starting *Starting
	Started  *Started
	Scouting *experiment.Spec // a search looks for the load of its first probe
	Begun    *RowEvent
	Finished *RowEvent
	Skipped  *RowEvent
	Cut      *RowEvent     // by a worker: it begins again
	Found    *record.Found // a search that has ended
}

// Starting is a server that is being started.
type Starting struct {
	N       int    `json:"n"`       // counts from 1
	Variant string `json:"variant"` // its knobs; empty: none
	Log     string `json:"log"`     // file with its output

	LastLine func() string `json:"-"` // of its log so far, safe at any time; empty: none
}

type Started struct {
	Dir         string
	Total, Kept int           // rows in the plan, and those finished by an earlier attempt
	Changed     Changed       // rows of a run to resume that this matrix describes otherwise
	Spent       time.Duration // of the budget so far; 0 without one
}

type RowEvent struct {
	Index, Total int // counts from 1, kept rows included
	Spec         *experiment.Spec
	ID           string
	Progress     *endpoint.Progress // of a row that has begun
	Reason       string             // "beyond the FAIL at rate 16/s"; "worker 2 (host-b): no sign of life for 10s"
	Row          *record.Row        // of a finished one, with all of its files
	Kept         bool               // finished by an earlier attempt
}

func (e *RowEvent) finish(row *record.Row) { e.Row, e.Spec, e.ID = row, &row.Spec, row.ID }
