package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// within reports whether a part is within 20 % of the truth, or a point of the figure.
func (p *part) within() bool { return math.Abs(p.Share-p.truth) <= max(0.2*math.Abs(p.truth), 0.01) }

func (p *part) held() bool { return p.Low <= p.truth && p.truth <= p.High }

// tally counts parts of one kind.
type tally struct {
	parts, named, within, held int
	absent, falsely            int
	missed                     []float64 // by how many points, of those not within
}

func writeParts(out io.Writer, cases []*trial) error {
	w := csv.NewWriter(out)
	w.Write(strings.Split("case,seed,row,figure,change,cause,absent,truth,share,low,high,rest", ","))
	f := func(v float64) string { return strconv.FormatFloat(100*v, 'f', 2, 64) }
	for _, t := range cases {
		for _, p := range t.parts {
			if !p.absent || p.Share != 0 {
				w.Write([]string{t.String(), fmt.Sprint(t.seed), p.row, p.metric, f(p.change.Share), p.cause,
					strconv.FormatBool(p.absent), f(p.truth), f(p.Share), f(p.Low), f(p.High), f(p.rest.Share)})
			}
		}
		for _, l := range t.leftOut {
			w.Write([]string{t.String(), fmt.Sprint(t.seed), l})
		}
		if t.rejected > 0 {
			w.Write([]string{t.String(), fmt.Sprint(t.seed), fmt.Sprintf("%d figures rejected", t.rejected)})
		}
	}
	w.Flush()
	return w.Error()
}

// noticeable is the least share of a planted cause that is counted.
const noticeable = 0.01

func (y *tally) add(p *part) {
	if p.absent {
		y.absent++
		if p.named() {
			y.falsely++
		}
		return
	}
	if math.Abs(p.truth) < noticeable {
		return
	}
	y.parts++
	if p.named() {
		y.named++
	}
	if p.held() {
		y.held++
	}
	if p.within() {
		y.within++
	} else {
		y.missed = append(y.missed, math.Abs(p.Share-p.truth))
	}
}

func writeTables(out io.Writer, cases []*trial) error {
	by := map[string]*tally{}
	at := func(name string) *tally {
		if by[name] == nil {
			by[name] = &tally{}
		}
		return by[name]
	}
	rejected, leftOut, figures, summed := 0, 0, 0, 0
	for _, t := range cases {
		rejected, leftOut = rejected+t.rejected, leftOut+len(t.leftOut)
		last := ""
		for i := range t.parts {
			p := &t.parts[i]
			if key := p.row + p.metric; key != last {
				last = key
				figures++
				if p.rest.Low <= 0 && p.rest.High >= 0 || math.Abs(p.rest.Share) < noticeable {
					summed++
				}
			}
			kind := "alone"
			if len(t.causes) == 2 {
				kind = "in pairs"
			}
			at("all").add(p)
			at(kind).add(p)
			switch {
			case p.absent:
				for _, c := range t.causes {
					at(c.name).add(p)
				}
				at("named " + p.cause).add(p)
			case strings.Contains(p.cause, " + "):
				for _, c := range t.causes {
					at(c.name).add(p)
				}
			default:
				at(p.cause).add(p)
			}
		}
	}
	var names []string
	for _, c := range causes {
		names = append(names, c.name)
	}
	names = append(names, "alone", "in pairs", "all")
	var rest []string
	for n := range by {
		if strings.HasPrefix(n, "named ") {
			rest = append(rest, n)
		}
	}
	slices.Sort(rest)
	fmt.Fprint(out, "planted | parts | named | within 20 % | in the interval | missed by, median | absent causes named\n",
		"---|---|---|---|---|---|---\n")
	for _, n := range append(names, rest...) {
		y := at(n)
		missed := "-"
		if len(y.missed) > 0 {
			slices.Sort(y.missed)
			missed = fmt.Sprintf("%.1f points", 100*y.missed[len(y.missed)/2])
		}
		fmt.Fprintf(out, "%s | %d | %s | %s | %s | %s | %d of %d\n", n, y.parts, percent(y.named, y.parts),
			percent(y.within, y.parts), percent(y.held, y.parts), missed, y.falsely, y.absent)
	}
	_, err := fmt.Fprintf(out, "\n%d figures changed in %d cases; the parts add up to the change in %d; %d figures more "+
		"were rejected; %d rows left out\n", figures, len(cases), summed, rejected, leftOut)
	return err
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of))
}
