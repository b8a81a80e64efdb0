package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	root "bench"
	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/roofline"
	"bench/experiment/text"
	"bench/report"
	"bench/sweep/forecast"
)

// tileMatrix is the matrix of `bench tile`, and tileBlocks the blocks of each of two endpoints.
const (
	tileMatrix = "matrices/tile.toml"
	tileBlocks = 4
)

// tileInterval is between two lines of metrics.
var tileInterval = 5 * time.Second

func newTile(c *cli) *cobra.Command {
	var duration time.Duration
	in := &sweepInput{sweepFlags: &sweepFlags{}}
	cmd := &cobra.Command{
		Use:   "tile URL [URL]",
		Short: "the endless KV-cache tiling workload with live metrics",
		Long: `tile sends long contexts in a circle, each time with another question behind the context. It sends as many contexts
as fill an offloading tier of the KV cache. The circle is the worst case of an LRU cache: a cache that is smaller than all
contexts together finds none of them again; a cache with room for all finds every one from the second rotation on.
tile runs matrices/tile.toml until interrupted (or for --duration), prints a line of metrics every 5 s, and saves
the results of a sweep, for bench report and bench compare. The first rotation finds nothing: it is stored, not counted.
--set changes any key of the matrix: bench init writes it, with a comment for each key.
Two endpoints are measured in interleaved blocks (A B B A) of one run, which bench compare compares.`,
		Example: `  bench tile http://localhost:8000                          # fills 0.9 of 100 GiB
  bench tile localhost:8000 --set row.tile.tile.offload_gib=400 --set row.tile.tile.kv_precision=fp8
  bench tile localhost:8000 --set row.tile.tile.fit=hbm --duration 5m
  bench tile mock --set row.tile.tile.contexts=6 --set row.tile.input=512 --set row.tile.tile.rounds=3
  bench tile host-a:8000 host-b:8000 --duration 5m          # two servers, interleaved`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := positive(cmd.Flags()); err != nil {
				return err
			}
			if len(args) > 1 && duration == 0 {
				return usage("two endpoints need --duration\nhint: --duration 5m (per endpoint, in %d blocks)",
					tileBlocks)
			}
			var err error
			if in.text, err = root.Matrices.ReadFile(tileMatrix); err != nil {
				return fmt.Errorf("reading a matrix of bench's own: %w", err)
			}
			in.set = append(tileOverrides(args, duration), in.set...)
			in.watch.interval = tileInterval
			return in.sweep(c, cmd, tileMatrix)
		},
	}
	fl := cmd.Flags()
	in.sweepFlags.key.register(fl)
	modelFlag(fl, &in.model, requestedModel)
	fl.DurationVar(&duration, "duration", 0, "`TIME` to measure after the warm-up (until interrupted)")
	outFlag(fl, &in.out, "results")
	setFlag(fl, &in.set)
	return cmd
}

func tileOverrides(endpoints []string, duration time.Duration) (set []string) {
	if len(endpoints) > 1 {
		duration /= tileBlocks
		set = append(set, fmt.Sprintf("target.endpoints=[%q, %q]", endpoints[0], endpoints[1]), `order="interleaved"`,
			fmt.Sprintf("row.tile.repeats=%d", tileBlocks))
	} else {
		set = append(set, "target.endpoint="+strconv.Quote(endpoints[0]))
	}
	if duration > 0 {
		set = append(set, "row.tile.duration="+strconv.Quote(duration.String()))
	}
	return set
}

func (in *sweepInput) describeTiling(stdout io.Writer, server *endpoint.Server, sizing *experiment.Sizing) {
	if in.watch.interval == 0 || in.described {
		return
	}
	in.described = true
	point := &in.m.Points[0]
	fmt.Fprintf(stdout, "endpoint   %s\n%s", safe(server.Info.Endpoint),
		forecast.TilingText(point, server.Info.Model, server.CacheTokens(), sizing))
	if point.UntilInterrupted() {
		fmt.Fprint(stdout, "\nIt runs until Ctrl-C, and then saves the results.\n")
	}
	fmt.Fprintln(stdout)
}

// sizeTiles counts the contexts of the rows that do not state them, and returns the last sizing; nil: none is computed.
func sizeTiles(points []experiment.Spec, machine experiment.Machine) (sizing *experiment.Sizing, err error) {
	for i := range points {
		if sizing, err = points[i].SizeTiling(machine); err != nil {
			return nil, unsizable(&points[i], err)
		}
	}
	return sizing, nil
}

func unsizable(s *experiment.Spec, err error) error {
	err = fmt.Errorf("%s: %w", s.Label(), err)
	if unknown := new(roofline.UnknownError); errors.As(err, &unknown) {
		return usage("%w\nhint: or state the contexts, or the bytes of a token in the KV cache: "+
			"--set %[2]s=8, or --set %[3]s=131072", unknownEntry(err),
			text.ShellWord("row."+s.Name+".tile.contexts"), text.ShellWord("row."+s.Name+".tile.bytes_per_token"))
	}
	return usage("%w", err)
}

// reportGC is the GOGC while the report of an endless row is made, which has many records.
const reportGC = 20

// keepsCut reports whether an interrupt closes the window of the row that runs, whose result is kept: of the one
// row of bench tile, and of a row with until = "stopped" that runs alone.
func (in *sweepInput) keepsCut() bool {
	picked, _ := in.m.Pick(in.only)
	return len(picked) == 1 && (in.watch.interval > 0 || picked[0].UntilInterrupted())
}

// cutShort is the error of a row that an interrupt ended before its end; nil: it has none, or has a whole result.
func cutShort(dir string) error {
	run, err := report.Load(dir)
	if err != nil || len(run.Rows) == 0 {
		return err
	}
	switch row := run.Rows[0]; {
	case row.Summary.Requests.Planned == 0:
		return interrupted("interrupted in the warm-up: %s has its requests, and none is counted\n"+
			"hint: let it run longer than the warm-up, or --set row.%s.warmup=1", dir, row.Spec.Name)
	case !row.Spec.UntilInterrupted():
		return interrupted("interrupted before its end: %s has what was measured until then", dir)
	}
	return nil
}
