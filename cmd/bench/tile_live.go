package main

import (
	"io"
	"time"

	"bench/experiment/record"
	"bench/sweep"
	"bench/sweep/live"
)

// failingError ends a row whose requests all fail.
type failingError = live.FailingError

// tileLive shows the row of tiling that runs.
type tileLive struct {
	w        io.Writer
	interval time.Duration
	end      func(cause error)
	title    string
	told     <-chan struct{}

	tiling *live.Tiling // nil before the first event
	forget func()
	row    *record.Row
}

func newTileLive(w io.Writer, interval time.Duration, end func(cause error)) *tileLive {
	return &tileLive{w: w, interval: interval, end: end}
}

func (l *tileLive) event(e sweep.Event) {
	if l.tiling == nil {
		var view *live.View
		view, l.forget = newView(l.w, l.interval, l.told)
		l.tiling = &live.Tiling{View: view, End: l.end, Title: l.title}
	}
	l.tiling.Event(e)
	l.row = l.tiling.Row
}

func (l *tileLive) stop() {
	if l.tiling != nil {
		l.tiling.Stop()
		l.forget()
	}
}
