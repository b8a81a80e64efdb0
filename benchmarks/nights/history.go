package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// history runs the nights of one setting and seed through the script, in a directory of its own.
type history struct {
	setting *setting
	seed    uint64
	dir     string // where the job runs: nightly.toml, results/, gate.xml
	script  string // deploy/bench-nightly
	bench   string // the program
	self    string // this program, which stands in for bench sweep
	nights  int
	trends  bool // every night; else on the last one, which takes a third of the time
	each    func(outcome)
}

// outcome is what one night came to.
type outcome struct {
	Night   int
	Exit    int
	Verdict string   // of the gate; empty: gate.json was not written
	Alarms  []string // regressions that are new, as point and figure
	Known   []string // those known since an earlier night
	Printed string
}

// gate is what this program reads of gate.json.
type gate struct {
	Verdict     string `json:"verdict"`
	Regressions []struct {
		Point  string `json:"point"`
		Metric string `json:"metric"`
		Since  string `json:"since"`
	} `json:"regressions"`
}

// shim is the bench that the script finds: sweeps are simulated, all else is real.
const shim = `#!/bin/sh
case $1 in
sweep) exec '%s' -sweep "$2" -out "$6" -setting %s -seed %d -night "$NIGHT" ;;
history) [ "$NIGHT" -eq %d ] || exit 0 ;;
esac
exec '%s' "$@"
`

// run runs all nights, and returns what they came to.
func (h *history) run() ([]outcome, error) {
	bin := filepath.Join(h.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, fmt.Errorf("making a history: %w", err)
	}
	last := h.nights
	if h.trends {
		last = 0
	}
	text := fmt.Sprintf(shim, h.self, h.setting.Name, h.seed, last, h.bench)
	if h.trends {
		text = strings.Replace(text, "history)", "never)", 1)
	}
	if err := os.WriteFile(filepath.Join(bin, "bench"), []byte(text), 0o755); err != nil {
		return nil, fmt.Errorf("making a history: %w", err)
	}
	var out []outcome
	for i := range h.setting.nights(h.nights, h.seed) {
		o, err := h.night(i + 1)
		if err != nil {
			return nil, err
		}
		if h.each != nil {
			h.each(o)
		}
		out = append(out, o)
	}
	return out, nil
}

// night runs the script once, with the matrix that states the hardware of that night.
func (h *history) night(n int) (outcome, error) {
	o := outcome{Night: n}
	matrix := h.setting.matrix()
	if h.setting.newServer > 0 && n >= h.setting.newServer {
		matrix = strings.Replace(matrix, "h100-sxm", "h200", 1)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "nightly.toml"), []byte(matrix), 0o644); err != nil {
		return o, fmt.Errorf("night %d: %w", n, err)
	}
	cmd := exec.Command("sh", h.script, "nightly.toml", "http://127.0.0.1:8000", "results")
	var printed bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = h.dir, &printed, &printed
	cmd.Env = []string{"PATH=" + filepath.Join(h.dir, "bin") + ":/usr/bin:/bin", fmt.Sprintf("NIGHT=%d", n),
		"HOME=" + h.dir,
		"GOMAXPROCS=1", "GOGC=800"} // many short processes
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return o, fmt.Errorf("night %d: %w", n, err)
	}
	o.Exit, o.Printed = cmd.ProcessState.ExitCode(), printed.String()
	run := firstNight.AddDate(0, 0, n-1).Format("20060102T150405Z")
	return o, o.read(filepath.Join(h.dir, "results", "nightly", run, "gate.json"), run)
}

// read reads what the gate wrote.
func (o *outcome) read(file, run string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var g gate
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		return fmt.Errorf("reading the gate: %w", err)
	}
	o.Verdict = g.Verdict
	for _, r := range g.Regressions {
		where := r.Point + " " + r.Metric
		if r.Since == "" || r.Since == run {
			o.Alarms = append(o.Alarms, where)
		} else {
			o.Known = append(o.Known, where)
		}
	}
	slices.Sort(o.Alarms)
	return nil
}

// String is a line about the night.
func (o *outcome) String() string {
	line := fmt.Sprintf("night %2d: exit %d", o.Night, o.Exit)
	if o.Verdict != "" {
		line += ", gate " + o.Verdict
	}
	if len(o.Alarms) > 0 {
		line += ": " + strings.Join(o.Alarms, ", ")
	}
	if len(o.Known) > 0 {
		line += fmt.Sprintf(", known: %d", len(o.Known))
	}
	return line
}

// summary is a line about a history: its alarms and its UNDECIDED nights.
func summary(nights []outcome) string {
	line, undecided := "", "UNDECIDED:"
	for i := range nights {
		o := &nights[i]
		if o.Verdict == "UNDECIDED" {
			undecided += fmt.Sprint(" ", o.Night)
		}
		if o.Exit == 3 || len(o.Alarms) > 0 {
			line += fmt.Sprintf("alarm in night %d (%d figures), ", o.Night, len(o.Alarms))
		}
	}
	return line + undecided
}
