package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/published"
	"bench/experiment/roofline"
	"bench/report"
	"bench/report/export"
	"bench/sweep/strict"
)

type predictFlags struct {
	set  []string
	keys predictKeys

	format string
	out    string
	only   []string
}

// predictKeys are what a prediction without a matrix is of, as tables that --set changes. Names are those of a matrix
// where it has the key.
type predictKeys struct {
	Target struct {
		Model     string   `toml:"model"` // or the config.json of a Hugging Face model
		Hardware  string   `toml:"hardware"`
		GPUs      int      `toml:"gpus"` // in tensor parallel
		Precision string   `toml:"precision"`
		Layout    []string `toml:"layout"` // attentionDP, expertParallel
	} `toml:"target"`
	Mock struct {
		KVPrecision string `toml:"kv_precision"`
		Engine      string `toml:"engine"`
		MaxNumSeqs  int    `toml:"max_num_seqs"`
	} `toml:"mock"`
	Workload struct {
		Input  float64   `toml:"input"`
		Cached float64   `toml:"cached"`
		Output float64   `toml:"output"`
		Batch  []int     `toml:"-"` // of --batch
		Rate   []float64 `toml:"rate"`
	} `toml:"workload"`
}

const predictText = "[target]\n[mock]\n[workload]\n"

const (
	attentionDP    = "attention_dp"    // each sequence's attention on one device
	expertParallel = "expert_parallel" // each expert on one device
)

