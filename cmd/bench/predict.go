package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/report/export"
)

type predictFlags struct {
	tables tableFlags

	model, hardware, precision, kvPrecision, engine string
	gpus                                            int
	layout                                          roofline.Layout

	work       roofline.Workload
	speculate  int
	acceptance float64
	accepting  bool // --acceptance is stated
	draft      string

	hfConfig, calibrate, save, format string

	matrix matrixFlags
}

func newPredict(c *cli) *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:   "predict [MATRIX]",
		Short: "compute the roofline of a model on hardware, or of a whole matrix; no server needed",
		Long: `predict computes TTFT, TPOT, KV-cache capacity and the expected peak throughput from the bytes and FLOPs of a model
and the bandwidth and compute of a device. Each time has a floor (no server is faster), an expected value, and a typical
range (low, high); the terms of the expected value follow. --calibrate fits the efficiencies to a measured run and
prints its rows beside the fit. --hf-config converts a Hugging Face config.json to an entry of model_configs.json;
with --hardware it predicts that model.

With a matrix it runs every row through a simulated engine with these step times, in virtual time: an hour of traffic
takes seconds. It writes results as sweep does, marked as predicted. --model, --hardware, --gpus and --precision replace
the values of [target]. bench report MEASURED PREDICTED draws the prediction behind the measured curve.`,
		Example: `  bench predict --model llama-3.1-8b --hardware h100-sxm
  bench predict --model llama-3.1-70b --hardware h100-sxm --gpus 8 --input 2048 --output 256 --batch 1,8,32,128
  bench predict --model llama-3.1-70b --hardware h100-sxm --gpus 4 --precision fp8 --kv-precision fp8 --chunk 2048
  bench predict --model deepseek-r1 --hardware h200-sxm --gpus 8 --input 1024 --output 1024    beside published figures
  bench predict --model llama-3.1-8b --hardware l4 --speculate 4 --acceptance 0.7 --format json
  bench predict matrices/chat.toml --model llama-3.1-8b --hardware h100-sxm
  bench predict --calibrate results/chat/20260101T120000Z --batch 1,64,256
  bench predict --hf-config config.json --model org/my-model > my-models.json
  bench predict --model-configs my-models.json --model my-model --hardware h100-sxm`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.predictMatrix(cmd, f, args[0])
			}
			if err := checkMatrixFlags(cmd, false); err != nil {
				return err
			}
			f.accepting = cmd.Flags().Changed("acceptance")
			for _, name := range []string{"gpus", "pipeline", "rate"} {
				if v := cmd.Flags().Lookup(name); v.Changed && (v.Value.String() == "0" || v.Value.String() == "[0]") {
					return usage("--%s is 0\nhint: leave it out, or state a number above 0", name)
				}
			}
			if len(f.work.Rates) > 0 && !cmd.Flags().Changed("batch") {
				f.work.Batches = []int{1}
			}
			return c.predict(f)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *predictFlags) register(fl *pflag.FlagSet) {
	f.tables.register(fl)
	fl.StringVar(&f.model, "model", "", "model: a name in model_configs.json")
	fl.StringVar(&f.hardware, "hardware", "", "device: a name in the hardware table, e.g. h100-sxm")
	fl.IntVar(&f.gpus, "gpus", 0, "number of devices, in tensor parallel (default 1)")
	fl.BoolVar(&f.layout.AttentionDP, "attention-dp", false, "each sequence's attention on one device (data-parallel attention)")
	fl.BoolVar(&f.layout.ExpertParallel, "expert-parallel", false, "each expert on one device")
	fl.IntVar(&f.layout.Pipeline, "pipeline", 0, "stages of layers, each on an equal part of the devices (default 1)")
	fl.StringVar(&f.precision, "precision", "", "precision of the weights, e.g. fp8, int4_g128 (default: as published)")
	fl.StringVar(&f.kvPrecision, "kv-precision", "", "precision of the KV cache (default bf16; fp8 with nvfp4 weights)")
	fl.Float64Var(&f.work.Input, "input", 1024, "prompt tokens per request")
	fl.Float64Var(&f.work.Cached, "cached", 0, "prompt tokens found in the prefix cache")
	fl.Float64Var(&f.work.Output, "output", 256, "output tokens per request")
	fl.IntSliceVar(&f.work.Batches, "batch", []int{1, 8, 32, 128}, "numbers of requests in flight, in a closed loop")
	fl.Float64SliceVar(&f.work.Rates, "rate", nil, "request rates per second, e.g. 0.5,2,8")
	fl.IntVar(&f.work.Budget, "chunk", 0, "tokens per step of chunked prefill, max_num_batched_tokens (default: no chunks)")
	fl.IntVar(&f.work.MaxSeqs, "max-seqs", 0, "the engine's max_num_seqs (default: KV-cache capacity)")
	fl.IntVar(&f.speculate, "speculate", 0, "draft tokens per step of speculative decoding (default: none)")
	fl.Float64Var(&f.acceptance, "acceptance", 0.7, "with --speculate: acceptance probability of a draft token")
	fl.StringVar(&f.draft, "draft-model", "", "with --speculate: draft model, on the same hardware (default: drafting takes no time)")
	fl.StringVar(&f.hfConfig, "hf-config", "", "`FILE`: config.json of a Hugging Face model, to convert")
	fl.StringVar(&f.calibrate, "calibrate", "", "`DIR` of the run to fit the efficiencies to")
	fl.StringVar(&f.engine, "engine", "", "engine, for its front end: "+strings.Join(roofline.EngineNames, ", ")+" (default: none in particular)")
	f.matrix.register(fl)
	fl.StringVar(&f.save, "save", "", "with --calibrate: `FILE` to write the device with the fitted constants to, e.g. gpus.json")
	fl.StringVar(&f.format, "format", "text", "output format: text or json")
}

