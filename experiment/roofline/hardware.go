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
	var efficiency, entries error
	if file.Efficiency != nil {
		h.Efficiency = *file.Efficiency
		if err := h.Efficiency.check(); err != nil {
			efficiency = fmt.Errorf("hardware table: efficiency: %w", err)
		}
	}
	h.Devices, entries = parseEntries[Device]("hardware table", "devices", file.Devices)
	if err := errors.Join(efficiency, entries); err != nil {
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
	t := d.DenseTFLOPS
	errs := checkNumbers(1e9, []number{
		{"memory_gb", d.MemoryGB}, {"bandwidth_gb_s", d.BandwidthGBs}, {"link_gb_s", d.LinkGBs}, {"tdp_w", d.TDPW},
		{"reach.memory", d.Reach.Memory}, {"reach.compute", d.Reach.Compute},
		{"dense_tflops.bf16", t.BF16}, {"dense_tflops.fp8", t.FP8}, {"dense_tflops.fp4", t.FP4},
		{"dense_tflops.int8", t.INT8},
	})
	if d.ID == "" {
		errs = append(errs, errors.New("id is missing"))
	}
	if d.BandwidthGBs < 1e-3 {
		errs = append(errs, errors.New("bandwidth_gb_s is missing or below 0.001"))
	}
	if d.Efficiency != nil {
		if err := d.Efficiency.check(); err != nil {
			errs = append(errs, fmt.Errorf("efficiency: %w", err))
		}
	}
	return errors.Join(errs...)
}

type number struct {
	name  string
	value float64
}

// checkNumbers accepts 0 and numbers between 10⁻⁶ and the limit, so that no quotient overflows.
func checkNumbers(most float64, numbers []number) (errs []error) {
	for _, n := range numbers {
		if n.value != 0 && !(n.value >= 1e-6 && n.value <= most) {
			errs = append(errs, fmt.Errorf("%s is %g, neither 0 nor within 1e-06 to %g", n.name, n.value, most))
		}
	}
	return errs
}
