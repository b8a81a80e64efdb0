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
	if p.done < p.count {
		text += ", " + p.time.String()
	}
	text += p.starts
	if p.time.Open {
		text += "; the server's speed decides the rest"
	}
	if p.order != "" {
		text += "\n" + p.order
	}
	if p.budget > 0 {
		text += "\n" + p.BudgetText()
	}
	return text
}

func (p *Plan) BeyondBudget() bool { return p.budget > 0 && p.time.Least > p.budget-p.spent }

func (p *Plan) BudgetText() string {
	text, left := "budget "+unit.Clock(p.budget), p.budget-p.spent
	if p.spent > 0 {
		text += fmt.Sprintf(" (%s spent)", unit.Clock(p.spent))
	}
	switch {
	case p.BeyondBudget():
		return text + fmt.Sprintf(": too short for every row, %s; the middle load of each row runs first", p.time)
	case p.time.Open || p.time.Most > left:
		return text + ": what the rows leave of it goes to undecided points"
	}
	return text + fmt.Sprintf(": at least %s left for undecided points", unit.Clock(left-p.time.Most))
}
