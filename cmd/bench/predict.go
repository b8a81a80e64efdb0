package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/report"
	"bench/report/export"
)

// predictFlags are the flags of `bench predict`.
type predictFlags struct {
	tables tableFlags

	model, hardware, precision, kvPrecision string
	gpus                                    int

	work       roofline.Workload
	speculate  int
	acceptance float64
	accepting  bool // --acceptance is stated
	draft      string

	hfConfig, calibrate, format string
}

func newPredict(c *cli) *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:   "predict",
		Short: "compute the roofline of a model on hardware; no server needed",
		Long: `predict computes TTFT, TPOT, KV-cache capacity and the throughput ceiling from the bytes and FLOPs of a model and the
bandwidth and compute of a device. Each time has a floor (no server is faster), an expected value, and a typical
range (low, high); the terms of the expected value follow. --calibrate fits the efficiencies to a measured run and
prints its rows beside the fit. --hf-config converts a Hugging Face config.json to an entry of model_configs.json;
with --hardware it predicts that model.`,
		Example: `  bench predict --model llama-3.1-8b --hardware h100-sxm
  bench predict --model llama-3.1-70b --hardware h100-sxm --gpus 8 --input 2048 --output 256 --batch 1,8,32,128
  bench predict --model llama-3.1-70b --hardware h100-sxm --gpus 4 --precision fp8 --kv-precision fp8 --chunk 2048
  bench predict --model llama-3.1-8b --hardware l4 --speculate 4 --acceptance 0.7 --format json
  bench predict --calibrate results/chat/20260101T120000Z --batch 1,64,256
  bench predict --hf-config config.json --model org/my-model > my-models.json
  bench predict --model-configs my-models.json --model my-model --hardware h100-sxm`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.accepting = cmd.Flags().Changed("acceptance")
			return c.predict(f)
		},
	}
	fl := cmd.Flags()
	f.tables.register(fl)
	fl.StringVar(&f.model, "model", "", "model: a name in model_configs.json")
	fl.StringVar(&f.hardware, "hardware", "", "device: a name in the hardware table, e.g. h100-sxm")
	fl.IntVar(&f.gpus, "gpus", 0, "number of devices, in tensor parallel (default 1)")
	fl.StringVar(&f.precision, "precision", "", "precision of the weights, e.g. fp8, int4_g128 (default: as published)")
	fl.StringVar(&f.kvPrecision, "kv-precision", "", "precision of the KV cache (default bf16)")
	fl.Float64Var(&f.work.Input, "input", 1024, "prompt tokens per request")
	fl.Float64Var(&f.work.Cached, "cached", 0, "prompt tokens found in the prefix cache")
	fl.Float64Var(&f.work.Output, "output", 256, "output tokens per request")
	fl.IntSliceVar(&f.work.Batches, "batch", []int{1, 8, 32, 128}, "batch sizes: sequences that decode together")
	fl.IntVar(&f.work.Budget, "chunk", 0, "tokens per step of chunked prefill, max_num_batched_tokens (default: no chunks)")
	fl.IntVar(&f.work.MaxSeqs, "max-seqs", 0, "the engine's max_num_seqs (default: KV-cache capacity)")
	fl.IntVar(&f.speculate, "speculate", 0, "draft tokens per step of speculative decoding (default: none)")
	fl.Float64Var(&f.acceptance, "acceptance", 0.7, "with --speculate: acceptance probability of a draft token")
	fl.StringVar(&f.draft, "draft-model", "", "with --speculate: draft model, on the same hardware (default: drafting takes no time)")
	fl.StringVar(&f.hfConfig, "hf-config", "", "`FILE`: config.json of a Hugging Face model, to convert")
	fl.StringVar(&f.calibrate, "calibrate", "", "`DIR` of the run to fit the efficiencies to")
	fl.StringVar(&f.format, "format", "text", "output format: text or json")
	return cmd
}

func (c *cli) predict(f *predictFlags) error {
	if err := checkFormat(f.format, "text", "json"); err != nil {
		return err
	}
	if f.hfConfig != "" && f.hardware == "" {
		return c.modelEntry(f)
	}
	models, hardware, err := f.tables.read(c.stderr)
	if err != nil {
		return err
	}
	var points []roofline.Point
	if f.calibrate != "" {
		if points, err = f.measured(c.stderr); err != nil {
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
		if fit, err = s.Calibrate(points); err != nil {
			return withSeriesHint(err)
		}
		s.Efficiency = &fit.Efficiency
	}
	p := s.Predict(f.work)
	p.Fit = fit
	if f.format == "json" {
		return export.WriteJSON(c.stdout, p)
	}
	return roofline.Text(c.stdout, p, screenOf(c.stdout).Columns())
}

// withSeriesHint adds to the error of a fit how to measure points that determine it.
func withSeriesHint(err error) error {
	var vague *roofline.UnidentifiableError
	if errors.As(err, &vague) {
		return fmt.Errorf("%w\nhint: measure a series, e.g. concurrency = [1, 2, 8, 32], and calibrate with that run", err)
	}
	return err
}

// setup looks up the names in the flags. Its error lists all unknown names.
func (f *predictFlags) setup(c *cli, models roofline.Models, hardware roofline.Hardware) (roofline.Setup, error) {
	none := roofline.Setup{}
	if err := f.checkNames(); err != nil {
		return none, err
	}
	s := roofline.Setup{GPUs: f.gpus, Precision: f.precision, KVPrecision: f.kvPrecision, Efficiency: &hardware.Efficiency}
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

// measured reads the points of a run, which also sets what no flag sets.
func (f *predictFlags) measured(stderr io.Writer) ([]roofline.Point, error) {
	run, err := report.Load(f.calibrate)
	if err != nil {
		return nil, usage("%w", err)
	}
	c := series.CalibrationPoints(run.Rows)
	if len(c.LeftOut) > 0 {
		fmt.Fprintf(stderr, "note: rows left out: %s\n", strings.Join(c.LeftOut, "; "))
	}
	if c.Setup == nil {
		return nil, usage("no row of %s can be fitted\nhint: set hardware and gpus in [target], and measure until rows are valid", f.calibrate)
	}
	f.model, f.hardware = cmp.Or(f.model, c.Setup.Model), cmp.Or(f.hardware, c.Setup.Hardware)
	f.precision, f.gpus = cmp.Or(f.precision, c.Setup.Precision), cmp.Or(f.gpus, c.Setup.GPUs)
	return c.Points, nil
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
