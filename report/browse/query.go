package browse

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"bench/report/compare"
)

// Query picks runs and their order. Its zero value is all runs, the latest first.
type Query struct {
	Matrix, Model, Hardware, Server, Answer string // exactly; empty: any

	From, To string // days in UTC, both included: 2026-01-31; empty: any
	Text     string // words, all of which the run's line contains, in any case

	Sort string   // key of a column, - before it: descending; empty: by start, descending
	page int      // from 0
	Runs []string // selected, by directory
}

func (q *Query) fields() map[string]*string {
	return map[string]*string{"matrix": &q.Matrix, "model": &q.Model, "hardware": &q.Hardware, "server": &q.Server,
		"answer": &q.Answer, "from": &q.From, "to": &q.To, "q": &q.Text, "sort": &q.Sort}
}

const day = "2006-01-02"

// parseQuery reads a URL's query. Keys of other pages are ignored; the error says which value is wrong.
func parseQuery(v url.Values) (Query, error) {
	var q Query
	for key, into := range q.fields() {
		*into = strings.TrimSpace(v.Get(key))
	}
	for _, key := range []string{"from", "to"} {
		if text := *q.fields()[key]; text != "" {
			if _, err := time.Parse(day, text); err != nil {
				return Query{}, fmt.Errorf("%s=%q is not a day: write it like 2026-01-31", key, text)
			}
		}
	}
	if key := strings.TrimPrefix(q.Sort, "-"); q.Sort != "" && columnOf(key) == nil {
		return Query{}, fmt.Errorf("sort=%q: no column has this name", q.Sort)
	}
	if text := v.Get("page"); text != "" {
		if _, err := fmt.Sscanf(text, "%d", &q.page); err != nil || q.page < 0 || fmt.Sprint(q.page) != text {
			return Query{}, fmt.Errorf("page=%q is not a number ≥ 0", text)
		}
	}
	for _, run := range v["run"] {
		if run != "" && !slices.Contains(q.Runs, run) {
			q.Runs = append(q.Runs, run)
		}
	}
	return q, nil
}

func (q Query) Encode() string {
	v := url.Values{}
	for key, value := range q.fields() {
		if *value != "" {
			v.Set(key, *value)
		}
	}
	if q.page > 0 {
		v.Set("page", fmt.Sprint(q.page))
	}
	if len(q.Runs) > 0 {
		v["run"] = q.Runs
	}
	return v.Encode()
}

func (q Query) pick(nights []compare.Night) []compare.Night {
	words := strings.Fields(strings.ToLower(q.Text))
	var out []compare.Night
	for _, n := range nights {
		if n.Headline != nil && q.matches(&n) && contains(&n, words) {
			out = append(out, n)
		}
	}
	key, down := strings.CutPrefix(cmp.Or(q.Sort, "-started"), "-")
	by := columnOf(key)
	slices.SortStableFunc(out, func(a, b compare.Night) int { return by.order(&a, &b, down) })
	return out
}

func (q *Query) matches(n *compare.Night) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	date := n.StartedAt.UTC().Format(day)
	return is(q.Matrix, n.Group.Matrix) && is(q.Model, n.Group.Model) && is(q.Hardware, hardware(n)) &&
		is(q.Server, server(n)) && is(q.Answer, n.Headline.Answer) && (q.From == "" || date >= q.From) &&
		(q.To == "" || date <= q.To)
}

func contains(n *compare.Night, words []string) bool {
	h := n.Headline
	line := strings.ToLower(strings.Join([]string{n.Dir, n.Run, n.Group.Matrix, n.Group.Model, hardware(n),
		n.Group.Precision, server(n), h.State, h.Answer, h.Point, h.Trust, gate(n)}, "\n"))
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
}
