package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"bench/experiment"
	"bench/experiment/roofline"
	"bench/experiment/text"
	"bench/sweep"
	"bench/sweep/strict"
)

type stated struct {
	key, value, what string
	known            []string // names in the table
	err              error    // of looking the value up; nil = known, or not stated
}

// checkHardware refuses a device or precision that is a slip of a known one: the run would have no roofline. An
// unknown name that is none is allowed; notes says so.
func checkHardware(m *sweep.Matrix, models roofline.Models, hardware roofline.Hardware) (notes []string, err error) {
	t := m.Target
	if t.Hardware == "" && t.Precision == "" {
		return nil, nil
	}
	device := stated{key: "hardware", value: t.Hardware, what: "device", known: hardware.Names()}
	if t.Hardware != "" {
		_, device.err = hardware.Find(t.Hardware)
	}
	precision := stated{key: "precision", value: t.Precision, what: "precision",
		known: roofline.PrecisionNames()}
	precision.err = roofline.CheckPrecision("precision", t.Precision)
	var problems strict.Problems
	for _, s := range []stated{device, precision} {
		if s.err == nil {
			continue
		}
		line, hint, slip := s.slip()
		if slip {
			problems = append(problems, m.Problem("target."+s.key, line, hint))
		}
		if near, _ := text.Nearest(s.value, s.known); s.what == "device" && near == "" {
			s.err = fmt.Errorf("%w; known are %s", s.err, strings.Join(s.known, ", "))
		}
		notes = append(notes, s.err.Error())
	}
	if len(problems) > 0 {
		return nil, problems
	}
	if t.Model != "" && t.Hardware != "" {
		if _, err := models.Find(t.Model); err != nil {
			notes = append(notes, err.Error())
		}
	}
	return notes, nil
}

// assumeGPU: one GPU is what a hardware or a price alone means.
func assumeGPU(t *experiment.Target, stderr io.Writer) {
	if (t.Hardware != "" || t.GPUHourUSD != nil) && t.GPUs == 0 {
		t.GPUs = 1
		fmt.Fprintln(stderr, "note: gpus is not specified: gpus = 1 is assumed")
	}
}

// slip is the mistake of a value that is a slip of a known name, or the name of several entries; false: it is neither.
func (s stated) slip() (line, hint string, ok bool) {
	line = fmt.Sprintf("unknown %s %q", s.what, s.value)
	meant, ok := text.Slip(s.value, s.known)
	hint = fmt.Sprintf("did you mean %q?", meant)
	if unknown := new(roofline.UnknownError); errors.As(s.err, &unknown) {
		if unknown.Many {
			line, hint, ok = unknown.Error(), "write one of them in full", true
		} else if ok {
			hint += " Else add an entry to " + unknown.File
		}
	}
	return line, hint, ok
}
