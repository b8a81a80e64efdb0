package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"bench/experiment/diagnosis"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// rulerView is a diagnosis.Ruler as SVG. Places are in percent of its width: it has no size of its own, and the policy
// of the page allows no style but the page's.
type rulerView struct {
	Alt      string
	Parts    []rulerPart
	Marks    []rulerMark
	Estimate *rulerEstimate // nil: none
	Hatch    string         // where the hatched part has no room for its word; empty: it has, or there is none
}

type rulerPart struct {
	Status       diagnosis.Status
	From, To, At percent // At: of the word
	Word         string  // empty: no room
	Room         string  // for the word; empty: everywhere
}

type rulerMark struct {
	At     percent
	Text   string // empty: no room
	Anchor string
	Ship   bool
}

type rulerEstimate struct {
	At, Low, High percent
	Text, Anchor  string
}

type percent float64

func (p percent) String() string { return fmt.Sprintf("%.2f%%", float64(p)) }

// The percent of the width that a character needs on a phone, on paper and on a wide screen.
const (
	onPhone = 2.1
	onPaper = 1.1
	onWide  = 0.8
)

// Where a word has room, as classes of the style.
const (
	roomOnPaper = "medium" // but not on a phone
	roomOnWide  = "wide"   // on a wide screen alone
	noRoom      = "never"
)

// roomIn is empty for a word that fits everywhere.
func roomIn(width percent, word string) string {
	switch need := percent(utf8.RuneCountInString(word)); {
	case width >= onPhone*need:
		return ""
	case width >= onPaper*need:
		return roomOnPaper
	case width >= onWide*need:
		return roomOnWide
	}
	return noRoom
}

func roomOf(text string) percent { return onPhone * percent(utf8.RuneCountInString(text)) }

func newRulerView(w *diagnosis.Workload, s *series.Series) *rulerView {
	if w.Ruler == nil {
		return nil
	}
	at := func(load float64) percent { return percent(100 * math.Max(0, math.Min(1, load/w.Ruler.End))) }
	v := &rulerView{Alt: "Loads of " + w.Name + " by their verdict: " + w.Text}
	v.Marks = rulerMarks(w, s, at)
	from := percent(0)
	for _, p := range w.Ruler.Parts {
		to := at(p.To)
		part, word := rulerPart{Status: p.Status, From: from, To: to, At: (from + to) / 2}, rulerWords[p.Status]
		if p.Status == diagnosis.Open && !v.marked(from, to) {
			word = "not measured"
		}
		part.Room = roomIn(to-from, word)
		if part.Room != noRoom {
			part.Word = word
		}
		if p.Status == diagnosis.Likely {
			v.Hatch = part.Room
		}
		v.Parts, from = append(v.Parts, part), to
	}
	if e := w.Estimate; e != nil && e.Best != nil {
		v.Estimate = &rulerEstimate{At: at(*e.Best), Low: at(*e.Low), High: at(*e.High), Text: w.Ruler.Load,
			Anchor: anchor(at(*e.Best), w.Ruler.Load)}
		v.Alt += fmt.Sprintf("; estimate %s, interval %s to %s", w.Ruler.Load, unit.Brief(*e.Low, 3),
			unit.Brief(*e.High, 3))
	}
	return v
}

func (v *rulerView) marked(from, to percent) bool {
	return slices.ContainsFunc(v.Marks, func(m rulerMark) bool { return from < m.At && m.At < to })
}

var rulerWords = map[diagnosis.Status]string{diagnosis.Meets: "PASS", diagnosis.Likely: "likely",
	diagnosis.Open: "UNDECIDED", diagnosis.Misses: "FAIL"}

// rulerMarks are those of the measured loads. The operating point and the load that limits it are named first.
func rulerMarks(w *diagnosis.Workload, s *series.Series, at func(float64) percent) []rulerMark {
	type point struct {
		rulerMark
		rank int
	}
	var all []point
	for j := range s.Points {
		load, ok := diagnosis.RulerLoad(s, &s.Points[j])
		if !ok {
			continue
		}
		p := point{rulerMark{At: at(load), Text: loadLabel(s, &s.Points[j])}, 2}
		switch {
		case w.Points[j].Status == diagnosis.Ship:
			p.Ship, p.rank = true, 0
			p.Text += " ★"
		case w.Limit != nil && w.Limit.Point == j:
			p.rank = 1
		}
		p.Anchor = anchor(p.At, p.Text)
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b point) int { return cmp.Compare(a.rank, b.rank) })
	var out []rulerMark
	for _, p := range all {
		if slices.ContainsFunc(out, func(o rulerMark) bool {
			return o.Text != "" && math.Abs(float64(o.At-p.At)) < float64(roomOf(o.Text)+roomOf(p.Text))/2
		}) {
			p.Text = ""
		}
		out = append(out, p.rulerMark)
	}
	return out
}

// anchor keeps a text inside of the ruler.
func anchor(at percent, text string) string {
	switch half := roomOf(text) / 2; {
	case at < half:
		return "start"
	case at > 100-half:
		return "end"
	}
	return "middle"
}
