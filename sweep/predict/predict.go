package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/tune"
	"bench/experiment/workload"
	"bench/sweep"
	"bench/sweep/matrix"
)

type Plan struct {
	Prediction record.Prediction
	matrix     *matrix.Matrix
	reasoning  reasoning
	servers    map[string]*server // by variant; "" = the matrix has one server
}

type server struct {
	config    mock.Config
	simulator string // its limits, in a line
	slots     int
	roofline  record.RooflineSource
}

// New plans the prediction of a matrix for its [target]: model, hardware and gpus are stated there. base has the
// limits of the engine and the tables of models and devices; its GPUs and KV precision, if any, precede those in
// commands. Without hardware the engine has the step times of base, as the simulated server of a run. New removes from
// the matrix the rows that cannot be simulated.
func New(m *matrix.Matrix, base mock.Config) (*Plan, error) {
	if len(m.Target.Replicas) > 0 {
		return nil, errors.New("a prediction simulates one server, and [target] has replicas\nhint: replace replicas by endpoint, and write a part of the rate")
	}
	p := &Plan{matrix: m, servers: map[string]*server{}, reasoning: reasoning{
		target: m.Target, stated: m.Simulated() || base.Reasons(),
	}}
	stated := base
	base = onHardware(base, m.Target)
	for _, x := range []struct {
		name string
		set  bool
	}{{"faults", len(stated.Faults) > 0}, {"drift", stated.Drift != ""}, {"load_time", stated.LoadTime > 0}} {
		if x.set {
			p.Prediction.Ignored = append(p.Prediction.Ignored, "mock."+x.name)
		}
	}
	why := map[string]string{} // by variant, why it cannot be simulated
	if !m.Varies() {
		p.servers[""] = &server{config: base}
	}
	for i := range m.Variants {
		v := &m.Variants[i]
		c := base
		if v.Settings == nil {
			why[v.Name] = "endpoint " + v.Endpoint + ": a prediction has no endpoints to tell apart"
			continue
		}
		if unknown := unknownKnobs(m, base, v); len(unknown) > 0 {
			why[v.Name] = "the simulated engine has no " + strings.Join(unknown, ", ") +
				": the first value is predicted, without its effect"
			continue
		}
		command := m.Server.Config(v.Settings).Command
		apply(&c, command)
		for _, name := range ignored(command) {
			if !slices.Contains(p.Prediction.Ignored, name) {
				p.Prediction.Ignored = append(p.Prediction.Ignored, name)
			}
		}
		p.servers[v.Name] = &server{config: c}
	}
	if err := p.precede(stated); err != nil {
		return nil, err
	}
	contexts := map[string]int{}
	for _, name := range p.variants() {
		length, err := p.build(p.servers[name])
		if err != nil {
			return nil, err
		}
		contexts[name] = length
	}
	p.leaveOut(func(s *experiment.Spec) string {
		return cmp.Or(why[s.Variant], unsimulated(s, contexts[s.Variant]), p.reasoning.unsimulated(s))
	})
	if len(m.Points) == 0 {
		return nil, errors.New("no row of the matrix can be simulated: " + p.Prediction.LeftOut[0].Why)
	}
	return p, nil
}

