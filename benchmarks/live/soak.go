package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"bench/experiment/server"
)

// soak keeps streams open through a recorder. Of each stream's requests every tenth is cancelled, every tenth stream
// reads slowly, and a body of 50 MB comes every ten seconds.
type soak struct {
	bench, dir string
	streams    int
	duration   time.Duration
}

const (
	hugeBody  = 50 << 20
	hugeEvery = 10 * time.Second
	settle    = 5 * time.Second // after the load, before the last sample
)

func (s soak) run(ctx context.Context, out io.Writer) error {
	file := filepath.Join(s.dir, "live.jsonl.zst")
	admin, err := freeAddress()
	if err != nil {
		return err
	}
	var c counts
	err = server.Run(ctx, mock(s.bench, "--set", "mock.ttft=50ms", "--set", "mock.itl=200ms"), func(ctx context.Context, a server.Running) error {
		config := recorder(s.bench, a.URL, file, "--admin", admin)
		return server.Run(ctx, config, func(ctx context.Context, p server.Running) error {
			w := watched{pid: p.PID, admin: "http://" + admin}
			return s.load(ctx, out, p.URL, w, &c)
		})
	})
	if err != nil {
		return err
	}
	return compareWithRecording(out, file, &c)
}

// load opens the streams, samples the proxy, and ends when all streams have ended.
func (s soak) load(ctx context.Context, out io.Writer, url string, w watched, c *counts) error {
	t := table{out: out}
	if err := t.sample(ctx, "before", w, c); err != nil {
		return err
	}
	loading, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	clients := sync.WaitGroup{}
	for i := range s.streams {
		clients.Go(func() { newCaller(url, i, c).run(ctx, loading) })
	}
	clients.Go(func() { sendHuge(ctx, loading, url, c) })
	tick := time.NewTicker(max(s.duration/10, time.Second))
	defer tick.Stop()
	for loading.Err() == nil {
		select {
		case <-tick.C:
			if err := t.sample(ctx, "load", w, c); err != nil {
				return err
			}
		case <-loading.Done():
		}
	}
	clients.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err := t.sample(ctx, "ended", w, c); err != nil {
		return err
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
	}
	return t.sample(ctx, "after", w, c)
}

// table prints a line for each sample.
type table struct {
	out   io.Writer
	began time.Time
}

func (t *table) sample(ctx context.Context, phase string, w watched, c *counts) error {
	if t.began.IsZero() {
		t.began = time.Now()
		fmt.Fprintln(t.out, "time s  phase   RSS MB  open files  goroutines  requests  ended  cancelled  failed  huge")
	}
	p, err := w.sample(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "%6.0f  %-6s  %6.1f  %10d  %10s  %8d  %5d  %9d  %6d  %4d\n", time.Since(t.began).Seconds(), phase, p.rssMB, p.files, p.goroutines,
		c.sent.Load(), c.ended.Load(), c.cancelled.Load(), c.failed.Load(), c.huge.Load())
	return err
}
