package main

import (
	"errors"

	"github.com/spf13/cobra"

	"bench/report/why"
)

func newWhy(c *cli) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "why A B",
		Short: "divide the difference of two runs among its causes",
		Long: `why fits the twin (docs/predict.md#the-twin) of both runs, and divides the change of each latency
among what was sent (arrivals, lengths, cache hits), what the server made of it (step time at equal batch, prefill
time, front end, batching), the client's lag, and what remains unexplained. Rows are matched by name. A twin that is
off by more than 15 % explains nothing.`,
		Example: `  bench why results/nightly/20260101T020000Z results/nightly/20260102T020000Z`,
		Args:    cobra.ExactArgs(2),
		RunE:    func(_ *cobra.Command, args []string) error { return divide(c, args[0], args[1], o) },
	}
	o.register(cmd.Flags(), "", textOrJSON...)
	return cmd
}

func divide(c *cli, a, b string, o output) error {
	base, err := c.load(a)
	if err != nil {
		return err
	}
	changed, err := c.load(b)
	if err != nil {
		return err
	}
	r := why.Of(base, changed, why.All)
	err = c.write(o, "causes", r, r.Text)
	if err == nil && len(r.Rows) == 0 {
		return errors.New("nothing was compared\nhint: rows are matched by name and load: name two runs of one matrix")
	}
	return err
}
