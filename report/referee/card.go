// Package referee tests load generators. One drives the simulated server in several rounds, in each of which the server
// has another trait of real ones. What its result file reports is then laid beside what the server did, and when.
package referee

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"bench/experiment/text"
	"bench/experiment/unit"
)

const Schema = "bench/referee/v1"

// Card is how wrong a load generator is.
type Card struct {
	Schema    string    `json:"schema"`
	Command   []string  `json:"command"`           // with its placeholders
	Tool      string    `json:"tool,omitempty"`    // by its result files; absent: none could be read
	Version   string    `json:"version,omitempty"` // absent: not reported
	StartedAt time.Time `json:"started_at"`
	Load      Load      `json:"load"`
	Rounds    []Round   `json:"rounds"`
}

// Load is what the placeholders of the command ask for.
type Load struct {
	Requests    int     `json:"requests,omitempty"`
	Rate        float64 `json:"rate,omitempty"`        // requests/s of an open loop
	Arrival     string  `json:"arrival,omitempty"`     // of a rate: poisson or constant
	Concurrency int     `json:"concurrency,omitempty"` // of a closed loop
}

// Round is one run of the load generator.
type Round struct {
	Name     string `json:"name"`
	Trait    string `json:"trait"`    // of the server
	Requests int    `json:"requests"` // that the server got, with those of a warm-up
	// p99 of how late this process woke up, by a clock that ticks through the round: a load generator beside it may be
	// as late without a fault of its own
	HostDelayMs    float64 `json:"host_delay_ms"`
	HostDelayP50Ms float64 `json:"host_delay_p50_ms"` // its median, for medians and means
	Lines          []Line  `json:"lines"`
}

// Line is the answer to one question.
type Line struct {
	Question  string   `json:"question"`
	Unit      string   `json:"unit"`     // ms, 1/s, share, requests, tokens, tokens/s; empty: a number
	Expected  *float64 `json:"expected"` // null: no result was read
	Got       *float64 `json:"got"`      // null: not reported, or not a number
	Tolerance float64  `json:"tolerance"`
	Verdict   Verdict  `json:"verdict"`
	Why       string   `json:"why,omitempty"`
}

type Verdict string

const (
	Right    Verdict = "right"
	Wrong    Verdict = "wrong"
	Unclear  Verdict = "unclear"   // beyond the tolerance, within the delay of this machine
	NotShown Verdict = "not shown" // by the result file, or too few requests
	NotAsked Verdict = "not asked" // the trait is none of the API that the load generator uses
)

func (c *Card) Count(v Verdict) (n int) {
	for i := range c.Rounds {
		for _, l := range c.Rounds[i].Lines {
			if l.Verdict == v {
				n++
			}
		}
	}
	return n
}

func (c *Card) Text(w io.Writer, columns int) error {
	rows := [][]string{{"round", "question", "expected", "got", "error", "±", "verdict"}}
	worst := 0.0
	for i := range c.Rounds {
		worst = max(worst, c.Rounds[i].HostDelayMs)
		for _, l := range c.Rounds[i].Lines {
			rows = append(rows, l.row(c.Rounds[i].Name))
		}
	}
	tool := cmp.Or(strings.TrimSpace(c.Tool+" "+c.Version), "no result")
	load, counts := ", ", ": "
	if c.Load.Rate == 0 && c.Load.Concurrency == 0 {
		load, counts = "; ", "; "
	}
	head := fmt.Sprintf("%s%s%s%s%d right, %d wrong, %d unclear, %d not shown", tool, load, c.Load, counts,
		c.Count(Right), c.Count(Wrong), c.Count(Unclear), c.Count(NotShown))
	lines := text.Wrap("", text.Escape(head), "  ", columns)
	if c.Count(Unclear) > 0 {
		lines = append(lines, "timers here fire up to "+unit.Format(worst, "ms")+
			" late: unclear lines need a quieter machine")
	}
	_, err := fmt.Fprintf(w, "%s\n\n%s\n", strings.Join(lines, "\n"), text.Table(rows, columns, 2, 3, 4, 5))
	return err
}

func (l Load) String() string {
	words := []string{"the command has no {rate}: load not evaluated"}
	if l.Rate > 0 {
		words[0] = fmt.Sprintf("open loop, %s/s %s", unit.Digits(l.Rate), l.Arrival)
	} else if l.Concurrency > 0 {
		words[0] = fmt.Sprintf("closed loop, concurrency %d", l.Concurrency)
	}
	if l.Requests > 0 {
		words = append(words, fmt.Sprintf("%d requests a round", l.Requests))
	}
	return strings.Join(words, ", ")
}

func (l *Line) row(round string) []string {
	expected, got, off, verdict := "–", "–", "–", string(l.Verdict)
	if l.Expected != nil {
		expected = l.shown(*l.Expected)
	}
	if l.Got != nil {
		x := *l.Got - *l.Expected
		got, off = l.shown(*l.Got), "+"+l.shown(x)
		if x < 0 {
			off = "−" + l.shown(-x)
		}
	}
	if l.Why != "" {
		verdict += ": " + text.Escape(l.Why)
	}
	return []string{round, l.Question, expected, got, off, l.shown(l.Tolerance), verdict}
}

func (l *Line) shown(x float64) string {
	switch {
	case (l.Unit == "requests" || l.Unit == "tokens" || l.Unit == "tokens/s") && (x == math.Round(x) || x >= 1000):
		return fmt.Sprintf("%.0f", x)
	case l.Unit == "ms" || l.Unit == "share":
		return unit.Format(x, l.Unit)
	}
	return unit.Digits(x)
}