func (c *cli) predict(f *predictFlags) error {
	if err := errors.Join(checkFormat(f.format, "text", "json"), checkEngine(f.engine)); err != nil {
		return err
	}
	if f.hfConfig != "" && f.hardware == "" {
		return c.modelEntry(f)
	}
	models, hardware, err := f.tables.read(c.stderr)
	if err != nil {
		return err
	}
	var rows series.Calibration
	if f.calibrate != "" {
		if rows, err = f.measured(c.stderr); err != nil {
			return err
		}
	}
	s, err := f.setup(c, models, hardware)
	if err != nil {
		return err
	}
	if err := f.check(s); err != nil {
		return err
	}
	var fit *roofline.Fit
	if f.calibrate != "" {
		if err := checkSame(s, rows.Setup); err != nil {
			return err
		}
		if fit, err = s.Calibrate(rows.Points, rows.Check); err != nil {
			return withSeriesHint(err)
		}
		s.Device = fit.Device
		if err := f.saveDevice(s.Device); err != nil {
			return err
		}
	}
	p := s.Predict(f.work)
	p.Fit = fit
	addPublished(&p, s, f.work)
	if f.format == "json" {
		return export.WriteJSON(c.stdout, p)
	}
	return roofline.Text(c.stdout, p, screenOf(c.stdout).Columns())
}

// setup looks up the names in the flags. Its error lists all unknown names.
func (f *predictFlags) setup(c *cli, models roofline.Models, hardware roofline.Hardware) (roofline.Setup, error) {
	none := roofline.Setup{}
	if err := f.checkNames(); err != nil {
		return none, err
	}
	s := roofline.Setup{GPUs: f.gpus, Layout: f.layout, Engine: f.engine, Precision: f.precision, KVPrecision: f.kvPrecision, Efficiency: &hardware.Efficiency}
	var model, device, draft error
	if f.hfConfig == "" {
		s.Model, model = models.Find(f.model)
	} else if s.Model, model = f.readHF(c); model != nil {
		return none, model
	}
	s.Device, device = hardware.Find(f.hardware)
	if f.draft != "" {
		var m roofline.Model
		m, draft = models.Find(f.draft)
		d := s
		d.Model, d.Precision = m, ""
		f.work.Speculation.Draft = &d
	}
	return s, errors.Join(unknownEntry(model), unknownEntry(device), unknownEntry(draft))
}

// checkNames refuses missing and contradicting flags, and sets the speculation.
func (f *predictFlags) checkNames() error {
	var open []string
	if f.model == "" && f.hfConfig == "" {
		open = append(open, "missing --model")
	}
	if f.hardware == "" {
		open = append(open, "missing --hardware")
	}
	switch {
	case f.save != "" && f.calibrate == "":
		return usage("--save without --calibrate\nhint: --calibrate RUN --save %s", f.save)
	case len(open) > 0:
		return usage("%s\nhint: bench predict --model llama-3.1-8b --hardware h100-sxm", strings.Join(open, "\n"))
	case f.speculate == 0 && f.draft != "":
		return usage("--draft-model without --speculate\nhint: --speculate 4 --draft-model %s", f.draft)
	case f.speculate == 0 && f.accepting:
		return usage("--acceptance without --speculate\nhint: --speculate 4 --acceptance %g", f.acceptance)
	case f.speculate != 0:
		f.work.Speculation = &roofline.Speculation{Tokens: f.speculate, Acceptance: f.acceptance}
	}
	return nil
}

// check reports every mistake in the numbers.
func (f *predictFlags) check(s roofline.Setup) error {
	if err := errors.Join(s.Check(), f.work.Check()); err != nil {
		return usage("%w\nhint: bench predict --help", err)
	}
	if most, asked := s.Model.MaxContext, f.work.Input+f.work.Output; most > 0 && asked > float64(most) {
		return usage("%g tokens of input and output are more than the context of %s (%d)\nhint: --input %d", asked, s.Model.ID, most, most/2)
	}
	return nil
}

// modelEntry converts a config.json and prints the entry.
func (c *cli) modelEntry(f *predictFlags) error {
	m, err := f.readHF(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "%s: %.4g G parameters, %.4g G of them active; %.0f KV bytes per token in bf16\n",
		m.ID, float64(m.Params())/1e9, float64(m.ActiveParams())/1e9, roofline.Setup{Model: m}.KVBytesPerToken())
	return export.WriteJSON(c.stdout, map[string]any{"models": []roofline.Model{m}})
}

func (f *predictFlags) readHF(c *cli) (roofline.Model, error) {
	text, err := os.ReadFile(f.hfConfig)
	if err != nil {
		return roofline.Model{}, usage("reading the model: %w", err)
	}
	name := f.model
	if name == "" && !strings.Contains(string(text), "_name_or_path") {
		if abs, err := filepath.Abs(f.hfConfig); err == nil {
			name = filepath.Base(filepath.Dir(abs))
		}
	}
	m, notes, err := roofline.ParseHF(text, name)
	if err != nil {
		return m, usage("%w\nhint: add an entry to %s by hand, based on a similar model", err, roofline.ModelFile)
	}
	for _, note := range notes {
		fmt.Fprintln(c.stderr, "note: "+note)
	}
	return m, nil
}
