// Why measures bench why on simulated servers: 14 causes of a change are planted alone and in pairs, each in a server
// drawn by seed. The runs are predicted, written and read as a user's are. The truth of a pair is what the simulator
// makes of neither, one, the other and both: the mean of the two orders, of the logarithms.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"

	"bench/report/parallel"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "why:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("why", flag.ContinueOnError)
	alone := flags.Int("alone", 6, "servers of each cause alone")
	pairs := flags.Int("pairs", 1, "servers of each pair of causes")
	seed := flags.Uint64("seed", 1, "of the servers and the sizes of the causes")
	match := flags.String("match", "", "only cases whose causes match this expression, as 'step base, longer prompts'")
	list := flags.Bool("list", false, "every part, as CSV, in place of the tables")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	var cases []*trial
	for _, t := range trials(*alone, *pairs, *seed) {
		if pattern.MatchString(t.String()) {
			cases = append(cases, t)
		}
	}
	dir, err := os.MkdirTemp("", "why")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	parallel.Do(len(cases), nil, func(i int) { cases[i].run(dir) })
	for _, t := range cases {
		if t.err != nil {
			return fmt.Errorf("%s, seed %d: %w", t, t.seed, t.err)
		}
	}
	if *list {
		return writeParts(out, cases)
	}
	return writeTables(out, cases)
}
