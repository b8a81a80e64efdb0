package collect

import (
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

	"bench/experiment/telemetry"
)

// smiColumns are the queried fields. The last field is one of smiReasons: newer name, older name, or none.
var (
	smiColumns = []string{"index", "uuid", "name", "utilization.gpu", "power.draw", "clocks.sm", "clocks.mem",
		"memory.used", "memory.total", "temperature.gpu", "enforced.power.limit"}
	smiReasons = []string{"clocks_event_reasons.active", "clocks_throttle_reasons.active", ""}
)

// smiTimeout is for one query: with many GPUs, or without persistence mode, the driver needs seconds.
const smiTimeout = 10 * time.Second

type nvidiaSMI struct {
	path  string
	query string // the --query-gpu that it accepts
}

func findSMI(ctx context.Context) (*nvidiaSMI, error) {
	path, err := exec.LookPath(telemetry.NvidiaSMI)
	if err != nil {
		return nil, errors.New("nvidia-smi not found on this machine")
	}
	t := &nvidiaSMI{path: path}
	for _, last := range smiReasons {
		t.query = strings.TrimSuffix(strings.Join(append(slices.Clone(smiColumns), last), ","), ",")
		if _, err = t.read(ctx); err == nil {
			return t, nil
		}
	}
	return nil, err
}

func (t *nvidiaSMI) read(ctx context.Context) ([]telemetry.GPUReading, error) {
	text, err := t.run(ctx, "--query-gpu="+t.query)
	if err != nil {
		return nil, err
	}
	return parseGPUs(text)
}

func (t *nvidiaSMI) processes(ctx context.Context) ([]telemetry.GPUProcess, error) {
	text, err := t.run(ctx, "--query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory")
	if err != nil {
		return nil, err
	}
	return parseProcesses(text)
}

func (t *nvidiaSMI) run(ctx context.Context, query string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, query, "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	var out, words limitedBuffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(string(append(out.text, words.text...)))
		return nil, fmt.Errorf("%s: %w: %.200q", telemetry.NvidiaSMI, err, said)
	}
	return out.text, nil
}

type limitedBuffer struct{ text []byte }

func (c *limitedBuffer) Write(p []byte) (int, error) {
	c.text = append(c.text, p[:min(len(p), maxKeptBytes-len(c.text))]...)
	return len(p), nil
}

// sample queries the processes, and the figures if they are wanted. Its time is when the figures were read.
func (t *nvidiaSMI) sample(ctx context.Context, figures bool) telemetry.Sample {
	before := time.Now()
	s := telemetry.Sample{Source: telemetry.SourceGPU}
	var err1, err2 error
	if figures {
		s.GPUs, err1 = t.read(ctx)
	}
	took := time.Since(before)
	s.At, s.Span = before.Add(took/2), took.Microseconds()
	s.Processes, err2 = t.processes(ctx)
	if err := errors.Join(err1, err2); err != nil {
		s.Error = err.Error()
	}
	return s
}

// watch samples until ctx ends, and then once more: processes at both ends, and figures if they are wanted.
func (t *nvidiaSMI) watch(ctx context.Context, figures bool, begun func(), each func(telemetry.Sample)) {
	each(t.sample(ctx, figures))
	begun()
	if figures {
		err := t.loop(ctx, pageInterval, func(gpus []telemetry.GPUReading, at time.Time) {
			each(telemetry.Sample{Source: telemetry.SourceGPU, At: at, GPUs: gpus})
		})
		if err != nil {
			each(telemetry.Sample{Source: telemetry.SourceGPU, At: time.Now(), Error: err.Error()})
		}
	}
	<-ctx.Done()
	each(t.sample(context.WithoutCancel(ctx), figures))
}

// loop runs nvidia-smi with an interval until ctx ends, which is far cheaper than starting it for each
// reading. It calls each with the GPUs of one round and the time of arrival.
func (t *nvidiaSMI) loop(ctx context.Context, period time.Duration,
	each func([]telemetry.GPUReading, time.Time)) error {
	cmd := exec.CommandContext(ctx, t.path, "--query-gpu="+t.query, "--format=csv,noheader,nounits",
		fmt.Sprintf("--loop-ms=%d", period.Milliseconds()))
	cmd.WaitDelay = time.Second
	r, w := io.Pipe()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("nvidia-smi: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		splitRounds(r, each)
		_ = r.Close() // unread output must not block the process
	}()
	err := cmd.Wait()
	_ = w.Close()
	<-done
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("nvidia-smi ended: %v", err)
}

// splitRounds ends a round when a GPU repeats. It skips unreadable lines: drivers print warnings between.
func splitRounds(r io.Reader, each func([]telemetry.GPUReading, time.Time)) {
	lines := bufio.NewScanner(r)
	var round []telemetry.GPUReading
	var at time.Time
	for lines.Scan() {
		gpus, err := parseGPUs(lines.Bytes())
		if err != nil {
			continue
		}
		if len(round) > 0 && slices.ContainsFunc(round,
			func(g telemetry.GPUReading) bool { return g.GPU == gpus[0].GPU }) {
			each(round, at)
			round = nil
		}
		if round = append(round, gpus[0]); len(round) == 1 {
			at = time.Now()
		}
	}
}

// parseGPUs reads lines of --query-gpu. Missing values are "[N/A]" or similar.
func parseGPUs(text []byte) ([]telemetry.GPUReading, error) {
	rows, err := smiFields(text, len(smiColumns))
	if err != nil {
		return nil, err
	}
	var out []telemetry.GPUReading
	for _, f := range rows {
		g := telemetry.GPUReading{
			GPU: f[0], UUID: f[1], Name: f[2], PowerW: number(f[4], 1), SMClock: number(f[5], 1),
			MemoryClock: number(f[6], 1), UsedMiB: number(f[7], 1), TotalMiB: number(f[8], 1),
			Temperature: number(f[9], 1), PowerLimitW: number(f[10], 1), Busy: number(f[3], 0.01),
		}
		if _, err := strconv.Atoi(g.GPU); err != nil {
			return nil, fmt.Errorf("nvidia-smi: %.100q is not a GPU index", g.GPU)
		}
		if len(f) > len(smiColumns) {
			if mask, err := strconv.ParseUint(f[len(smiColumns)], 0, 64); err == nil {
				setThrottled(&g, mask)
			}
		}
		out = append(out, g)
	}
	if len(out) == 0 {
		return nil, errors.New("nvidia-smi lists no GPU")
	}
	return out, nil
}

// parseProcesses reads lines of --query-compute-apps. No lines means no processes.
func parseProcesses(text []byte) ([]telemetry.GPUProcess, error) {
	rows, err := smiFields(text, 4)
	if err != nil {
		return nil, err
	}
	out := []telemetry.GPUProcess{}
	for _, f := range rows {
		pid, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi: %.100q is not a process id", f[1])
		}
		out = append(out, telemetry.GPUProcess{GPU: f[0], PID: pid, Name: f[2], UsedMiB: number(f[3], 1)})
	}
	return out, nil
}

func smiFields(text []byte, least int) ([][]string, error) {
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

func number(text string, scale float64) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v < 1e12) {
		return nil
	}
	return new(telemetry.Round(v*scale, 6))
}
