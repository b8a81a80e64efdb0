package kube

import (
	"slices"
	"strconv"
	"strings"
)

// cronFields are the fields of a schedule in their order, as the CronJob controller reads them (cron's standard parser).
var cronFields = []struct {
	least, most int
	names       []string // of the values from least; nil: numbers only
}{
	{0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// macro is a schedule by name.
var macro = grammar(`^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$`)

// isSchedule reports whether a CronJob accepts a schedule.
func isSchedule(text string) bool {
	if macro(text) {
		return true
	}
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) || strings.Join(fields, " ") != text {
		return false
	}
	for i, f := range fields {
		for part := range strings.SplitSeq(f, ",") {
			if !isCronRange(part, i) {
				return false
			}
		}
	}
	return true
}

// isCronRange reports whether a part is *, ?, a value or a range, with or without a step.
func isCronRange(part string, field int) bool {
	c := cronFields[field]
	span, step, stepped := strings.Cut(part, "/")
	if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
		return false
	}
	if span == "*" || span == "?" {
		return true
	}
	last := c.least
	for i, word := range strings.SplitN(span, "-", 2) {
		n, err := strconv.Atoi(word)
		if at := slices.Index(c.names, strings.ToLower(word)); at >= 0 {
			n, err = c.least+at, nil
		}
		if err != nil || n < c.least || n > c.most || i > 0 && n < last {
			return false
		}
		last = n
	}
	return true
}
