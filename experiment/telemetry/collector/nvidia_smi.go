package collector

import (
	"bench/experiment/telemetry"
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// columns are the fields that nvidia-smi is asked for, the last by its newer and its older name; the oldest have neither.
var (
	columns = []string{"index", "uuid", "name", "utilization.gpu", "power.draw", "clocks.sm", "clocks.mem", "memory.used", "memory.total", "temperature.gpu"}
	reasons = []string{"clocks_event_reasons.active", "clocks_throttle_reasons.active", ""}
)

// smiTimeout is what one answer may take: with many GPUs, or without persistence mode, the driver needs seconds.
const smiTimeout = 10 * time.Second

// smiTool is an nvidia-smi that answers.
type smiTool struct {
	path  string
	query string // the --query-gpu that it takes
}

// findSMI looks for nvidia-smi and finds out what it can be asked.
func findSMI(ctx context.Context) (*smiTool, error) {
	path, err := exec.LookPath(telemetry.NvidiaSMI)
	if err != nil {
		return nil, errors.New("there is no nvidia-smi on this machine")
	}
	t := &smiTool{path: path}
	for _, last := range reasons {
		t.query = strings.TrimSuffix(strings.Join(append(slices.Clone(columns), last), ","), ",")
		if _, err = t.read(ctx); err == nil {
			return t, nil
		}
	}
	return nil, err
}

// read asks for the GPUs once.
func (t *smiTool) read(ctx context.Context) ([]telemetry.GPUReading, error) {
	text, err := t.run(ctx, "--query-gpu="+t.query)
	if err != nil {
		return nil, err
	}
	return parseGPUs(text)
}

// processes are those that compute on the GPUs.
func (t *smiTool) processes(ctx context.Context) ([]telemetry.GPUProcess, error) {
	text, err := t.run(ctx, "--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory")
	if err != nil {
		return nil, err
	}
	return parseProcesses(text)
}

func (t *smiTool) run(ctx context.Context, query string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, query, "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	var out, words capped
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(string(append(out.text, words.text...)))
		return nil, fmt.Errorf("nvidia-smi: %w: %.200q", err, said)
	}
	return out.text, nil
}

// capped keeps the beginning of what is written.
type capped struct{ text []byte }

func (c *capped) Write(p []byte) (int, error) {
	c.text = append(c.text, p[:min(len(p), keptBytes-len(c.text))]...)
	return len(p), nil
}

// loop has nvidia-smi write every GPU once a period, until ctx ends: starting it anew each time costs far more. each takes
// the GPUs of one round and when they came.
func (t *smiTool) loop(ctx context.Context, period time.Duration, each func([]telemetry.GPUReading, time.Time)) error {
	cmd := exec.CommandContext(ctx, t.path, "--query-gpu="+t.query, "--format=csv,noheader,nounits", fmt.Sprintf("--loop-ms=%d", period.Milliseconds()))
	cmd.WaitDelay = time.Second
	r, w := io.Pipe()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("nvidia-smi: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rounds(r, each)
		_ = r.Close() // what is not read must not hold the process up
	}()
	err := cmd.Wait()
	_ = w.Close()
	<-done
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("nvidia-smi ended: %v", err)
}

// rounds cuts what nvidia-smi writes in its loop: a round is over when a GPU comes again. A line that can't be read ends
// nothing, since a driver may warn between the lines.
func rounds(r io.Reader, each func([]telemetry.GPUReading, time.Time)) {
	lines := bufio.NewScanner(r)
	var round []telemetry.GPUReading
	var at time.Time
	for lines.Scan() {
		gpus, err := parseGPUs(lines.Bytes())
		if err != nil {
			continue
		}
		if len(round) > 0 && slices.ContainsFunc(round, func(g telemetry.GPUReading) bool { return g.GPU == gpus[0].GPU }) {
			each(round, at)
			round = nil
		}
		if round = append(round, gpus[0]); len(round) == 1 {
			at = time.Now()
		}
	}
}

// parseGPUs reads lines of --query-gpu; what a GPU does not tell is "[N/A]" or the like.
func parseGPUs(text []byte) ([]telemetry.GPUReading, error) {
	rows, err := records(text, len(columns))
	if err != nil {
		return nil, err
	}
	var out []telemetry.GPUReading
	for _, f := range rows {
		g := telemetry.GPUReading{
			GPU: f[0], UUID: f[1], Name: f[2], PowerW: number(f[4], 1), SMClock: number(f[5], 1), MemoryClock: number(f[6], 1),
			UsedMiB: number(f[7], 1), TotalMiB: number(f[8], 1), Temperature: number(f[9], 1), Busy: number(f[3], 0.01),
		}
		if _, err := strconv.Atoi(g.GPU); err != nil {
			return nil, fmt.Errorf("nvidia-smi: %.100q is no GPU", g.GPU)
		}
		if len(f) > len(columns) {
			if mask, err := strconv.ParseUint(f[len(columns)], 0, 64); err == nil {
				setThrottled(&g, mask)
			}
		}
		out = append(out, g)
	}
	if len(out) == 0 {
		return nil, errors.New("nvidia-smi names no GPU")
	}
	return out, nil
}

// parseProcesses reads lines of --query-compute-apps; none is a GPU that nobody uses.
func parseProcesses(text []byte) ([]telemetry.GPUProcess, error) {
	rows, err := records(text, 4)
	if err != nil {
		return nil, err
	}
	out := []telemetry.GPUProcess{}
	for _, f := range rows {
		pid, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi: %.100q is no process id", f[1])
		}
		out = append(out, telemetry.GPUProcess{GPU: f[0], PID: pid, Name: f[2], UsedMiB: number(f[3], 1)})
	}
	return out, nil
}

// records are the fields of lines, each with so many at least.
func records(text []byte, least int) ([][]string, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.TrimLeadingSpace, r.FieldsPerRecord, r.LazyQuotes = true, -1, true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	for _, f := range rows {
		if len(f) < least {
			return nil, fmt.Errorf("nvidia-smi: %.100q has %d fields, not %d", strings.Join(f, ","), len(f), least)
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
	}
	return rows, nil
}

// number is a figure; nil = none was told.
func number(text string, scale float64) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v < 1e12) {
		return nil
	}
	return new(telemetry.Round(v*scale, 6))
}
