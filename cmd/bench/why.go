package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"bench/report/export"
	"bench/report/foreign"
	"bench/report/why"
)

func newWhy(c *cli) *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "why A B",
		Short: "divide the difference of two runs among its causes",
		Long: `why fits the twin (docs/predict.md#the-twin) of both runs, and divides the change of each latency
among what was sent (arrivals, lengths, cache hits), what the server made of it (step time at equal batch, prefill
time, front end, batching), the client's lag, and what remains unexplained. Rows are matched by name. A twin that is
off by more than 15 % explains nothing.`,
		Example: `  bench why results/nightly/20260101T020000Z results/nightly/20260102T020000Z`,
		Args:    positional(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format, askFormats...); err != nil {
				return err
			}
			return c.why(args[0], args[1], format, output)
		},
	}
	formatFlag(cmd.Flags(), &format, askFormats)
	outputFlag(cmd.Flags(), &output, "")
	return cmd
}

func (c *cli) why(a, b, format, output string) error {
	base, err := foreign.Load(a)
	if err != nil {
		return usage("%w", err)
	}
	changed, err := foreign.Load(b)
	if err != nil {
		return usage("%w", err)
	}
	c.notices(base)
	c.notices(changed)
	r := why.Of(base, changed, why.All)
	err = c.deliver(output, "causes", map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return r.Text(w, screenOf(c.stdout)) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, r) },
	}[format])
	if err == nil && len(r.Rows) == 0 {
		return errors.New("nothing was compared\nhint: rows are matched by name and load: name two runs of one matrix")
	}
	return err
}