// variants are the names of the simulated variants, in the order of the matrix.
func (p *Plan) variants() []string {
	if !p.matrix.Varies() {
		return []string{""}
	}
	var names []string
	for _, v := range p.matrix.Variants {
		if p.servers[v.Name] != nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// precede sets what is stated beside the commands. Variants that differ in it would become equal.
func (p *Plan) precede(stated mock.Config) error {
	gpus, precisions := map[int]bool{}, map[string]bool{}
	for _, s := range p.servers {
		gpus[s.config.GPUs], precisions[s.config.KVPrecision] = true, true
		s.config.GPUs = cmp.Or(stated.GPUs, s.config.GPUs)
		s.config.KVPrecision = cmp.Or(stated.KVPrecision, s.config.KVPrecision)
	}
	switch {
	case stated.GPUs > 0 && len(gpus) > 1:
		return errors.New("--gpus: the variants differ in their GPUs\nhint: omit --gpus")
	case stated.KVPrecision != "" && len(precisions) > 1:
		return errors.New("mock.kv_precision: the variants differ in their KV precision\nhint: leave it out")
	}
	return nil
}

// onHardware is an engine with the step times of the target's hardware, if there is any, and without what happens to a
// server.
func onHardware(c mock.Config, t experiment.Target) mock.Config {
	c.Model, c.Hardware, c.GPUs, c.Precision, c.Root = t.Model, t.Hardware, t.GPUs, t.Precision, ""
	if t.Hardware != "" {
		c.TTFT, c.ITL = 0, 0
		c.StepBase, c.StepPerSeq, c.StepPerContextToken, c.StepPerPrefillToken = 0, 0, 0, 0
	}
	c.Drift, c.LoadTime, c.Faults = "", 0, nil
	return c
}

// build completes a server, adds it to what the prediction states, and returns its context length. The roofline of
// its rows is that of its engine; without hardware there is none.
func (p *Plan) build(s *server) (length int, err error) {
	sim, err := mock.NewEngine(s.config)
	if err != nil {
		return 0, err
	}
	c, to := sim.Config(), &p.Prediction
	s.config.GPUs, s.simulator, s.slots = c.GPUs, sim.Describe(), c.MaxNumSeqs
	s.roofline = record.NewRooflineSource(c.Models, c.Devices, c.Model, p.matrix.Target)
	precision := c.Precision
	if c.Hardware != "" {
		setup, err := sim.Setup()
		if err != nil {
			return 0, err
		}
		s.roofline, precision = record.RooflineOf(setup), setup.WeightPrecision()
	}
	if to.Simulator == "" {
		to.Model, to.Hardware, to.GPUs, to.Engine = c.Model, c.Hardware, c.GPUs, c.Engine
		to.Precision, to.Simulator = precision, s.simulator
	}
	if to.GPUs != c.GPUs {
		to.GPUs = 0
	}
	return c.MaxModelLen, nil
}

// unsimulated is why a row cannot run in virtual time; empty: it can.
func unsimulated(s *experiment.Spec, length int) string {
	switch {
	case s.IsColdStart():
		return "a cold start is a property of a real server"
	case s.HasLeavers():
		return "the simulation has no users who leave"
	case s.HasModels() || s.HasEndpoints():
		return "the simulated server has one model"
	case s.UntilInterrupted():
		return "it runs until interrupted"
	case s.CountsPrompts():
		return "min_input, max_input and cap_input need the server's own count of tokens"
	case s.EstimatedLongest() > length:
		return fmt.Sprintf("it needs up to %d tokens, the engine's context length is %d", s.EstimatedLongest(), length)
	}
	return ""
}

// leaveOut removes the points that cannot be simulated, and notes each row with the reason once.
func (p *Plan) leaveOut(why func(*experiment.Spec) string) {
	var kept []experiment.Spec
	seen := map[record.LeftOut]bool{}
	for i := range p.matrix.Points {
		s := &p.matrix.Points[i]
		out := record.LeftOut{Row: s.Name, Why: why(s)}
		if out.Why == "" {
			kept = append(kept, *s)
			continue
		}
		if !seen[out] {
			seen[out] = true
			p.Prediction.LeftOut = append(p.Prediction.LeftOut, out)
		}
	}
	p.matrix.Points = kept
}

func (p *Plan) Apply(o *sweep.Options) {
	o.Predicted, o.NoResume = &p.Prediction, true
	if !p.matrix.Varies() {
		s := p.servers[""]
		o.Server, o.Roofline = p.endpoint(s, nil), s.roofline
		return
	}
	o.Reach = func(_ context.Context, v *matrix.Variant) (*endpoint.Server, record.RooflineSource, error) {
		s := p.servers[v.Name]
		return p.endpoint(s, nil), s.roofline, nil
	}
}

// endpoint is a server whose step times are multiplied by times; nil: they are not.
func (p *Plan) endpoint(s *server, times func(*experiment.Spec) float64) *endpoint.Server {
	t := p.matrix.Target
	t.GPUs = s.config.GPUs
	info := record.TargetInfo{
		Endpoint: "predicted", Simulated: true, Simulator: s.simulator, API: cmp.Or(t.API, "completions"),
		Model:    t.Model,
		Hardware: t.Hardware, GPUs: t.GPUs, Precision: t.Precision, PromptForm: "token_ids",
	}
	gentle := func(s experiment.Spec) bool { return s.Search != nil && s.Search.Gentle }
	if slices.ContainsFunc(p.matrix.Points, gentle) { // other searches are answered as before
		info.AddFlags(map[string]any{"max_num_seqs": s.slots})
	}
	info.Identity = info.Hash()
	return endpoint.Predicted(t, info, func(spec *experiment.Spec) (endpoint.Simulator, error) {
		asks, err := p.reasoning.of(spec)
		if err != nil {
			return nil, err
		}
		c := s.config
		if times != nil {
			c.Drift = driftOf(times(spec))
		}
		return newEngine(c, spec, asks)
	})
}

// Night runs every row once, in memory. Nights with the same salt send the same requests. times is what the server's
// step times are multiplied by in a row. The mark as a prediction is cleared: a rehearsal takes the run for measured.
func (p *Plan) Night(
	ctx context.Context, name, salt string, times func(*experiment.Spec) float64,
) (*record.Run, error) {
	records := map[string][]*record.Record{} // as record.ReadTimes has them
	n := &record.Run{Records: record.RecordsOf(records), Manifest: record.Manifest{
		Run: name, Matrix: p.matrix.Name, StartedAt: time.Now().UTC(), Salt: salt, Seed: p.matrix.Seed,
		Target: p.endpoint(p.servers[p.variants()[0]], times).Info,
	}}
	for i := range p.matrix.Points {
		s := &p.matrix.Points[i]
		id, of := matrix.ID(s), p.servers[s.Variant]
		row, err := p.endpoint(of, times).Run(ctx, endpoint.RunConfig{
			Spec: s, ID: id, Salt: salt + "/" + id, Roofline: of.roofline,
			Each: func(r *record.Record) error {
				kept := *r
				kept.Gaps, kept.TokensPerEvent = record.Packed{}, record.Packed{}
				records[id] = append(records[id], &kept)
				return nil
			},
		})
		if err != nil {
			return nil, fmt.Errorf("simulating %s: %w", id, err)
		}
		row.Predicted = false
		n.Rows = append(n.Rows, *row)
		n.Manifest.Plan = append(n.Manifest.Plan, record.Planned{ID: id, Name: s.Name, State: "done"})
	}
	return n, nil
}

// driftOf is a [mock] drift that multiplies all step times from the start on.
func driftOf(times float64) string { return strconv.FormatFloat(100*(times-1), 'g', -1, 64) + "%@0s" }

// Prior orders the settings of a race of all combinations by the throughput of the simulated engine, in virtual time: a
// saturated closed loop for each. It is nil if the matrix names no model and hardware that bench knows.
func Prior(ctx context.Context, of *matrix.Matrix, models roofline.Models, hardware roofline.Hardware) []float64 {
	m := *of
	if m.Tune == nil || m.Tune.Order != tune.All || m.Tune.Goal != tune.MaxLoad {
		return nil
	}
	model, errModel := models.Find(m.Target.Model)
	device, errDevice := hardware.Find(m.Target.Hardware)
	if errModel != nil || errDevice != nil {
		return nil
	}
	m.Target.Model, m.Target.Hardware, m.Target.GPUs = model.ID, device.ID, max(m.Target.GPUs, 1)
	m.Points = slices.Clone(m.Points)
	for i := range m.Points {
		s := &m.Points[i]
		const workers, requests = 128, 256
		s.Search, s.Rate, s.Arrival, s.Burstiness = nil, 0, workload.Arrival{}, 0
		s.Load = workload.Load{Concurrency: workers, Requests: requests}
	}
	p, err := New(&m, mock.Config{Models: models, Devices: hardware})
	if err != nil {
		return nil
	}
	night, err := p.Night(ctx, "prior", "prior", func(*experiment.Spec) float64 { return 1 })
	if err != nil {
		return nil
	}
	known, mean := map[string]float64{}, 0.0
	for _, row := range night.Rows {
		x := math.Log(max(row.Summary.Throughput.RequestsPerS, 1e-3))
		known[row.Spec.Variant] = x
		mean += x / float64(len(night.Rows))
	}
	var scores []float64
	for _, v := range m.Variants {
		x, ok := known[v.Name]
		if !ok { // the simulated engine lacks it
			x = mean
		}
		scores = append(scores, x)
	}
	return scores
}
