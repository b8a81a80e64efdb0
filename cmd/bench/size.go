package main

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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/roofline"
	"bench/experiment/twin"
	"bench/report/size"
	"bench/sweep/matrix"
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

	output
}

func newSize(c *cli) *cobra.Command {
	f := &sizeFlags{}
	cmd := &cobra.Command{
		Use:   "size TRAFFIC",
		Short: "how many GPUs carry a traffic within an SLO, and what they cost",
		Long: `size computes the smallest fleet for a rate of requests: replicas behind a router, in virtual time, with
an interval of 90 %. TRAFFIC is a run, a matrix, or a recording of bench trace record.

A run or a recording is of one server: its twin (docs/predict.md#the-twin) gives what a replica carries. --from RUN
gives the twin for the traffic of a matrix. Other hardware is that server with its step times changed by the ratio of
two rooflines; without a measurement the roofline alone counts, as in bench predict. Each line states what it rests on.

A recording is backtested first: its second half is predicted from its first. Rates of a replica far beyond those that
the rows or the recording had are refused.`,
		Example: `  bench size results/chat/20260101T120000Z --rate 40 --gpu-hour-usd 2.5
  bench size results/chat/20260101T120000Z --rate 40 --hardware h100-sxm,b200 --gpu-hour-usd h100-sxm=2.5,b200=5
  bench size chat --row F-production-mix --rate 40 --model llama-3.1-70b --hardware h100-sxm,h200-sxm --gpus 4,8
  bench size live.jsonl.zst --slo ttft_p95=1s,tpot_p95=40ms --rate 40 --router prefix-aware
  bench size RUN --hours 4,3,6,20,38,40,22,8 --start-up 3m     # a fixed fleet beside autoscalers`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(positive(cmd.Flags(), "rate", "gpus"), f.check()); err != nil {
				return err
			}
			return f.size(c, cmd, args[0])
		},
	}
	fl := cmd.Flags()
	fl.Float64Var(&f.rate, "rate", 0, "requests/s of the whole fleet (default: the recorded rate)")
	rowFlag(fl, &f.row)
	fl.StringVar(&f.from, "from", "", "with a matrix: `RUN` whose twin serves its traffic")
	fl.StringVar(&f.slo, "slo", "", "`LIMITS` (default: of the run or matrix; for a recording "+defaultSLO+")")
	fl.StringVar(&f.model, "model", "", "a name in model_configs.json (default: the run's or the matrix's)")
	fl.StringSliceVar(&f.hardware, "hardware", nil,
		"`GPUS` to compare: h100-sxm,b200 (default: the run's)")
	fl.IntSliceVar(&f.gpus, "gpus", nil, "`NUMBERS` of GPUs of a replica: 1,2,4 (default: the run's, or 1)")
	fl.StringVar(&f.precision, "precision", "", "of the weights (default: the run's, or the model's)")
	fl.StringSliceVar(&f.usd, "gpu-hour-usd", nil, "`PRICES` of a GPU-hour: 2.5, or h100-sxm=2.5,b200=5")
	routerFlag(fl, &f.router)
	fl.Float64SliceVar(&f.hours, "hours", nil, "`RATES` of the hours of a day, whose highest is served: 4,3,20,38,12")
	fl.DurationVar(&f.startUp, "start-up", 3*time.Minute, "with hours: time in which an autoscaler's replica starts")
	f.register(fl, "", textOrJSON...)
	return cmd
}

func routerFlag(fl *pflag.FlagSet, into *string) {
	*into = twin.RoundRobin
	fl.Var(choice{into, "router", twin.Routers}, "router", "of several replicas: "+strings.Join(twin.Routers, ", "))
}

func (f *sizeFlags) check() error {
	for _, x := range f.hours {
		if !(x >= 0 && x <= math.MaxFloat64) {
			return usage("--hours: %v is no rate\nhint: --hours 4,3,20,38,12", x)
		}
	}
	switch {
	case f.startUp < 0:
		return usage("--start-up is negative\nhint: --start-up 3m")
	case f.rate > 0 && len(f.hours) > 0:
		return usage("--rate and --hours cannot be combined\nhint: the highest of the hours is the rate")
	case len(f.hours) > 0 && slices.Max(f.hours) == 0:
		return usage("--hours: no hour has requests")
	}
	return nil
}

