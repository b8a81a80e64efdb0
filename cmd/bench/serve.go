package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"bench/experiment/target"
	"bench/experiment/unit"
	"bench/internal/listen"
	"bench/report/browse"
	"bench/report/compare"
)

func newServe(c *cli) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "browse results: all runs in a table; report, compare, trend",
		Long: `serve shows every run below a directory in a browser: one table to filter, sort and search. Select two or more runs to
compare the latest with the others, one or several for a report, many for their trend. URLs can be bookmarked.

It answers on 127.0.0.1 only, unless --listen names another address, and it has no password. It writes nothing but
DIR/` + compare.IndexName + `, the index that bench history uses too; without write permission it continues without it.`,
		Example: `  bench serve results                            # then open http://127.0.0.1:8484
  ssh -L 8484:127.0.0.1:8484 gpu-host            # the same, for results on another machine
  bench serve results --listen 127.0.0.1:0       # any free port
  bench serve results --listen 0.0.0.0:8484      # for the whole network: without a password`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isAddress(args[0]) {
				return usage("serve shows results of a directory, not of %s\nhint: bench %[1]s measures it",
					target.Redact(args[0]))
			}
			return serveArchive(cmd.Context(), c, args[0], address)
		},
	}
	listenFlag(cmd.Flags(), &address, "127.0.0.1:8484")
	return cmd
}

func serveArchive(ctx context.Context, c *cli, dir, address string) error {
	archive, err := browse.Open(dir)
	if err != nil {
		return usage("%w\nhint: name the directory of the runs, like results", err)
	}
	defer archive.Close()
	l, err := listenOn(ctx, address, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c.warnOpen(l, "--listen", ": every machine that reaches it reads these results")
	fmt.Fprintf(c.stdout, "serving on http://%s (Ctrl-C ends it)\n", l.Addr())
	archive.Begin()
	ctx, end := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer end()
	reader.Go(func() { readArchive(ctx, archive, c.stdout, c.stderr) })
	door := listen.Door{Handler: browse.NewServer(archive).Handler()}
	if err := door.Serve(ctx, l); err != nil && ctx.Err() == nil {
		return err
	}
	return errEnded
}

// readArchive reads what is new while the pages are served. Its lines say how far it is.
func readArchive(ctx context.Context, archive *browse.Archive, stdout, stderr io.Writer) {
	began, shown := time.Now(), 0
	nights, fresh, err := archive.Update(ctx, func(part browse.Part) {
		if read := len(part.Nights); read >= 2*shown { // few lines, of any number of runs
			shown = max(1, read)
			fmt.Fprintf(stdout, "%s of %s below %s read\n", unit.Count(read), unit.Plural(read+part.Left, "run"),
				safe(archive.Dir))
		}
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return
	case err != nil:
		fmt.Fprintln(stderr, message(err))
		return
	}
	if err := archive.IndexError(); err != nil {
		fmt.Fprintln(stderr, safe("note: no index: "+err.Error()))
	}
	fmt.Fprintf(stdout, "%s below %s; read %s in %s\n", unit.Plural(len(nights), "run"), safe(archive.Dir),
		unit.Count(fresh), time.Since(began).Round(time.Millisecond))
}
