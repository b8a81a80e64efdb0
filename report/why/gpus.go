package why

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/report"
)

// GPUChange is a mean over the rows that both runs have, which differs: of the active GPUs, or of the slowest clock.
type GPUChange struct {
	Fact string  `json:"fact"`
	Unit string  `json:"unit"`
	A    float64 `json:"a"`
	B    float64 `json:"b"`
	// StepTime is the share that a step gets longer if this clock alone sets its time. 0: it is no clock.
	StepTime float64 `json:"step_time_alone,omitempty"`
}

// gpuFact is a figure of a GPU, with the smallest change that counts: in its unit, or of clocks and watts as a share.
type gpuFact struct {
	name, unit string
	least      float64
	of         func(*record.GPUDevice) *record.Gauge
}

// gpuFacts has the temperature last: alone it changes no speed. NVIDIA's clocks have steps of 15 MHz: one of them is
// less than 1 % under load.
func gpuFacts() []gpuFact {
	out := []gpuFact{
		{"SM clock", "MHz", 0.01, func(d *record.GPUDevice) *record.Gauge { return d.SMClock }},
		{"memory clock", "MHz", 0.01, func(d *record.GPUDevice) *record.Gauge { return d.MemoryClock }},
		{"GPU power limit", "W", 0.01, func(d *record.GPUDevice) *record.Gauge { return d.PowerLimitW }},
	}
	for _, reason := range append(slices.Clone(check.ThrottleReasons), "sw_power_cap") {
		out = append(out, gpuFact{"GPU throttled by " + reason, "share", 0.05, func(d *record.GPUDevice) *record.Gauge {
			if share := d.Throttled[reason]; d.Known {
				return &record.Gauge{Mean: share, Min: math.Floor(share), Max: math.Ceil(share)}
			}
			return nil
		}})
	}
	return append(out, gpuFact{"GPU temperature", "°C", 5,
		func(d *record.GPUDevice) *record.Gauge { return d.Temperature }})
}

func gpuChanges(a, b *report.Run, asked func(string) bool) (out []GPUChange) {
	others := map[string]*record.Row{}
	for _, row := range b.Live() {
		others[row.ID] = &row
	}
	var rows [][2]*record.Row
	for _, row := range a.Live() {
		if other := others[row.ID]; other != nil && asked(row.Spec.Label()) {
			rows = append(rows, [2]*record.Row{&row, other})
		}
	}
	facts := gpuFacts()
	for i, f := range facts {
		c, changed := f.change(rows)
		if changed && (i < len(facts)-1 || out != nil) {
			out = append(out, c)
		}
	}
	return out
}

// change is that of the means over pairs of rows, and whether it counts.
func (f *gpuFact) change(rows [][2]*record.Row) (c GPUChange, counts bool) {
	var before, after, errors []float64 // of the rows
	for _, pair := range rows {
		x, errX := f.mean(pair[0])
		y, errY := f.mean(pair[1])
		if !math.IsNaN(x + y) {
			before, after, errors = append(before, x), append(after, y), append(errors, errX, errY)
		}
	}
	n := float64(len(before))
	if n == 0 {
		return c, false
	}
	c = GPUChange{Fact: f.name, Unit: f.unit, A: floats.Sum(before) / n, B: floats.Sum(after) / n}
	least := f.least
	if c.Unit == "MHz" || c.Unit == "W" {
		least *= c.A
	}
	if c.Unit == "MHz" && c.B > 0 {
		c.StepTime = c.A/c.B - 1
	}
	return c, math.Abs(c.B-c.A) >= max(least, 2*floats.Norm(errors, 2)/n)
}

// mean is over the active GPUs of a row, but of clocks the slowest GPU's, for which the others wait. err is a bound on
// its standard error if readings are independent: they deviate by at most half of their range (Popoviciu's inequality).
// NaN: not collected.
func (f *gpuFact) mean(row *record.Row) (mean, err float64) {
	if row.GPU == nil {
		return math.NaN(), 0
	}
	n := 0.0
	for _, d := range row.GPU.Devices {
		g := f.of(&d)
		switch {
		case g == nil || d.Idle():
		case f.unit == "MHz" && (n == 0 || g.Mean < mean):
			mean, err, n = g.Mean, (g.Max-g.Min)/2, 1
		case f.unit != "MHz":
			mean, err, n = mean+g.Mean, err+(g.Max-g.Min)/2, n+1
		}
	}
	return mean / n, err / n / math.Sqrt(max(1, float64(row.GPU.Samples)))
}

// String is "SM clock: 1,980 → 1,860 MHz (-6.1 %): alone it changes step time by +6.5 %".
func (c GPUChange) String() string {
	if c.Unit == "share" {
		return fmt.Sprintf("%s: %.0f → %.0f %% of readings", c.Fact, 100*c.A, 100*c.B)
	}
	text := fmt.Sprintf("%s: %s → %s %s", c.Fact, unit.Brief(c.A, 4), unit.Brief(c.B, 4), c.Unit)
	if c.StepTime != 0 {
		text += fmt.Sprintf(" (%+.1f %%): alone it changes step time by %+.1f %%", 100*(c.B/c.A-1), 100*c.StepTime)
	}
	return text
}

// beside are the clocks that can have changed the time of steps or of prefill: " (SM clock -6.1 %: alone +6.5 %)".
func beside(step *Part, gpus []GPUChange) (out string) {
	for _, c := range gpus {
		if (step.Cause == StepTime || step.Cause == Prefill) && c.StepTime*step.Share > 0 {
			out += fmt.Sprintf(" (%s %+.1f %%: alone %+.1f %%)", c.Fact, 100*(c.B/c.A-1), 100*c.StepTime)
		}
	}
	return out
}
