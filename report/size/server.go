package size

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"bench/experiment"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/twin"
	"bench/experiment/verdict"
	"bench/report"
)

// Server is a measured server, and the traffic that it had; without a twin only what a matrix states of both.
type Server struct {
	Question
	Name   string // of the traffic
	spec   experiment.Spec
	Target experiment.Target

	twin   *series.Twin
	other  *series.Traffic // that the twin's rows did not have; nil = theirs
	tested *Backtest

	predicted bool
}

func OfRow(s *experiment.Spec, t experiment.Target) (*Server, error) {
	traffic, err := series.TrafficOf(s)
	if err != nil {
		return nil, err
	}
	limits, _, err := series.LatencyLimits(s)
	if err != nil {
		return nil, err
	}
	return &Server{Question: Question{Traffic: traffic, Limits: limits}, Name: s.Name, spec: *s, Target: t}, nil
}

// OfRun is the server of a run or a recording, by a row of several loads: the named one, else the one with the label
// first, if it can, else any.
func OfRun(run *report.Run, name, first string) (*Server, error) {
	t := run.Manifest.Target
	s := &Server{Name: run.Dir, Target: experiment.Target{Hardware: t.Hardware, GPUs: t.GPUs, Precision: t.Precision,
		GPUHourUSD: run.Manifest.GPUHourUSD}}
	s.Target.Model, s.predicted = t.Model, run.Manifest.Predicted != nil
	if run.IsRecording() {
		records, err := run.Requests(&run.Rows[0])
		if err != nil {
			return nil, err
		}
		return s, s.Recorded(&run.Rows[0], records)
	}
	var without error
	for _, curve := range run.Curves(first) {
		if name != "" && curve.Name != name && curve.Label() != name || len(curve.Points) < 2 {
			continue
		}
		fitted, err := series.FitTwin(curve.Rows(), run.Manifest.Slots(), run.Requests, nil)
		if err != nil {
			without = cmp.Or(without, fmt.Errorf("%s: no twin: %w", curve.Label(), err))
			continue
		}
		s.twin, s.spec, s.Name = fitted, curve.Points[0].Rows[0].Spec, curve.Label()+" of "+run.Dir
		s.Limits, s.Traffic = fitted.Limits(), fitted.Traffic()
		s.Target.GPUs = cmp.Or(curve.Points[0].Rows[0].GPUs(), t.GPUs)
		return s, nil
	}
	return nil, cmp.Or(without, errors.New("no such row has several loads"))
}

// From lets the twin of another serve the traffic.
func (s *Server) From(measured *Server) error {
	s.twin, s.Target, s.other, s.predicted = measured.twin, measured.Target, &s.Traffic, measured.predicted
	return s.twin.Limit(&s.spec)
}

// Hardware is what to compare; its zero values are the measured ones.
type Hardware struct {
	Model     string
	Devices   []string
	GPUs      []int // of a replica
	Precision string
	Price     func(device string) *float64 // of a GPU-hour; nil = unknown
}

// Candidates are the measured server, and each device with each number of GPUs. note states why one rests on less than
// it could.
func (s *Server) Candidates(h Hardware, models roofline.Models, devices roofline.Hardware) (
	out []Candidate, note string, err error) {
	own := s.Target
	own.GPUs = max(1, own.GPUs)
	if len(h.Devices) == 0 {
		h.Devices = []string{own.Hardware}
	}
	if len(h.GPUs) == 0 {
		h.GPUs = []int{own.GPUs}
	}
	if h.Model != "" && !sameModel(models, h.Model, own.Model) {
		if s.twin != nil {
			note = "the run is of another model: " + h.Model + " rests on the roofline alone"
		}
		s.twin, own.Model = nil, h.Model
	}
	setup := func(device string, gpus int, precision string) (roofline.Setup, error) {
		model, errModel := models.Find(own.Model)
		found, errDevice := devices.Find(device)
		x := roofline.Setup{Model: model, Device: found, GPUs: gpus, Precision: precision,
			Efficiency: &devices.Efficiency}
		if err := errors.Join(errModel, errDevice); err != nil {
			return x, err
		}
		return x, x.Check()
	}
	var from *roofline.Setup
	if x, err := setup(own.Hardware, own.GPUs, own.Precision); err == nil && s.twin != nil {
		from = &x
	}
	alone := sync.OnceValues(func() (float64, error) {
		return OfTwin(s.twin, s.other, from, s.distrust()).capacity(twin.Fleet{Replicas: 1}, estimate)
	})
	for _, device := range h.Devices {
		for _, gpus := range h.GPUs {
			if s.twin != nil && gpus == own.GPUs && h.Precision == "" && (device == own.Hardware || from != nil &&
				sameDevice(devices, device, from.Device.ID)) {
				c := OfTwin(s.twin, s.other, from, s.distrust())
				c.Name, c.gpus = cmp.Or(serverName(own.Hardware, gpus), "the measured server"), gpus
				c.gpuHourUSD = h.Price(own.Hardware)
				out = append(out, c)
				continue
			}
			if device == "" {
				return nil, "", ErrNoHardware
			}
			to, err := setup(device, gpus, cmp.Or(h.Precision, own.Precision))
			if err != nil {
				return nil, "", err
			}
			fitted := s.twin
			if fitted != nil {
				why := ""
				if x, err := alone(); from == nil {
					why = "does not state its model and hardware"
				} else if err != nil || math.IsNaN(x) {
					why = "shows no limit of its server"
				}
				if why != "" {
					fitted, note = nil, "the run "+why+": other hardware rests on the roofline alone"
				}
			}
			c := OfRoofline(Setups{From: from, To: to}, fitted, s.Traffic, s.Limits)
			c.Name, c.gpuHourUSD = serverName(to.Device.ID, gpus), h.Price(to.Device.ID)
			out = append(out, c)
		}
	}
	return out, note, nil
}

// distrust is why the backtest of a recording allows no estimate; empty: it does.
func (s *Server) distrust() string {
	const mostError, leastCovered = 0.2, 0.7
	if b := s.tested; b != nil && (b.Error > mostError || b.Covered < leastCovered) {
		return fmt.Sprintf("the backtest has a median error of %.0f %%, and %.0f %% of its figures are within their "+
			"intervals", 100*b.Error, 100*b.Covered)
	}
	return ""
}

// ErrNoHardware: neither the traffic nor the question names hardware.
var ErrNoHardware = errors.New("no hardware to size")

func sameDevice(all roofline.Hardware, a, b string) bool {
	found, err := all.Find(a)
	return err == nil && found.ID == b
}

func sameModel(all roofline.Models, a, b string) bool {
	found, err := all.Find(a)
	other, wrong := all.Find(b)
	return err == nil && wrong == nil && found.ID == other.ID
}

func serverName(device string, gpus int) string {
	if device == "" || gpus == 1 {
		return device
	}
	return fmt.Sprintf("(%d × %s)", gpus, device)
}

func (s *Server) Size(candidates []Candidate) *Result {
	r := &Result{Schema: Schema, Traffic: s.Name, Rate: s.Rate, Prompt: s.Traffic.Prompt, Output: s.Traffic.Output,
		Router: s.Router, Backtest: s.tested, Predicted: s.predicted, Plans: Make(&s.Question, candidates)}
	for _, l := range s.spec.SLO.Limits {
		name := verdict.TextOfLimit(l.Key, "", l.Value, l.Unit)
		if slices.ContainsFunc(s.Limits, func(x twin.Limit) bool { return x.Metric == l.Metric }) {
			r.SLO = append(r.SLO, name)
		} else {
			r.Ignored = append(r.Ignored, name)
		}
	}
	return r
}
