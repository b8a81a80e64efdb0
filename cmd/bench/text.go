package main

import (
	"fmt"

	"bench/report/compare"
	"bench/report/foreign"
	"bench/sweep"
	"bench/sweep/live"
)

// The names below serve the files of tile until these use the packages directly.

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

type result compare.Run

func (r result) compared() compare.Run { return compare.Run(r) }

func loadResult(path string) (result, error) {
	side, err := foreign.LoadSide(path)
	if err != nil {
		return result{}, err
	}
	return result(side.Runs[0]), nil
}
