package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/twin"
	"bench/experiment/verdict"
	"bench/report"
	"bench/report/export"
	"bench/report/foreign"
	"bench/report/size"
)

// defaultSLO is that of a server of which none is known.
const defaultSLO = "ttft_p95=1s,tpot_p95=40ms"

type sizeFlags struct {
	rate      float64
	row, from string
	slo       string
	model     string
	hardware  []string
	gpus      []int
	precision string
	usd       []string
	router    string
	hours     []float64
	startUp   time.Duration

	format, output string
}

func newSize(c *cli) *cobra.Command {
	f := &sizeFlags{}
	cmd := &cobra.Command{
		Use:   "size TRAFFIC",
		Short: "how many GPUs carry a traffic within an SLO, and what they cost",
		Long: `size computes the smallest fleet for a rate of requests: replicas behind a router, in virtual time, with an interval of
95 %. TRAFFIC is a run, a matrix, or a recording of bench trace record.

A run or a recording is of one server: its twin (docs/predict.md#the-twin) says what a replica carries. --from RUN gives the
twin for the traffic of a matrix. Other hardware is that server with its step times changed by the ratio of two rooflines;
without a measurement the roofline alone counts, as in bench predict. Each line states what it rests on.

A recording is backtested first: its second half is predicted from its first. Rates of a replica far beyond those that the
rows or the recording had are refused.`,
		Example: `  bench size results/chat/20260101T120000Z --rate 40 --gpu-hour-usd 2.5
  bench size results/chat/20260101T120000Z --rate 40 --hardware h100-sxm,h200-sxm,b200 --gpu-hour-usd h100-sxm=2.5,h200-sxm=3.2
  bench size chat --row F-production-mix --rate 40 --model llama-3.1-70b --hardware h100-sxm,h200-sxm --gpus 2,4,8
  bench size live.jsonl.zst --slo ttft_p95=1s,tpot_p95=40ms --rate 40 --router prefix-aware
  bench size RUN --hours 4,3,3,6,20,38,40,35,22,12,8,5 --start-up 3m     a fixed fleet beside autoscalers`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(checkFormat(f.format, askFormats...), f.check()); err != nil {
				return err
			}
			return c.size(cmd, f, args[0])
		},
	}
	fl := cmd.Flags()
	fl.Float64Var(&f.rate, "rate", 0, "requests/s of the whole fleet (default: that of a recording)")
	fl.StringVar(&f.row, "row", "", "`NAME` of the row, of a run or a matrix (default: the first that can be sized)")
	fl.StringVar(&f.from, "from", "", "with a matrix: `RUN` whose twin serves its traffic")
	fl.StringVar(&f.slo, "slo", "", "`LIMITS` (default: those of the run or matrix; of a recording "+defaultSLO+")")
	fl.StringVar(&f.model, "model", "", "model: a name in model_configs.json (default: the run's or the matrix's)")
	fl.StringSliceVar(&f.hardware, "hardware", nil, "`GPUS` to compare: h100-sxm,b200 (default: the run's or the matrix's)")
	fl.IntSliceVar(&f.gpus, "gpus", nil, "`NUMBERS` of GPUs of a replica to compare: 1,2,4 (default: the run's, or 1)")
	fl.StringVar(&f.precision, "precision", "", "of the weights (default: the run's, or the model's)")
	fl.StringSliceVar(&f.usd, "gpu-hour-usd", nil, "`PRICES` of a GPU-hour: 2.5, or h100-sxm=2.5,b200=5")
	fl.StringVar(&f.router, "router", twin.RoundRobin, strings.Join(twin.Routers, ", "))
	fl.Float64SliceVar(&f.hours, "hours", nil, "`RATES` of the hours of a day, whose highest is served: 4,3,20,38,12")
	fl.DurationVar(&f.startUp, "start-up", 3*time.Minute, "with hours: time in which an autoscaler's replica starts")
	fl.StringVar(&f.format, "format", "text", strings.Join(askFormats, ", "))
	fl.StringVarP(&f.output, "output", "o", "", "`FILE` to write; - for stdout")
	return cmd
}

func (f *sizeFlags) check() error {
	if f.rate < 0 || math.IsNaN(f.rate) || math.IsInf(f.rate, 0) {
		return usage("--rate: expected a number above 0\nhint: --rate 40")
	}
	for _, x := range f.hours {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return usage("--hours: %v is no rate\nhint: --hours 4,3,20,38,12", x)
		}
	}
	for _, n := range f.gpus {
		if n < 1 {
			return usage("--gpus: %d is no number of GPUs\nhint: --gpus 1,2,4", n)
		}
	}
	switch {
	case !slices.Contains(twin.Routers, f.router):
		return usage("--router: unknown router %q\nhint: %s", f.router, strings.Join(twin.Routers, ", "))
	case f.startUp < 0:
		return usage("--start-up is negative\nhint: --start-up 3m")
	case f.rate > 0 && len(f.hours) > 0:
		return usage("--rate and --hours cannot be combined\nhint: the highest of the hours is the rate")
	case len(f.hours) > 0 && slices.Max(f.hours) == 0:
		return usage("--hours: no hour has requests")
	}
	return nil
}

