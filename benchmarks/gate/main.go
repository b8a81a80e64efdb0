// Gate measures the gate of bench compare on simulated nights: how often it takes equal nights for different,
// how often it leaves them undecided, and how often it finds a planted regression. Nights are rows with
// summaries, made in memory; package compare gives the verdicts.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	t := trials{changes: changes}
	flags.IntVar(&t.n, "trials", 1000, "nights of each setting")
	flags.Uint64Var(&t.seed, "seed", 1, "of the random numbers")
	flags.BoolVar(&t.requests, "requests", false,
		"rows with request records, a hundred times slower; implies -equal")
	match := flags.String("match", "", "only settings whose group and name match this expression")
	inARow := flags.Bool("stories", false, "nights in a row, as deploy/bench-nightly judges them")
	equal := flags.Bool("equal", false, "equal nights only, no planted change")
	format := flags.String("format", "md", "md or csv")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *inARow {
		return tellAll(out, t.n, t.seed)
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	to, ok := tables[*format]
	if !ok {
		return errors.New("-format takes md or csv")
	}
	if *equal || t.requests {
		t.changes = changes[:1]
	}
	fmt.Fprintln(out, to.head(t))
	for _, s := range settings() {
		if !pattern.MatchString(s.String()) {
			continue
		}
		tallies, err := t.simulate(s)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		fmt.Fprintln(out, to.line(s, tallies))
	}
	return nil
}
