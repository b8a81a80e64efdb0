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
	Begun    *Begun
	Finished *Finished
	Skipped  *Skipped
	Cut      *Cut
	Found    *record.Found // a search that has ended
}

type Starting struct {
	N       int // counts from 1
	Variant string
	Log     string // path of its log

	LastLine func() string // of its log so far, safe at any time; empty: none
}

type Started struct {
	Dir         string
	Total, Kept int           // rows in the plan, and those finished by an earlier attempt
	Changed     Changed       // rows of a run to resume that this matrix describes otherwise
	Spent       time.Duration // of the budget so far; 0 without one
}

type Begun struct {
	Index, Total int // counts from 1, kept rows included
	Spec         *experiment.Spec
	ID           string
	Progress     *endpoint.Progress
}

type Skipped struct {
	Index, Total int
	Spec         *experiment.Spec
	ID           string
	Reason       string // "beyond the FAIL at rate 16/s"
}

// Cut is a row that a worker cut. It begins again.
type Cut struct {
	Index, Total int
	Spec         *experiment.Spec
	ID           string
	Reason       string // "worker 2 (host-b): no sign of life for 10s"
}

// Finished is a row with all of its files.
type Finished struct {
	Index, Total int
	Row          *record.Row
	Kept         bool // finished by an earlier attempt
}
