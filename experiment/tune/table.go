package tune

import (
	"fmt"
	"strconv"

	"bench/experiment/workload"
)

// MaxLoad is the goal of the highest load within the SLO, by the search of the matrix's row.
const MaxLoad = "max_load"

// Table is [tune]: the knobs of the server are raced for a goal.
type Table struct {
	Goal   string        `toml:"goal"`   // MaxLoad, or a figure at a fixed load; empty = MaxLoad
	Budget workload.Span `toml:"budget"` // server time with starts; 0 = until nothing is open
	Order  string        `toml:"order"`  // One or All; empty = One
}

// Check completes the table. of is the number of values of each knob; search: the row searches for a load.
func (t *Table) Check(of []int, search bool, bad func(key, problem, hint string)) {
	if t.Goal == "" {
		t.Goal = MaxLoad
	}
	if t.Order == "" {
		t.Order = One
	}
	if t.Order != One && t.Order != All {
		bad("order", "unknown order "+strconv.Quote(t.Order),
			`write "one": one knob after the other; or "all": every combination`)
	}
	switch n := (&Space{Knobs: of}).Size(); {
	case n < 2:
		bad("", "no knob has two values: there is nothing to race", "write max_num_seqs = [32, 64] in [server.knobs]")
	case n > Most:
		bad("", fmt.Sprintf("the knobs have %d combinations, and a race takes %d at most", n, Most),
			"write fewer values; or race some knobs first, then the others with the best values of these")
	}
	if search != (t.Goal == MaxLoad) {
		bad("goal", map[bool]string{true: "the row searches for a load, which is the goal " + MaxLoad,
			false: "the row has one load, so " + MaxLoad + " is no goal"}[search],
			`write goal = "max_load" and rate = { search = "slo" }; or goal = "ttft_p95" and rate = 8`)
	}
}
