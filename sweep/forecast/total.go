package forecast

import (
	"fmt"

	"bench/experiment/unit"
)

// Total sums up the rows, their time, the starts of servers and the order, in one or two lines.
func (p *Plan) Total() string {
	text := unit.Plural(p.count, "row")
	switch {
	case p.again > 0:
		text += fmt.Sprintf(" (%d kept, %d again, %d new)", p.done, p.again, p.count-p.done-p.again)
	case p.done > 0:
		text += fmt.Sprintf(" (%d kept, %d to run)", p.done, p.count-p.done)
	}
	text += ", " + p.time.String() + p.starts
	if from := p.durations.sourcesText(p.sources); from != "" {
		text += ": durations from " + from
	}
	if p.unknown {
		text += "; the server's speed decides\nfor an estimate: --model MODEL --set target.hardware=DEVICE --set target.gpus=N"
	}
	if p.order != "" {
		text += "\n" + p.order
	}
	if p.budget > 0 {
		text += "\n" + p.BudgetText()
	}
	return text
}

// BeyondBudget reports whether the rows take longer than the rest of the budget.
func (p *Plan) BeyondBudget() bool { return p.budget > 0 && p.time.least() > p.budget-p.spent }

// BudgetText compares the duration of the rows with the budget.
func (p *Plan) BudgetText() string {
	text, left := "budget "+unit.Clock(p.budget), p.budget-p.spent
	if p.spent > 0 {
		text += fmt.Sprintf(" (%s spent)", unit.Clock(p.spent))
	}
	switch {
	case p.BeyondBudget():
		return text + fmt.Sprintf(": too short for every row, %s; the middle load of each row runs first", p.time.brief())
	case !p.time.predicted:
		return text + ": what the rows leave of it goes to undecided points"
	}
	return text + fmt.Sprintf(": about %s left for undecided points", unit.Clock(left-p.time.likely))
}
