package browse

import (
	"cmp"
	"fmt"
	"strings"

	"bench/report/compare"
)

type column struct {
	key, head, unit string
	number          func(*compare.Night) *float64 // nil figure: not measured
	text            func(*compare.Night) string   // if number is nil; empty: not known
}

var columns = []column{
	{key: "started", head: "started", unit: "UTC",
		text: func(n *compare.Night) string { return n.StartedAt.UTC().Format("2006-01-02T15:04:05.000") }},
	{key: "matrix", head: "matrix", text: func(n *compare.Night) string { return n.Group.Matrix }},
	{key: "model", head: "model", text: func(n *compare.Night) string { return n.Group.Model }},
	{key: "hardware", head: "hardware", text: hardware},
	{key: "server", head: "server", text: server},
	{key: "answer", head: "answer", text: func(n *compare.Night) string { return n.Headline.Answer }},
	{key: "point", head: "point", text: func(n *compare.Night) string { return n.Headline.Point }},
	{key: "output", head: "output", unit: "tok/s/GPU", number: output},
	{key: "ttft", head: "TTFT", number: func(n *compare.Night) *float64 { return ms(n.Headline.TTFT) }},
	{key: "tpot", head: "TPOT", number: func(n *compare.Night) *float64 { return ms(n.Headline.TPOT) }},
	{key: "trust", head: "trust", number: trust},
	{key: "gate", head: "gate", text: gate},
	{key: "gpu", head: "GPU-seconds", number: func(n *compare.Night) *float64 { return n.Headline.GPUSeconds }},
}

func columnOf(key string) *column {
	for i := range columns {
		if columns[i].key == key {
			return &columns[i]
		}
	}
	return nil
}

// order compares two runs by the column. A run without its value comes last, up or down.
func (c *column) order(a, b *compare.Night, down bool) int {
	var result int
	var known [2]bool
	if c.number != nil {
		x, y := c.number(a), c.number(b)
		if known = [2]bool{x != nil, y != nil}; known[0] && known[1] {
			result = cmp.Compare(*x, *y)
		}
	} else {
		x, y := c.text(a), c.text(b)
		known, result = [2]bool{x != "", y != ""}, strings.Compare(x, y)
	}
	switch {
	case known[0] != known[1]:
		return map[bool]int{true: -1, false: 1}[known[0]]
	case down:
		return -result
	}
	return result
}

func hardware(n *compare.Night) string {
	if n.Group.Hardware != "" && n.Group.GPUs > 0 {
		return fmt.Sprintf("%d × %s", n.Group.GPUs, n.Group.Hardware)
	}
	return n.Group.Hardware
}

func server(n *compare.Night) string { return n.Headline.Server }

const unreadable = "unreadable"

func gate(n *compare.Night) string {
	switch {
	case n.GateError != "":
		return unreadable
	case n.Gate == nil:
		return ""
	}
	return string(n.Gate.Verdict)
}

// output is output tok/s per GPU, or of all GPUs if their number is not specified; nil: not measured, or invalid.
func output(n *compare.Night) *float64 {
	switch h := n.Headline; {
	case h.PerGPU != nil:
		return h.PerGPU
	case h.OutputTokensPerS > 0:
		return &h.OutputTokensPerS
	}
	return nil
}

func ms(q *compare.Percentile) *float64 {
	if q == nil {
		return nil
	}
	return &q.Ms
}

// trust orders by invalid rows, then by rows with a caution.
func trust(n *compare.Night) *float64 {
	const most = 1e6 // rows of a run
	return new(most*float64(n.Headline.Invalid) + float64(n.Headline.Cautions))
}
