package main

import (
	"fmt"
	"io"
	"strings"

	"bench/sweep"
)

// override replaces keys of [target] by flags.
func (f *sweepFlags) override(m *sweep.Matrix, stderr io.Writer) error {
	t := &m.Target
	if f.endpoint != "" && len(t.Replicas) > 0 {
		return usage("--endpoint: the matrix has replicas\nhint: edit replicas of [target], or replace them by endpoint")
	}
	if f.endpoint != "" && isMock(f.endpoint) != isMock(t.Endpoint) {
		// [target] describes the other machine.
		if t.Hardware != "" || len(t.Facts) > 0 || t.GPUHourUSD != nil {
			fmt.Fprintln(stderr, "note: --endpoint replaces [target] endpoint: hardware, gpus, precision, price and facts of [target] are ignored;\n"+
				"      set --hardware, --gpus and --precision for this endpoint")
		}
		t.Hardware, t.GPUs, t.Precision, t.GPUHourUSD, t.Facts = "", 0, "", nil, nil
		if isMock(t.Endpoint) {
			t.Model = ""
		}
	}
	for _, o := range []struct {
		flag string
		into *string
	}{{f.endpoint, &t.Endpoint}, {f.api, &t.API}, {f.model, &t.Model}, {f.hardware, &t.Hardware}, {f.precision, &t.Precision}} {
		if o.flag != "" {
			*o.into = o.flag
		}
	}
	if f.gpus != 0 {
		t.GPUs = f.gpus
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

func isMock(endpoint string) bool { return endpoint == "" || endpoint == "mock" }
