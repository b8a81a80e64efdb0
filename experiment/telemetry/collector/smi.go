package collector

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"bench/experiment/telemetry"
)

// smi is a vendor's command-line tool for its GPUs.
type smi interface {
	read(context.Context) ([]telemetry.GPUReading, error)
	processes(context.Context) ([]telemetry.GPUProcess, error)
}

// smiSample queries the figures and the processes, each if it is wanted. Its time is that of the figures.
func smiSample(ctx context.Context, t smi, figures, processes bool) telemetry.Sample {
	before := time.Now()
	s := telemetry.Sample{Source: telemetry.SourceGPU}
	var err1, err2 error
	if figures {
		s.GPUs, err1 = t.read(ctx)
	}
	took := time.Since(before)
	s.At, s.Span = before.Add(took/2), took.Microseconds()
	if processes {
		s.Processes, err2 = t.processes(ctx)
	}
	if err := errors.Join(err1, err2); err != nil {
		s.Error = err.Error()
	}
	return s
}

// runSMI is the output of one call of the tool.
func runSMI(ctx context.Context, name, path string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	var out, words limitedBuffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(string(append(out.text, words.text...)))
		return nil, fmt.Errorf("%s: %w: %.200q", name, err, said)
	}
	return out.text, nil
}

// limitedBuffer keeps the first maxKeptBytes.
type limitedBuffer struct{ text []byte }

// Write implements io.Writer.
func (c *limitedBuffer) Write(p []byte) (int, error) {
	c.text = append(c.text, p[:min(len(p), maxKeptBytes-len(c.text))]...)
	return len(p), nil
}
