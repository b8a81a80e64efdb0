package roofline

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

type Hardware struct {
	Efficiency Efficiency
	Devices    []Device
}

// Device is the peak of one GPU, another accelerator, or a CPU socket. Zero means unknown.
type Device struct {
	ID           string   `json:"id"`
	Aliases      []string `json:"aliases,omitempty"` // names that nvidia-smi and DCGM report, among others
	Vendor       string   `json:"vendor,omitempty"`
	MemoryGB     float64  `json:"memory_gb,omitempty"` // nominal
	BandwidthGBs float64  `json:"bandwidth_gb_s"`
	DenseTFLOPS  Rates    `json:"dense_tflops,omitzero"` // without structured sparsity
	LinkGBs      float64  `json:"link_gb_s,omitempty"`   // to its peers, one direction
	Link         string   `json:"link,omitempty"`
	TDPW         float64  `json:"tdp_w,omitempty"`
	// Reach are factors on the table's efficiencies, of a device whose software reaches more or less; 0 = 1.
	Reach Reach `json:"reach,omitzero"`
	// Efficiency is what engines reach on this device; nil = the table's
	Efficiency *Efficiency `json:"efficiency,omitempty"`
	Source     string      `json:"source"`
	Note       string      `json:"note,omitempty"`
}

type Reach struct {
	Memory  float64 `json:"memory,omitempty"`
	Compute float64 `json:"compute,omitempty"`
}

//go:embed gpus.json
var builtin []byte

var defaults = sync.OnceValue(func() *Hardware {
	h, err := ParseHardware(builtin)
	if err != nil {
		panic(err) // a test reads the table, so a release never has a broken one
	}
	return &h
})

// BuiltinHardware is the built-in table. The caller must not change it.
func BuiltinHardware() Hardware { return *defaults() }

// ParseHardware reads and checks a hardware table. It reports every mistake with its entry and field. The
// efficiency may be missing in a table that is added to another one (Hardware.With).
func ParseHardware(data []byte) (Hardware, error) {
	var file struct {
		About      string            `json:"about"`
		Efficiency *Efficiency       `json:"efficiency"`
		Devices    []json.RawMessage `json:"devices"`
	}
	if err := strict(data, &file); err != nil {
		return Hardware{}, fmt.Errorf("hardware table: %w", err)
	}
	var h Hardware
	var x mistakes
	if file.Efficiency != nil {
		h.Efficiency = *file.Efficiency
		x.of("hardware table: efficiency", h.Efficiency.check())
	}
	var err error
	h.Devices, err = parseEntries[Device]("hardware table", "devices", file.Devices)
	if err := errors.Join(append(x, err)...); err != nil {
		return Hardware{}, err
	}
	return h, nil
}

func (h Hardware) Names() (all []string) {
	for _, d := range h.Devices {
		all = append(append(all, d.ID), d.Aliases...)
	}
	return all
}

func (d *Device) names() names { return names{d.ID, &d.Aliases, nil} }

func (d *Device) check() error {
	var x mistakes
	t := d.DenseTFLOPS
	x.small(1e9, []number{{"memory_gb", d.MemoryGB}, {"bandwidth_gb_s", d.BandwidthGBs},
		{"link_gb_s", d.LinkGBs}, {"tdp_w", d.TDPW}, {"reach.memory", d.Reach.Memory},
		{"reach.compute", d.Reach.Compute}, {"dense_tflops.bf16", t.BF16}, {"dense_tflops.fp8", t.FP8},
		{"dense_tflops.fp4", t.FP4}, {"dense_tflops.int8", t.INT8}})
	if d.ID == "" {
		x.bad("id is missing")
	}
	if d.BandwidthGBs < 1e-3 {
		x.bad("bandwidth_gb_s is missing or below 0.001")
	}
	if d.Efficiency != nil {
		x.of("efficiency", d.Efficiency.check())
	}
	return errors.Join(x...)
}
