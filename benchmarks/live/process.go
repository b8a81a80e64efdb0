package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/shirou/gopsutil/v4/process"

	"bench/live/recording"
)

type watched struct {
	pid   int
	admin string // URL of its metrics
}

// sampled is the state of a process.
type sampled struct {
	rssMB      float64
	files      int    // open files and connections
	goroutines string // "–": not reported
}

func (w watched) sample(ctx context.Context) (sampled, error) {
	p, err := process.NewProcess(int32(w.pid))
	if err != nil {
		return sampled{}, err
	}
	memory, err := p.MemoryInfo()
	if err != nil {
		return sampled{}, err
	}
	files, err := p.NumFDs()
	if err != nil {
		return sampled{}, err
	}
	return sampled{rssMB: float64(memory.RSS) / 1e6, files: int(files), goroutines: w.metric(ctx, "go_goroutines")}, nil
}

// metric is a figure of the proxy's metrics.
func (w watched) metric(ctx context.Context, name string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.admin+"/metrics", nil)
	if err != nil {
		return "–"
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return "–"
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return "–"
}

func readRecording(file string) (lines int, c recording.Counts, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, c, err
	}
	defer f.Close()
	_, c, err = recording.Read(f, func(*recording.Exchange) error {
		lines++
		return nil
	})
	return lines, c, err
}

// compareWithRecording prints what was sent beside what was recorded. It is an error if they differ.
func compareWithRecording(out io.Writer, file string, c *counts) error {
	lines, recorded, err := readRecording(file)
	if err != nil {
		return fmt.Errorf("reading the recording: %w", err)
	}
	sent := int(c.sent.Load())
	fmt.Fprintf(out, "sent %d, ended %d, cancelled %d, failed %d; recorded: %d lines of %d requests, %d unrecorded, %d without hashes, end written: %v\n",
		sent, c.ended.Load(), c.cancelled.Load(), c.failed.Load(), lines, recorded.Requests, recorded.Unrecorded, recorded.Unhashed, recorded.EndedAt != nil)
	if problem := c.problem.Load(); problem != nil {
		fmt.Fprintln(out, "first failure: "+*problem)
	}
	if lines+recorded.Unrecorded != recorded.Requests || recorded.Requests != sent {
		return errors.New("requests are missing in the recording")
	}
	return nil
}