func (f *sizeFlags) size(c *cli, cmd *cobra.Command, path string) error {
	s, err := f.server(c, cmd, path)
	if err != nil {
		return err
	}
	s.Router, s.StartUp = f.router, f.startUp
	switch {
	case len(f.hours) > 0:
		s.Hours, s.Rate = f.hours, slices.Max(f.hours)
	case f.rate > 0:
		s.Hours, s.Rate = nil, f.rate
	case len(s.Hours) > 0: // of a recording
		s.Rate = slices.Max(s.Hours)
	case s.Rate == 0:
		return usage("missing --rate: requests/s of the whole fleet\nhint: --rate 40")
	}
	models, devices, err := readTables(c.stderr)
	if err != nil {
		return err
	}
	price, err := f.price(s.Target, devices)
	if err != nil {
		return err
	}
	candidates, note, err := s.Candidates(size.Hardware{Model: f.model, Devices: f.hardware, GPUs: f.gpus,
		Precision: f.precision, Price: price}, models, devices)
	switch unknown := new(roofline.UnknownError); {
	case errors.Is(err, size.ErrNoHardware):
		return usage("missing --hardware: GPUs to compare\nhint: --hardware h100-sxm,h200-sxm --model llama-3.1-8b")
	case errors.As(err, &unknown) && unknown.Name == "":
		return usage("missing --model\nhint: --model llama-3.1-8b")
	case errors.As(err, &unknown):
		return unknownEntry(unknown)
	case err != nil:
		return usage("%w", err)
	case note != "":
		fmt.Fprintln(c.stderr, "note: "+note)
	}
	if len(candidates) > 2 {
		fmt.Fprintf(c.stderr, "note: %d fleets run in virtual time: some seconds each\n", len(candidates))
	}
	r := s.Size(candidates)
	err = c.write(f.output, "sizes", r, r.Text)
	if err == nil && !slices.ContainsFunc(r.Plans, func(p size.Plan) bool { return p.Refused == "" }) {
		return errors.New("no fleet of these servers is known")
	}
	return err
}

// server reads the traffic, and the run whose twin serves it.
func (f *sizeFlags) server(c *cli, cmd *cobra.Command, path string) (*size.Server, error) {
	file, text := byName(path, c.stderr)
	if !strings.HasSuffix(file, ".toml") {
		if f.from != "" {
			return nil, usage("--from is for the traffic of a matrix: %s has a server of its own", path)
		}
		return sizedRun(c, path, f.row, f.slo)
	}
	s, err := f.ofRow(cmd.Context(), file, text)
	if err != nil || f.from == "" {
		return s, err
	}
	measured, err := sizedRun(c, f.from, "", "")
	if err == nil {
		err = s.From(measured)
	}
	return s, err
}

// ofRow is the traffic of a row of a matrix: the named one, or the first that can be sized.
func (f *sizeFlags) ofRow(ctx context.Context, file string, text []byte) (*size.Server, error) {
	m, err := readMatrix(ctx, file, text, nil, &mock.Config{})
	if err != nil {
		return nil, err
	}
	limits := &matrix.Limits{}
	if f.slo != "" {
		if limits, err = limitsFor(f.slo, nil); err != nil {
			return nil, err
		}
	}
	// traffic arrives at a rate: rows that state one come first
	slices.SortStableFunc(m.Points, func(a, b experiment.Spec) int { return cmp.Compare(b.Rate, a.Rate) })
	var first error
	for i := range m.Points {
		p := &m.Points[i]
		if f.row != "" && p.Name != f.row {
			continue
		}
		if f.slo != "" {
			limits.Apply(p)
		}
		s, err := size.OfRow(p, m.Target)
		if err == nil {
			s.Name += " of " + file
			return s, nil
		}
		first = cmp.Or(first, fmt.Errorf("%s: %w", p.Name, err))
	}
	if first != nil {
		return nil, usage("%w", first)
	}
	return nil, usage("no row %q in %s", f.row, file)
}

// sizedRun is the traffic and the server of a run or a recording.
func sizedRun(c *cli, path, row, slo string) (*size.Server, error) {
	run, err := c.load(path)
	if err != nil {
		return nil, err
	}
	if run.IsRecording() {
		slo = cmp.Or(slo, defaultSLO)
	}
	first := run.AnswerRow()
	if slo != "" {
		if err := judgeBy(slo, run); err != nil {
			return nil, err
		}
	}
	s, err := size.OfRun(run, row, first)
	if err != nil {
		return nil, usage("%s: %w\nhint: bench report %s --format text lists its rows", path, err, path)
	}
	return s, nil
}

// price is that of a GPU-hour by the ID of a device. The target's own is that of its hardware alone.
func (f *sizeFlags) price(t experiment.Target, devices roofline.Hardware) (func(device string) *float64, error) {
	by := map[string]*float64{}
	var all *float64
	for _, text := range f.usd {
		name, value, named := strings.Cut(text, "=")
		if !named {
			value = name
		}
		usd, err := strconv.ParseFloat(value, 64)
		if err != nil || !(usd >= 0 && usd <= math.MaxFloat64) {
			return nil, usage("--gpu-hour-usd: %q is not a price\nhint: --gpu-hour-usd 2.5, or h100-sxm=2.5,b200=5",
				text)
		}
		if !named {
			all = &usd
			continue
		}
		device, err := devices.Find(name)
		if err != nil {
			return nil, unknownEntry(err)
		}
		by[device.ID] = &usd
		compared := func(name string) bool {
			other, err := devices.Find(name)
			return err == nil && other.ID == device.ID
		}
		if !slices.ContainsFunc(append(f.hardware, t.Hardware), compared) {
			return nil, usage("--gpu-hour-usd: %s is not compared\nhint: add --hardware %s", name, name)
		}
	}
	return func(device string) *float64 {
		usd := cmp.Or(by[device], all)
		if usd == nil && device == t.Hardware {
			return t.GPUHourUSD
		}
		return usd
	}, nil
}