// sized is what is to be served, and the server that was measured, if one was.
type sized struct {
	size.Question
	name   string
	spec   experiment.Spec
	twin   *series.Twin
	other  *series.Traffic // that the twin's rows did not have; nil = theirs
	target experiment.Target
	tested *series.Backtest
}

func (c *cli) size(cmd *cobra.Command, f *sizeFlags, path string) error {
	s, err := c.sized(cmd, f, path)
	if err != nil {
		return err
	}
	s.Router, s.Policy = f.router, size.Policy{StartUp: f.startUp}
	s.Rate, s.Hours = cmp.Or(f.rate, s.Rate), f.hours
	if len(f.hours) > 0 {
		s.Rate = slices.Max(f.hours)
	}
	if s.Rate == 0 {
		return usage("missing --rate: requests/s of the whole fleet\nhint: --rate 40")
	}
	candidates, err := c.candidates(f, s)
	if err != nil {
		return err
	}
	r := size.Result{Schema: size.Schema, Traffic: s.name, Rate: s.Rate, Prompt: s.Traffic.Prompt,
		Output: s.Traffic.Output, Router: s.Router, Backtest: s.tested, Plans: size.Make(&s.Question, candidates)}
	for _, l := range s.spec.SLO.Limits {
		if !slices.ContainsFunc(s.Limits, func(x twin.Limit) bool { return x.Metric == l.Metric }) {
			continue // error rates and prices
		}
		r.SLO = append(r.SLO, verdict.TextOfLimit(l.Key, "", l.Value, l.Unit))
	}
	err = c.deliver(f.output, "sizes", map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return r.Text(w, screenOf(c.stdout)) },
		"json": func(w io.Writer) error { return export.WriteJSON(w, r) },
	}[f.format])
	if err == nil && !slices.ContainsFunc(r.Plans, func(p size.Plan) bool { return p.Refused == "" }) {
		return errors.New("no server of these can be sized")
	}
	return err
}

// sized reads the traffic, and fits the twin.
func (c *cli) sized(cmd *cobra.Command, f *sizeFlags, path string) (*sized, error) {
	file, text := byName(path, c.stderr)
	if !strings.HasSuffix(file, ".toml") {
		if f.from != "" {
			return nil, usage("--from needs the traffic of a matrix: %s has its own server", path)
		}
		return c.sizedRun(f, path)
	}
	s, err := c.sizedRow(cmd, f, file, text)
	if err != nil || f.from == "" {
		return s, err
	}
	run, err := c.sizedRun(f, f.from)
	if err != nil {
		return nil, err
	}
	s.twin, s.target, s.other = run.twin, run.target, &s.Traffic
	return s, s.twin.Limit(&s.spec)
}

// sizedRow is the traffic of a row of a matrix.
func (c *cli) sizedRow(cmd *cobra.Command, f *sizeFlags, file string, text []byte) (*sized, error) {
	m, err := readMatrix(cmd.Context(), file, text, nil, &mock.Config{})
	if err != nil {
		return nil, err
	}
	if f.slo != "" {
		limits, err := limitsFor(f.slo, nil)
		if err != nil {
			return nil, err
		}
		for i := range m.Points {
			limits.Apply(&m.Points[i])
		}
	}
	var reasons []error
	for i := range m.Points {
		p := &m.Points[i]
		if f.row != "" && p.Name != f.row {
			continue
		}
		traffic, err := series.TrafficOf(p)
		limits, _, without := series.LatencyLimits(p)
		if err = cmp.Or(err, without); err != nil {
			reasons = append(reasons, fmt.Errorf("%s: %w", p.Name, err))
			continue
		}
		return &sized{Question: size.Question{Traffic: traffic, Limits: limits}, name: p.Name + " of " + file, spec: *p,
			target: m.Target}, nil
	}
	if len(reasons) > 0 {
		return nil, usage("no row can be sized: %w", reasons[0])
	}
	return nil, usage("no row %q in %s", f.row, file)
}

