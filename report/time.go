package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/unit"
)

type TimeSpent struct {
	// Split is the sum over the attempts; null = not recorded.
	Split *record.TimeSplit `json:"split"`
	// AtLeast is set if an attempt was killed: the time after its last finished row is known only in part.
	AtLeast bool `json:"at_least,omitempty"`
	GPUs    int  `json:"gpus,omitempty"` // absent = not specified
	// Answer is the time until the last row was evaluated, of every attempt up to that row: all answers rest on it.
	// null = not recorded, or no row.
	Answer    *ServerTime    `json:"to_answer"`
	Workloads []WorkloadTime `json:"workloads"` // in the order of answer.workloads

	observed bool // live traffic, whose time is the window's
}

type ServerTime struct {
	WallS      float64  `json:"wall_s"`
	GPUSeconds *float64 `json:"gpu_seconds"` // wall_s × gpus; null = gpus not specified
	USD        *float64 `json:"usd"`         // null = no price specified
}

type WorkloadTime struct {
	Workload string            `json:"workload"`
	Split    *record.TimeSplit `json:"split"`     // null = not recorded for all of its rows
	Server   *ServerTime       `json:"to_answer"` // without server starts and the time between rows; null likewise
}

func timeSpent(r *Run, o *Analysis) TimeSpent {
	t := TimeSpent{GPUs: r.Manifest.Target.GPUs, Workloads: []WorkloadTime{}, observed: r.IsRecording()}
	if whole := r.Manifest.Time(); whole != nil {
		t.Split, t.AtLeast = &whole.Split, whole.AtLeast
		if whole.AnswerS > 0 {
			t.Answer = serverTime(r, whole.AnswerS)
		}
	}
	for _, w := range o.Answer.Workloads {
		x, sum, known := WorkloadTime{Workload: w.Name}, record.TimeSplit{}, true
		for _, p := range o.Series[w.Series].Points {
			for _, row := range p.Rows {
				if known = known && row.Time != nil; known {
					sum.Add(row.Time)
				}
			}
		}
		if known {
			x.Split, x.Server = &sum, serverTime(r, sum.TotalS)
		}
		t.Workloads = append(t.Workloads, x)
	}
	return t
}

func serverTime(r *Run, wall float64) *ServerTime {
	t := &ServerTime{WallS: wall, GPUSeconds: r.Manifest.GPUSeconds(wall)}
	if price := r.Manifest.GPUHourUSD; price != nil && t.GPUSeconds != nil {
		t.USD = new(*t.GPUSeconds / 3600 * *price)
	}
	return t
}

// line is the time in words: "2m 20s: window 58 %, warm-up 22 %, drain 20 %; 140 GPU-seconds to the answer, 0.0972
// USD". It is empty for live traffic.
func (t *TimeSpent) line() string {
	if t.observed {
		return ""
	}
	if t.Split == nil {
		return "not recorded"
	}
	text := clock(t.Split.TotalS)
	if t.AtLeast {
		text = "at least " + text
	}
	parts := t.Split.Parts() // the largest first, without those below half a percent
	slices.SortStableFunc(parts, func(a, b record.TimePart) int { return cmp.Compare(b.Seconds, a.Seconds) })
	var shares []string
	for i, percent := range percentages(parts) {
		if percent > 0 {
			shares = append(shares, fmt.Sprintf("%s %d %%", parts[i].Name, percent))
		}
	}
	text += ": " + strings.Join(shares, ", ")
	if a := t.Answer; a != nil && a.GPUSeconds != nil {
		text += "; " + unit.Digits(*a.GPUSeconds) + " GPU-seconds to the answer"
		if a.USD != nil {
			text += ", " + unit.Format(*a.USD, "usd")
		}
	}
	return text
}

// percentages are whole percentages that sum to 100, by largest remainder; 0: all parts are.
func percentages(parts []record.TimePart) []int {
	sum := 0.0
	for _, p := range parts {
		sum += p.Seconds
	}
	out, order := make([]int, len(parts)), make([]int, len(parts))
	if sum <= 0 {
		return out
	}
	left := 100
	rest := func(i int) float64 { return 100*parts[i].Seconds/sum - float64(out[i]) }
	for i, p := range parts {
		out[i], order[i] = int(100*p.Seconds/sum), i
		left -= out[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest(b), rest(a)) })
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}

func budgetLine(b *record.Budget) string {
	if b == nil {
		return ""
	}
	text := fmt.Sprintf("budget %s: spent %s", clock(b.TotalS), clock(b.SpentS))
	if b.Added > 0 {
		text += ", " + unit.Plural(b.Added, "longer repeat")
	}
	var late []string
	for _, n := range b.NotRun {
		late = append(late, n.ID)
	}
	if len(late) > 0 {
		text += "; " + andMore(late) + " did not fit"
	}
	if len(b.Open) == 0 {
		return text + "; no verdict is open"
	}
	var parts []string
	for _, o := range b.Open {
		part := o.Name + ": " + o.Why
		if o.NeedS > 0 {
			part += ", about " + clock(o.NeedS)
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%s; %s open: %s", text, unit.Plural(len(b.Open), "verdict"), firstThree(parts))
}

// beyondBudget is why a row has no result, if it did not fit in the budget; empty: it is another reason.
func beyondBudget(r *Run, id string) string {
	b := r.Manifest.Budget
	if b == nil || !slices.ContainsFunc(b.NotRun, func(n record.NotStarted) bool { return n.ID == id }) {
		return ""
	}
	if r.Manifest.Predicted != nil {
		return "did not fit in the budget"
	}
	return "did not fit in the budget; run bench sweep --resume with a longer budget"
}

// clock is a number of seconds: 42s, 11m 20s, 1h 05m.
func clock(seconds float64) string { return unit.Clock(time.Duration(seconds * float64(time.Second))) }
