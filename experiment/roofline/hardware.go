package roofline

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Hardware is the hardware table, gpus.json.
type Hardware struct {
	Efficiency Efficiency
	Devices    []Device
}

// Device is one GPU, another accelerator, or a CPU socket, at its peak. Zero
// means unknown.
type Device struct {
	ID           string   `json:"id"`
	Aliases      []string `json:"aliases,omitempty"` // as nvidia-smi and DCGM say it, among others
	Vendor       string   `json:"vendor,omitempty"`
	MemoryGB     float64  `json:"memory_gb,omitempty"` // as the vendor prints it
	BandwidthGBs float64  `json:"bandwidth_gb_s"`
	DenseTFLOPS  Rates    `json:"dense_tflops,omitzero"` // without structured sparsity
	LinkGBs      float64  `json:"link_gb_s,omitempty"`   // to its peers, one direction
	Link         string   `json:"link,omitempty"`
	TDPW         float64  `json:"tdp_w,omitempty"`
	Source       string   `json:"source"`
	Note         string   `json:"note,omitempty"`
}

// Efficiency is what of the peaks is reached; gpus.json says what measured it.
type Efficiency struct {
	ByGPUs []ByGPUs `json:"by_gpus"` // ascending; a width between two takes the smaller
	// SmallBelowParams parts the models: the smaller ones have small matrices,
	// which use less of the bandwidth once they are cut for many GPUs.
	SmallBelowParams float64 `json:"small_below_params"`
	Compute          Rates   `json:"compute"`          // share of the compute peak, end to end
	Link             float64 `json:"link"`             // share of the link's bandwidth
	StepOverheadMs   float64 `json:"step_overhead_ms"` // scheduling, sampling and launching
	Source           string  `json:"source"`
}

// ByGPUs is what depends on the tensor parallel width.
type ByGPUs struct {
	GPUs        int     `json:"gpus"`
	MemorySmall float64 `json:"memory_small"` // share of the memory bandwidth, small models
	MemoryLarge float64 `json:"memory_large"`
	AllReduceUs float64 `json:"all_reduce_us"` // least time of one all-reduce
}

//go:embed gpus.json
var builtin []byte

var parseBuiltin = sync.OnceValue(func() Hardware {
	h, err := ParseHardware(builtin)
	if err != nil {
		panic(err) // a test reads the table, so that no build ships a broken one
	}
	return h
})

// BuiltinHardware is the table of this build. The caller must not change it.
func BuiltinHardware() Hardware { return parseBuiltin() }

// Devices are the devices of the built-in table, in its order.
func Devices() []Device { return slices.Clone(BuiltinHardware().Devices) }

// FindDevice finds a device of the built-in table. The error is an
// *UnknownError.
func FindDevice(name string) (Device, error) { return BuiltinHardware().Find(name) }

// ParseHardware reads a hardware table. It reports every mistake with the entry
// and the field; what it returns is valid.
func ParseHardware(data []byte) (Hardware, error) {
	var file struct {
		About      string            `json:"about"`
		Efficiency Efficiency        `json:"efficiency"`
		Devices    []json.RawMessage `json:"devices"`
	}
	if err := strict(data, &file); err != nil {
		return Hardware{}, fmt.Errorf("hardware table: %w", err)
	}
	h := Hardware{Efficiency: file.Efficiency, Devices: make([]Device, len(file.Devices))}
	var errs []error
	if err := h.Efficiency.check(); err != nil {
		errs = append(errs, fmt.Errorf("hardware table: efficiency: %w", err))
	}
	names := map[string]string{}
	for i, raw := range file.Devices {
		if err := parseDevice(raw, &h.Devices[i], names); err != nil {
			errs = append(errs, fmt.Errorf("hardware table: entry %d (%s): %w", i+1, or(h.Devices[i].ID, "no id"), err))
		}
	}
	if len(h.Devices) == 0 {
		errs = append(errs, errors.New("hardware table: devices is empty"))
	}
	if err := errors.Join(errs...); err != nil {
		return Hardware{}, err
	}
	return h, nil
}

func parseDevice(raw []byte, d *Device, names map[string]string) error {
	if err := strict(raw, d); err != nil {
		return err
	}
	return errors.Join(d.check(), claim(names, d.ID, d.Aliases))
}

func (d Device) check() error {
	t := d.DenseTFLOPS
	errs := checkNumbers(1e9, []number{
		{"memory_gb", d.MemoryGB}, {"bandwidth_gb_s", d.BandwidthGBs}, {"link_gb_s", d.LinkGBs}, {"tdp_w", d.TDPW},
		{"dense_tflops.bf16", t.BF16}, {"dense_tflops.fp8", t.FP8}, {"dense_tflops.fp4", t.FP4}, {"dense_tflops.int8", t.INT8},
	})
	if d.ID == "" {
		errs = append(errs, errors.New("id is missing"))
	}
	if d.BandwidthGBs < 1e-3 {
		errs = append(errs, errors.New("bandwidth_gb_s is missing or below 0.001"))
	}
	return errors.Join(errs...)
}

type number struct {
	name  string
	value float64
}

// checkNumbers lets pass what is 0 or between 10⁻⁶ and the limit, so that no
// quotient leaves a float64.
func checkNumbers(most float64, numbers []number) (errs []error) {
	for _, n := range numbers {
		if n.value != 0 && !(n.value >= 1e-6 && n.value <= most) {
			errs = append(errs, fmt.Errorf("%s is %g, neither 0 nor within 1e-06 to %g", n.name, n.value, most))
		}
	}
	return errs
}

func (e Efficiency) check() error {
	c := e.Compute
	shares := []number{{"compute.bf16", c.BF16}, {"compute.fp8", c.FP8}, {"compute.fp4", c.FP4}, {"compute.int8", c.INT8}, {"link", e.Link}}
	times := []number{{"small_below_params", e.SmallBelowParams}, {"step_overhead_ms", e.StepOverheadMs}}
	last := 0
	var errs []error
	for i, n := range e.ByGPUs {
		name := fmt.Sprintf("by_gpus[%d].", i)
		shares = append(shares, number{name + "memory_small", n.MemorySmall}, number{name + "memory_large", n.MemoryLarge})
		times = append(times, number{name + "all_reduce_us", n.AllReduceUs})
		if n.GPUs <= last || (i == 0 && n.GPUs != 1) {
			errs = append(errs, fmt.Errorf("%sgpus is %d: the widths start at 1 and ascend", name, n.GPUs))
		}
		last = n.GPUs
	}
	if len(e.ByGPUs) == 0 {
		errs = append(errs, errors.New("by_gpus is empty"))
	}
	for _, s := range shares {
		if s.value == 0 {
			errs = append(errs, fmt.Errorf("%s is missing", s.name))
		}
	}
	errs = append(errs, checkNumbers(1, shares)...)
	return errors.Join(append(errs, checkNumbers(1e18, times)...)...)
}

// at is the entry of the widest group that is not wider than gpus.
func (e *Efficiency) at(gpus int) ByGPUs {
	found := e.ByGPUs[0]
	for _, n := range e.ByGPUs {
		if n.GPUs <= gpus {
			found = n
		}
	}
	return found
}

func (s *Setup) efficiency() *Efficiency {
	if s.Efficiency != nil {
		return s.Efficiency
	}
	return &defaults().Efficiency
}

var defaults = sync.OnceValue(func() *Hardware { h := parseBuiltin(); return &h })