// sizedRun is the traffic and the server of a run or a recording.
func (c *cli) sizedRun(f *sizeFlags, path string) (*sized, error) {
	run, err := foreign.Load(path)
	if err != nil {
		return nil, usage("%w", err)
	}
	for _, line := range run.Notices() {
		fmt.Fprintln(c.stderr, safe("note: "+line))
	}
	recorded := run.IsRecording()
	slo := f.slo
	if recorded && slo == "" {
		slo = defaultSLO
	}
	if slo != "" && f.from == "" {
		limits, err := limitsFor(slo, []*report.Run{run})
		if err != nil {
			return nil, err
		}
		for i := range run.Rows {
			limits.Apply(&run.Rows[i].Spec)
		}
	}
	t := run.Manifest.Target
	s := &sized{name: path, target: experiment.Target{Hardware: t.Hardware, GPUs: t.GPUs, Precision: t.Precision,
		GPUHourUSD: run.Manifest.GPUHourUSD}}
	s.target.Model = t.Model
	if recorded {
		return s, s.readRecording(run)
	}
	for _, curve := range series.FromRows(run.Live()) {
		if f.from == "" && f.row != "" && curve.Name != f.row && curve.Label() != f.row || len(curve.Points) < 2 {
			continue
		}
		s.twin, err = curve.FitTwin(t.Slots(), run.Requests)
		if err != nil {
			continue
		}
		s.spec = curve.Points[0].Rows[0].Spec
		s.name = curve.Label() + " of " + path
		s.Limits, s.Traffic = s.twin.Limits(), s.twin.Traffic()
		return s, nil
	}
	if err != nil {
		return nil, usage("%s: no twin: %w", path, err)
	}
	return nil, usage("no such row of %s has several loads\nhint: bench report %s --format text lists its rows", path, path)
}

func (s *sized) readRecording(run *report.Run) error {
	row := &run.Rows[0]
	records, err := run.Requests(row)
	if err != nil {
		return err
	}
	r, err := series.TwinOfRecording(row, records)
	if err != nil {
		return usage("%s: no twin: %w", run.Dir, err)
	}
	s.twin, s.tested, s.spec = r.Twin, &r.Backtest, row.Spec
	s.Limits, s.Traffic, s.Rate = r.Limits(), r.Traffic(), r.Rate
	return nil
}

// candidates are the measured server, and each hardware with each number of GPUs.
func (c *cli) candidates(f *sizeFlags, s *sized) ([]size.Candidate, error) {
	prices, err := f.prices(s)
	if err != nil {
		return nil, err
	}
	models, hardware, err := readTables(c.stderr)
	if err != nil {
		return nil, err
	}
	own := s.target
	own.GPUs = max(1, own.GPUs)
	devices, gpus := f.hardware, f.gpus
	if len(devices) == 0 {
		devices = []string{own.Hardware}
	}
	if len(gpus) == 0 {
		gpus = []int{own.GPUs}
	}
	setup := func(device string, n int) (roofline.Setup, error) {
		model, errModel := models.Find(cmp.Or(f.model, own.Model))
		found, errDevice := hardware.Find(device)
		x := roofline.Setup{Model: model, Device: found, GPUs: n, Precision: cmp.Or(f.precision, own.Precision),
			Efficiency: &hardware.Efficiency}
		if err := errors.Join(unknownEntry(errModel), unknownEntry(errDevice)); err != nil {
			return x, err
		}
		return x, x.Check()
	}
	var from *roofline.Setup
	if x, err := setup(own.Hardware, own.GPUs); err == nil && s.twin != nil {
		from = &x
	}
	var out []size.Candidate
	for _, device := range devices {
		for _, n := range gpus {
			if s.twin != nil && (device == "" || device == own.Hardware) && n == own.GPUs && f.precision == "" {
				x := size.OfTwin(s.twin, s.other, from)
				x.Name, x.GPUs = cmp.Or(serverName(device, n), "the measured server"), n
				x.GPUHourUSD = prices(device)
				out = append(out, x)
				continue
			}
			if device == "" {
				return nil, usage("missing --hardware: GPUs to compare\nhint: --hardware h100-sxm,h200-sxm --model llama-3.1-8b")
			}
			to, err := setup(device, n)
			if err != nil {
				return nil, usage("%w", err)
			}
			measured := s.twin
			if from == nil && measured != nil {
				fmt.Fprintln(c.stderr, "note: the run does not state its model or hardware: other hardware rests on the roofline alone")
				measured = nil
			}
			x := size.OfRoofline(size.Setups{From: from, To: to}, measured, s.Traffic, s.Limits)
			x.Name, x.GPUHourUSD = serverName(to.Device.ID, n), prices(to.Device.ID)
			out = append(out, x)
		}
	}
	return out, nil
}

func serverName(device string, gpus int) string {
	if device == "" || gpus == 1 {
		return device
	}
	return fmt.Sprintf("(%d × %s)", gpus, device)
}

// prices are those of a GPU-hour by device, or one for all.
func (f *sizeFlags) prices(s *sized) (func(device string) *float64, error) {
	own := s.target.GPUHourUSD
	all, by := own, map[string]*float64{}
	for _, text := range f.usd {
		device, value, named := strings.Cut(text, "=")
		if !named {
			value = device
		}
		usd, err := strconv.ParseFloat(value, 64)
		if err != nil || !(usd >= 0 && usd <= math.MaxFloat64) {
			return nil, usage("--gpu-hour-usd: %q is not a price\nhint: --gpu-hour-usd 2.5, or h100-sxm=2.5,b200=5", text)
		}
		if named {
			by[device] = &usd
		} else {
			all = &usd
		}
	}
	return func(device string) *float64 {
		usd, ok := by[device]
		if !ok && (all != own || device == s.target.Hardware) { // the run's price is that of its hardware
			return all
		}
		return usd
	}, nil
}
