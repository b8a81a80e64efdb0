package record

// Budget is the time that a run may take, and what it left open.
type Budget struct {
	TotalS float64      `json:"total_s"`
	SpentS float64      `json:"spent_s"`       // over all attempts
	Added  int          `json:"added_repeats"` // longer repeats of undecided points
	Open   []OpenPoint  `json:"open"`          // points whose SLO is undecided, the first to decide first
	NotRun []NotStarted `json:"not_run"`       // rows of the matrix that did not fit
}

type OpenPoint struct {
	Name  string  `json:"name"`          // of the point
	Why   string  `json:"why"`           // the limit that is open
	Need  int     `json:"need_requests"` // further requests for a verdict; 0 = more would not help
	NeedS float64 `json:"need_s"`        // duration of a repeat that is long enough; 0 = none is
}

type NotStarted struct {
	ID    string  `json:"id"`
	NeedS float64 `json:"need_s"` // its expected duration
}
