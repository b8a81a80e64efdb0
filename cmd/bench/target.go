package main

import (
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"bench/sweep"
)

func (f *sweepFlags) override(m *sweep.Matrix, stderr io.Writer) error {
	t := &m.Target
	if f.endpoint != "" && len(t.Replicas) > 0 {
		return usage("--endpoint: the matrix has replicas\nhint: edit replicas of [target], or replace them by endpoint")
	}
	if f.endpoint != "" && isMock(f.endpoint) != isMock(t.Endpoint) {
		if forgetMachine(m) {
			fmt.Fprintln(stderr,
				"note: --endpoint replaces [target] endpoint: hardware, gpus, precision, price and facts of [target] are ignored;\n"+
					"      state the hardware of this endpoint by --set target.hardware=…, target.gpus=…, target.precision=… and target.gpu_hour_usd=…")
		}
		if isMock(t.Endpoint) && !m.IsSet("target.model") {
			t.Model = ""
		}
	}
	for _, o := range []struct {
		flag string
		into *string
	}{{f.endpoint, &t.Endpoint}, {f.api, &t.API}, {f.model, &t.Model}} {
		if o.flag != "" {
			*o.into = o.flag
		}
	}
	var wrong []string
	t.Check(func(key, problem, hint string) {
		wrong = append(wrong, fmt.Sprintf("--%s: %s\nhint: %s", key, problem, hint))
	})
	if len(wrong) > 0 {
		return usage("%s", strings.Join(wrong, "\nerror: "))
	}
	return nil
}

// forgetMachine clears what the file states of the machine behind its own endpoint, except what --set states, and
// reports whether that is worth a note.
func forgetMachine(m *sweep.Matrix) (noted bool) {
	t := &m.Target
	if t.Hardware != "" && !m.IsSet("target.hardware") {
		t.Hardware, noted = "", true
	}
	if !m.IsSet("target.gpus") {
		t.GPUs = 0
	}
	if !m.IsSet("target.precision") {
		t.Precision = ""
	}
	if t.GPUHourUSD != nil && !m.IsSet("target.gpu_hour_usd") {
		t.GPUHourUSD, noted = nil, true
	}
	stated := len(t.Facts)
	maps.DeleteFunc(t.Facts, func(name, _ string) bool { return !m.IsSet("target.facts." + strconv.Quote(name)) })
	return noted || len(t.Facts) < stated
}

func isMock(endpoint string) bool { return endpoint == "" || endpoint == "mock" }
