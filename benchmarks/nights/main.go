// Command nights runs histories of simulated nights through deploy/bench-nightly: see README.md.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed nightly.toml
var nightlyMatrix string

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	seeds := flag.Int("seeds", 1, "histories of each setting")
	first := flag.Uint64("first", 1, "seed of the first one")
	count := flag.Int("nights", 60, "nights of a history")
	names := flag.String("setting", "all", "settings, separated by commas: all, one, twice, noise, odd-12+8 and the like")
	dir := flag.String("dir", "", "`DIR` to keep the histories in (default: a temporary one, removed)")
	program := flag.String("bench", "", "`FILE` of bench (default: go build)")
	print := flag.Bool("v", false, "a line for each night; the trend page on each one")
	matrix := flag.String("sweep", "", "stand in for bench sweep of this matrix `FILE`")
	out := flag.String("out", "", "with -sweep: `DIR` of the results")
	night := flag.Int("night", 0, "with -sweep: the night")
	seed := flag.Uint64("seed", 1, "with -sweep: the history's seed")
	flag.Parse()
	chosen, err := settingsOf(*names)
	if err != nil {
		return err
	}
	if *matrix != "" {
		return chosen[0].nights(*night, *seed)[*night-1].sweepNight(*matrix, *out)
	}
	return histories(chosen, *seeds, *first, *count, *dir, *program, *print)
}

func settingsOf(names string) ([]*setting, error) {
	var out []*setting
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(settings, func(s setting) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no setting %q", name)
		}
		out = append(out, &settings[i])
	}
	return out, nil
}

// histories runs seeds histories of each setting and prints the table.
func histories(chosen []*setting, seeds int, first uint64, count int, dir, program string, print bool) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "nights"); err != nil {
			return fmt.Errorf("making a directory: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	dir, err1 := filepath.Abs(dir)
	script, err2 := filepath.Abs("../deploy/bench-nightly")
	self, err3 := os.Executable()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if program == "" {
		program = filepath.Join(dir, "bench")
		if text, err := exec.Command("go", "-C", "..", "build", "-o", program, "./cmd/bench").CombinedOutput(); err != nil {
			return fmt.Errorf("building bench from benchmarks/: %w\n%s", err, text)
		}
	}
	var tallies []*tally
	for _, s := range chosen {
		t := &tally{}
		for seed := first; seed < first+uint64(seeds); seed++ {
			h := &history{setting: s, seed: seed, dir: filepath.Join(dir, fmt.Sprintf("%s-%d", s.Name, seed)),
				script: script, bench: program,
				self: self, nights: count, trends: print}
			if print {
				h.each = func(o outcome) { fmt.Printf("%s, seed %d, %s\n", s.Name, seed, o.String()) }
			}
			nights, err := h.run()
			if err != nil {
				return err
			}
			t.add(s, seed, nights)
			fmt.Printf("%s, seed %d: %s\n", s.Name, seed, summary(nights))
		}
		tallies = append(tallies, t)
	}
	table(os.Stdout, chosen, tallies)
	return nil
}
