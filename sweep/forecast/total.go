package forecast

import (
	"fmt"
	"time"

	"bench/experiment/unit"
	"bench/sweep"
)

// Total sums up the rows, their time, the starts of servers and the order, in one or two lines.
func (p *Plan) Total() string {
	if p.race != "" {
		return p.race
	}
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

// raceText is what the race of the settings takes, without the starts of their servers: each has one row or search.
func raceText(m *sweep.Matrix) string {
	least, most := m.RaceTrials()
	first := &m.Points[0]
	own := newDurations(m).of(first)
	if k := first.Search; k != nil {
		own = Span{Least: time.Duration(first.Warmup.Time) + time.Duration(k.Pace().Least*float64(time.Second)),
			Most: time.Duration(k.MaxTime())}
	}
	all := Span{Least: time.Duration(least) * own.Least, Most: time.Duration(most) * own.Most, Open: own.Open}
	if b := time.Duration(m.Tune.Budget); b > 0 {
		all = Span{Least: min(all.Least, b), Most: min(all.Most, b)}
	}
	return fmt.Sprintf("a race of %s: %d to %s of the server; their time without the starts: %s",
		unit.Plural(len(m.Variants), "setting"), least, unit.Plural(most, "start"), all)
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