func newPredict(c *cli) *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:   "predict [MATRIX]",
		Short: "compute the roofline of a model on hardware, or of a whole matrix; no server needed",
		Long: `predict computes TTFT, TPOT, KV-cache capacity and the expected peak throughput from the bytes and FLOPs of a model
and the bandwidth and compute of a device. Each time has a floor (no server is faster), an expected value, and a typical
range (low, high); the terms of the expected value follow.
--model config.json takes a Hugging Face config; without hardware it prints its entry of model_configs.json.

With a matrix it runs every row through a simulated engine with these step times, in virtual time: an hour of traffic
takes seconds. Without hardware the table [mock] states the step times. It writes results as sweep does, as predicted;
--format json prints lines of events.
--model, --hardware and --gpus replace the values of [target]. bench report MEASURED PREDICTED draws the prediction
behind the measured curve.`,
		Example: `  bench predict --model llama-3.1-8b --hardware h100-sxm
  bench predict --model llama-3.1-70b --hardware h100-sxm --gpus 8 --input 2048 --output 256 --batch 1,8,32,128
  bench predict --model llama-3.1-70b --hardware h100-sxm --gpus 4 --set target.precision=fp8 --set mock.kv_precision=fp8
  bench predict --model deepseek-r1 --hardware h200-sxm --gpus 8 --input 1024 --output 1024  # beside published figures
  bench predict --model llama-3.1-8b --hardware l4 --format json
  bench predict matrices/chat.toml --model llama-3.1-8b --hardware h100-sxm
  bench predict matrices/chat.toml --set row.A-short-chat.rate=[2,4] --only A-short-chat
  bench predict --model my-model/config.json    # an entry of model_configs.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.keys.Target.GPUs == 0 && cmd.Flags().Changed("gpus") {
				return usage("--gpus is 0\nhint: leave it out, or state a number above 0")
			}
			if len(args) == 1 {
				return f.predictMatrix(c, cmd, args[0])
			}
			if err := checkMatrixFlags(cmd, false); err != nil {
				return err
			}
			return f.predict(c, cmd.Flags().Changed("batch"))
		},
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *predictFlags) register(fl *pflag.FlagSet) {
	t, w := &f.keys.Target, &f.keys.Workload
	rooflineFlags(fl, &t.Model, &t.Hardware, &t.GPUs, "the matrix's")
	fl.Float64Var(&w.Input, "input", 1024, "prompt tokens per request")
	fl.Float64Var(&w.Output, "output", 256, "output tokens per request")
	fl.IntSliceVar(&w.Batch, "batch", []int{1, 8, 32, 128}, "numbers of requests in flight, in a closed loop")
	setFlag(fl, &f.set)
	formatFlag(fl, &f.format, textOrJSON)
	outFlag(fl, &f.out, "results/predicted")
	onlyFlag(fl, &f.only)
}

// readKeys reads what --set states. A rate without a batch is predicted beside a batch of one.
func (f *predictFlags) readKeys(batches bool) error {
	doc, err := strict.ParseSet("bench predict", []byte(predictText), f.set)
	if err != nil {
		return err
	}
	if err := doc.Decode("", &f.keys); err != nil {
		return err
	}
	for _, name := range f.keys.Target.Layout {
		if name != attentionDP && name != expertParallel {
			return usage("unknown layout %q\nhint: --set 'target.layout=[%q, %q]'", name, attentionDP, expertParallel)
		}
	}
	if len(f.keys.Workload.Rate) > 0 && !batches {
		f.keys.Workload.Batch = []int{1}
	}
	return nil
}

func (k *predictKeys) work() roofline.Workload {
	w := k.Workload
	return roofline.Workload{
		Input: w.Input, Cached: w.Cached, Output: w.Output, Batches: w.Batch, Rates: w.Rate,
		MaxSeqs: k.Mock.MaxNumSeqs,
	}
}

func (f *predictFlags) predict(c *cli, batches bool) error {
	if err := f.readKeys(batches); err != nil {
		return err
	}
	if err := checkEngine(f.keys.Mock.Engine); err != nil {
		return err
	}
	if f.ofConfig() && f.keys.Target.Hardware == "" {
		return f.modelEntry(c)
	}
	models, hardware, err := readTables(c.stderr)
	if err != nil {
		return err
	}
	s, work, err := f.setup(c, models, hardware)
	if err != nil {
		return err
	}
	if err := check(s, work); err != nil {
		return err
	}
	if heads := s.Model.Heads; s.GPUs > 1 && heads%s.GPUs != 0 && !s.Layout.AttentionDP {
		fmt.Fprintf(c.stderr, "note: tensor parallelism cannot split %d attention heads evenly over %d GPUs\n",
			heads, s.GPUs)
	}
	p := s.Predict(work)
	addPublished(&p, s, work)
	return c.write(output{format: f.format}, "", p, func(w io.Writer, screen report.Screen) error {
		return roofline.Text(w, p, screen.Columns())
	})
}

// setup looks up the names in the flags and keys. Its error lists all unknown names.
func (f *predictFlags) setup(c *cli, models roofline.Models, hardware roofline.Hardware) (
	s roofline.Setup, work roofline.Workload, err error,
) {
	k := &f.keys
	if err := f.checkNames(); err != nil {
		return s, work, err
	}
	s = roofline.Setup{
		GPUs: k.Target.GPUs, Precision: k.Target.Precision, Efficiency: &hardware.Efficiency,
		KVPrecision: k.Mock.KVPrecision, Engine: k.Mock.Engine,
		Layout: roofline.Layout{
			AttentionDP:    slices.Contains(k.Target.Layout, attentionDP),
			ExpertParallel: slices.Contains(k.Target.Layout, expertParallel),
		},
	}
	var model, device error
	if !f.ofConfig() {
		s.Model, model = models.Find(k.Target.Model)
	} else if s.Model, model = f.readHF(c); model != nil {
		return s, work, model
	}
	s.Device, device = hardware.Find(k.Target.Hardware)
	work = k.work()
	return s, work, errors.Join(unknownEntry(model), unknownEntry(device))
}

func (f *predictFlags) checkNames() error {
	var open []string
	if f.keys.Target.Model == "" {
		open = append(open, "missing --model")
	}
	if f.keys.Target.Hardware == "" {
		open = append(open, "missing --hardware")
	}
	if len(open) > 0 {
		return usage("%s\nhint: bench predict --model llama-3.1-8b --hardware h100-sxm", strings.Join(open, "\n"))
	}
	return nil
}

func check(s roofline.Setup, work roofline.Workload) error {
	if err := errors.Join(s.Check(), work.Check()); err != nil {
		return usage("%w\nhint: bench predict --help", err)
	}
	if most, asked := s.Model.MaxContext, work.Input+work.Output; most > 0 && asked > float64(most) {
		return usage("%g tokens of input and output are more than the context of %s (%d)\nhint: --input %d",
			asked, s.Model.ID, most, most/2)
	}
	return nil
}

func (f *predictFlags) modelEntry(c *cli) error {
	m, err := f.readHF(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "%s: %.4g G parameters, %.4g G of them active; %.0f KV bytes per token in bf16\n",
		m.ID, float64(m.Params())/1e9, float64(m.ActiveParams())/1e9, roofline.Setup{Model: m}.KVBytesPerToken())
	return export.WriteJSON(c.stdout, map[string]any{"models": []roofline.Model{m}})
}

// ofConfig reports whether the model is the config.json of a Hugging Face model, in place of an entry.
func (f *predictFlags) ofConfig() bool { return strings.HasSuffix(f.keys.Target.Model, ".json") }

// readHF names a model as its config does, else by its folder.
func (f *predictFlags) readHF(c *cli) (roofline.Model, error) {
	text, err := os.ReadFile(f.keys.Target.Model)
	if err != nil {
		return roofline.Model{}, usage("reading the model: %w", err)
	}
	name := ""
	if !strings.Contains(string(text), "_name_or_path") {
		if abs, err := filepath.Abs(f.keys.Target.Model); err == nil {
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

// addPublished sets the figures that others published for the setup and the lengths, near the batches, each beside
// the expected values of its own engine, layout, mean lengths and concurrency; without one, what others are for.
func addPublished(p *roofline.Prediction, s roofline.Setup, work roofline.Workload) {
	q := published.Query{Model: s.Model.ID, Precision: s.WeightPrecision(), GPU: s.Device.ID, GPUs: p.GPUs,
		Input: work.Input, Output: work.Output}
	for _, f := range publishedNear(q, p, work) {
		p.Published = append(p.Published, f.Beside(expectedOf(s, f)))
	}
	if len(p.Published) == 0 {
		p.PublishedFor = published.ShapesOf(q)
	}
	for _, f := range published.InDataSets(q) {
		p.Published = append(p.Published, f.Beside(published.Own{}))
	}
}

// expectedOf are the values that the published run should have had on this device, without the limits of the user's
// server.
func expectedOf(s roofline.Setup, f published.Figure) published.Own {
	if f.Concurrency == 0 {
		s.Layout = roofline.Layout{ExpertParallel: f.ExpertParallel > 1}
		return published.Own{OutputPerGPU: s.Peak(roofline.Workload{Input: f.MeanInput(),
			Output: f.MeanOutput()}).PerGPU}
	}
	ttft, tpot := s.Published(f)
	return published.Own{TTFTMs: ttft.ExpectedMs, TPOTMs: tpot.ExpectedMs}
}

// publishedNear are the figures near each batch, each once. Cached prompts are another workload.
func publishedNear(q published.Query, p *roofline.Prediction, work roofline.Workload) []published.Figure {
	if work.Cached > published.Tolerance*work.Input {
		return nil
	}
	var all []published.Figure
	for _, d := range p.Decode {
		q.Concurrency = float64(d.Batch)
		for _, f := range published.Near(q) {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b published.Figure) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.ExpertParallel, b.ExpertParallel),
			cmp.Compare(a.Concurrency, b.Concurrency))
	})
	return all
}
