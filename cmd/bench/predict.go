package main

import (
	"cmp"
	"encoding/json"
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
		Short: "say what the hardware allows for a model, with the arithmetic; no server needed",
		Long: `predict computes TTFT, TPOT, KV-cache capacity and the throughput ceiling from what a model must read and compute, and what a
device can read and compute in a second. Each time has a floor (the peak: faster is impossible), an expected value, and a band
around it for good and poor engines; below stand the terms that add up to the expected one.
With --calibrate the efficiencies are those that a measured run reached, and the rows of the run stand beside the fit.
--hf-config turns a Hugging Face config.json into an entry of model_configs.json; with --hardware it predicts for it.`,
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
	fl.StringVar(&f.model, "model", "", "model, by a name in model_configs.json")
	fl.StringVar(&f.hardware, "hardware", "", "device, by a name in the hardware table, e.g. h100-sxm")
	fl.IntVar(&f.gpus, "gpus", 0, "how many of them, in tensor parallel (1)")
	fl.StringVar(&f.precision, "precision", "", "of the weights, e.g. fp8, int4_g128 (as published)")
	fl.StringVar(&f.kvPrecision, "kv-precision", "", "of the KV cache (bf16)")
	fl.Float64Var(&f.work.Input, "input", 1024, "prompt tokens of a request")
	fl.Float64Var(&f.work.Cached, "cached", 0, "of these, in the prefix cache already")
	fl.Float64Var(&f.work.Output, "output", 256, "output tokens of a request")
	fl.IntSliceVar(&f.work.Batches, "batch", []int{1, 8, 32, 128}, "sequences that decode at once")
	fl.IntVar(&f.work.Budget, "chunk", 0, "most tokens of a step, where prompts are cut into chunks (max_num_batched_tokens)")
	fl.IntVar(&f.work.MaxSeqs, "max-seqs", 0, "the engine's limit of sequences at once (what the KV cache holds)")
	fl.IntVar(&f.speculate, "speculate", 0, "tokens that are drafted in each step (none)")
	fl.Float64Var(&f.acceptance, "acceptance", 0.7, "with --speculate: chance that a drafted token is accepted")
	fl.StringVar(&f.draft, "draft-model", "", "with --speculate: the model that drafts, on the same hardware (drafting takes no time)")
	fl.StringVar(&f.hfConfig, "hf-config", "", "config.json of a model on Hugging Face, to convert")
	fl.StringVar(&f.calibrate, "calibrate", "", "directory of a run whose rows the efficiencies are fitted to")
	fl.StringVar(&f.format, "format", "text", "text or json")
	return cmd
}

func (c *cli) predict(f *predictFlags) error {
	if f.format != "text" && f.format != "json" {
		return usage("unknown format %q\nhint: use text or json", f.format)
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
			return calibrating(err)
		}
		s.Efficiency = &fit.Efficiency
	}
	p := s.Predict(f.work)
	p.Fit = fit
	if f.format == "json" {
		return c.json(p)
	}
	return roofline.Text(c.stdout, p)
}

func (c *cli) json(v any) error {
	e := json.NewEncoder(c.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// calibrating says what to do about points that can't be fitted.
func calibrating(err error) error {
	var vague *roofline.UnidentifiableError
	if errors.As(err, &vague) {
		return fmt.Errorf("%w\nhint: measure a series, e.g. concurrency = [1, 2, 8, 32], and calibrate with that run", err)
	}
	return err
}

// setup looks up what the flags name. What no table has is said of all of them at once.
func (f *predictFlags) setup(c *cli, models roofline.Models, hardware roofline.Hardware) (roofline.Setup, error) {
	none := roofline.Setup{}
	if err := f.asked(); err != nil {
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

// asked says what the flags leave open, and takes those of speculation together.
func (f *predictFlags) asked() error {
	var open []string
	if f.model == "" && f.hfConfig == "" {
		open = append(open, "which model?")
	}
	if f.hardware == "" {
		open = append(open, "which hardware?")
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

// measured are the points of a run; the run states the setup where no flag does.
func (f *predictFlags) measured(stderr io.Writer) ([]roofline.Point, error) {
	run, err := report.Load(f.calibrate)
	if err != nil {
		return nil, usage("%w", err)
	}
	c := series.CalibrationOf(run.Rows)
	if len(c.LeftOut) > 0 {
		fmt.Fprintf(stderr, "note: left out: %s\n", strings.Join(c.LeftOut, "; "))
	}
	if c.Of == nil {
		return nil, usage("no row of %s can be fitted\nhint: state hardware and gpus in [target], and measure until the rows are valid", f.calibrate)
	}
	f.model, f.hardware = cmp.Or(f.model, c.Of.Model), cmp.Or(f.hardware, c.Of.Hardware)
	f.precision, f.gpus = cmp.Or(f.precision, c.Of.Precision), cmp.Or(f.gpus, c.Of.GPUs)
	return c.Points, nil
}

// modelEntry prints the entry of a config.json.
func (c *cli) modelEntry(f *predictFlags) error {
	m, err := f.readHF(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "%s: %.4g G parameters, %.4g G of them active; %.0f bytes of KV a token in bf16\n",
		m.ID, float64(m.Params())/1e9, float64(m.ActiveParams())/1e9, roofline.Setup{Model: m}.KVBytesPerToken())
	return c.json(map[string]any{"models": []roofline.Model{m}})
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
		return m, usage("%w\nhint: add an entry to %s by hand, e.g. from that of a similar model", err, roofline.ModelFile)
	}
	for _, note := range notes {
		fmt.Fprintln(c.stderr, "note: "+note)
	}
	return m, nil
}
