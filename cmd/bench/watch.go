package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"bench/experiment/text"
	"bench/internal/listen"
	"bench/report"
	"bench/sweep"
	"bench/sweep/live"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func redraws(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

// colors reports whether output to w may be coloured (https://no-color.org).
func colors(w io.Writer) bool { return redraws(w) && os.Getenv("NO_COLOR") == "" }

// screenOf is the screen behind w: as wide as the terminal, the zero Screen for a file or a pipe.
func screenOf(w io.Writer) report.Screen {
	if !isTerminal(w) {
		return report.Screen{}
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil || width < 1 {
		width = 80
	}
	return report.Screen{Width: width, Color: colors(w)}
}

func safe(s string) string { return text.Escape(s) }

func (c *cli) notices(run *report.Run) {
	for _, line := range run.Notices() {
		fmt.Fprintln(c.stderr, safe("note: "+line))
	}
}

type watchFlags struct {
	plain, json bool
	metrics     string

	interval time.Duration // of bench tile: its lines instead of the live view; 0: none
}

func (f *watchFlags) register(fl *pflag.FlagSet) {
	fl.BoolVar(&f.plain, "plain", false,
		"one line per event instead of the live view (default when stderr is not a terminal)")
	fl.BoolVar(&f.json, "json", false,
		"JSON lines of events on stdout instead of the live view and the final table (docs/results.md)")
	fl.StringVar(&f.metrics, "metrics-listen", "",
		"serve live metrics to Prometheus at `ADDRESS`, e.g. 127.0.0.1:9464 (docs/grafana)")
}

type watcher struct {
	event func(sweep.Event)
	notes io.Writer // for others to write whole lines to
	stop  func()
	ended func(*sweep.Result) // after stop, when the report is written
}

func (in *sweepInput) watcher(ctx context.Context, c *cli) (watcher, error) {
	var w watcher
	f, m, only := in.watch, in.m, in.only
	switch {
	case f.interval > 0:
		t := &live.Tiling{View: newView(c.stdout, f.interval, ctx.Done())}
		w = watcher{t.Event, c.stderr, func() {
			t.Stop()
			fmt.Fprintln(c.stdout)
		}, func(*sweep.Result) {}}
	case f.json:
		e := live.NewMessages(c.stdout, m, only)
		w = watcher{e.Event, c.stderr, e.Stop, e.End}
	case !f.plain && redraws(c.stderr):
		view := newView(c.stderr, frameEvery, ctx.Done())
		s := live.NewSweep(view, m, only, colors(c.stderr))
		w = watcher{s.Event, view, view.Stop, func(*sweep.Result) {}}
	default:
		lines := live.NewLines(c.stderr, m, only)
		w = watcher{lines.Event, lines, lines.Stop, func(*sweep.Result) {}}
	}
	if f.metrics == "" {
		return w, nil
	}
	err := w.expose(ctx, f.metrics, m.Name)
	if err != nil {
		w.stop()
	}
	return w, err
}

const frameEvery = 250 * time.Millisecond

// newView returns a view on w. It redraws in place if w is a terminal.
func newView(w io.Writer, every time.Duration, interrupted <-chan struct{}) *live.View {
	v := &live.View{W: w, Every: every, Interrupted: interrupted}
	if !redraws(w) {
		return v
	}
	fd := int(w.(*os.File).Fd())
	v.Size = func() (int, int) {
		width, height, err := term.GetSize(fd)
		if err != nil || width < 1 || height < 1 {
			return 80, 24
		}
		return width, height
	}
	back := make(chan os.Signal, 1) // the program continues after a stop (Ctrl-Z, fg)
	signal.Notify(back, syscall.SIGCONT)
	v.Resumed, v.OnStop = back, func() { signal.Stop(back) }
	return v
}

func (w *watcher) expose(ctx context.Context, address, matrix string) error {
	l, err := listenOn(ctx, address, "--metrics-listen", "127.0.0.1:9464")
	if err != nil {
		return err
	}
	v, _ := version()
	m := &live.Metrics{Version: v, Matrix: matrix}
	handler := http.NewServeMux()
	handler.HandleFunc("/metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", live.MetricsType)
		_ = m.Write(out, time.Now()) // a scraper that leaves does not disturb the sweep
	})
	stop := (&listen.Door{Handler: handler}).Start(l)
	show, ended := w.event, w.ended
	w.event = func(e sweep.Event) {
		show(e)
		m.Event(e)
	}
	w.ended = func(r *sweep.Result) {
		ended(r)
		stop()
	}
	_, err = io.WriteString(w.notes, "metrics: http://"+l.Addr().String()+"/metrics\n")
	return err
}
