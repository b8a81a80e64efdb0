package main

import (
	"fmt"

	"bench/report/compare"
	"bench/report/foreign"
	"bench/sweep"
	"bench/sweep/live"
)

// count is a number of things: 1 finding, 2 findings.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

func unread() func() { return ignoreSIGPIPE() }

func plain(s string) string { return safe(s) }

func finished(f *sweep.Finished) string { return live.RowLine(f) }

func loadSide(arg string) (compare.Side, error) { return foreign.LoadSide(arg) }
