package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bench/experiment/unit"
	"bench/report/compare"
)

type tileFlags struct {
	sweepFlags

	endpoints []string // one, or two to compare
	blocks    int
	allow     []string

	input, output, contexts, questions, questionTokens, inFlight int

	offload, perGPU, ratio, bytesPerToken float64
	kvPrecision, accounting, fit          string

	duration, grace, interval time.Duration
	rounds, requests          int
	warmup                    string
	seed                      uint64
}

func (f *tileFlags) register(fl *pflag.FlagSet) {
	f.key.register(fl)
	f.tables.register(fl)
	fl.StringArrayVar(&f.endpoints, "endpoint", nil, `host:port, URL or "mock", in place of the argument; two to compare them`)
	fl.IntVar(&f.blocks, "blocks", 4, "two endpoints: blocks per endpoint, which share --duration, --rounds or --requests")
	fl.StringSliceVar(&f.allow, "allow", nil, "two endpoints: differences that are intended: "+strings.Join(compare.Refusable, ", "))
	fl.StringVar(&f.resume, "resume", "", "two endpoints: directory of an interrupted run to complete")
	fl.StringVar(&f.api, "api", "", "completions (default), chat, responses or messages")
	fl.StringVar(&f.model, "model", "", "model to request (default: the model that the server lists)")
	fl.StringVar(&f.hardware, "hardware", "", "GPU under test, for the roofline, e.g. h100-sxm")
	fl.IntVar(&f.gpus, "gpus", 0, "number of GPUs")
	fl.StringVar(&f.precision, "precision", "", "precision of the weights, e.g. bf16, fp8")
	fl.IntVar(&f.input, "input", 0, "tokens of a context with its question (32000)")
	fl.IntVar(&f.output, "output", 0, "output tokens per request (100)")
	fl.Float64Var(&f.offload, "offload-size", 0, "GiB of the tier to fill (100)")
	fl.Float64Var(&f.perGPU, "offload-size-per-gpu", 0, "GiB of the tier per GPU, times --gpus, instead of --offload-size")
	fl.Float64Var(&f.ratio, "ratio", 0, "share of the tier that the contexts fill (0.9)")
	fl.Float64Var(&f.bytesPerToken, "bytes-per-token", 0, "bytes of one token in the KV cache (default: from model_configs.json)")
	fl.StringVar(&f.kvPrecision, "kv-precision", "", "precision of the KV cache, for the model's bytes: bf16 (assumed), fp8")
	fl.StringVar(&f.accounting, "kv-accounting", "", "full: every layer keeps every token; resident: windows and linear layers keep less (full)")
	fl.StringVar(&f.fit, "fit", fitTier, "offload: size the contexts for the tier; hbm: for one context more than the server's own KV cache")
	fl.IntVar(&f.contexts, "contexts", 0, "number of contexts, instead of the sizing")
	fl.IntVar(&f.questions, "questions", 0, "questions per context (number of contexts)")
	fl.IntVar(&f.questionTokens, "question-tokens", 0, "tokens of a question, at the end of the input (32)")
	fl.IntVar(&f.inFlight, "in-flight", 0, "concurrency (a third of the contexts, at least 1)")
	fl.DurationVar(&f.duration, "duration", 0, "time to measure after the warm-up (until interrupted)")
	fl.IntVar(&f.rounds, "rounds", 0, "rotations to measure after the warm-up (until interrupted)")
	fl.IntVar(&f.requests, "requests", 0, "requests to measure after the warm-up (until interrupted)")
	fl.StringVar(&f.warmup, "warmup", "", "duration or number of requests (the first rotation, at least one minute or a tenth of --duration)")
	fl.DurationVar(&f.grace, "grace", 30*time.Second, "time for the last requests after the end")
	fl.DurationVar(&f.interval, "interval", 5*time.Second, "time between two lines of metrics")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the questions; the prompts are new in each run")
	fl.StringVar(&f.out, "out", "results", "directory for results")
}

// Values of --fit.
const (
	fitTier = "offload"
	fitHBM  = "hbm"
)

// sized reports whether a flag of the sizing is stated.
func (f *tileFlags) sized() bool {
	return f.offload > 0 || f.perGPU > 0 || f.bytesPerToken > 0 || f.ratio > 0 || f.kvPrecision != "" || f.accounting != ""
}

// endless reports whether only an interruption ends the run.
func (f *tileFlags) endless() bool { return f.duration == 0 && f.rounds == 0 && f.requests == 0 }

func (f *tileFlags) check(fl *pflag.FlagSet) error {
	if err := positive(fl); err != nil {
		return err
	}
	switch {
	case len(f.endpoints) == 0:
		return usage("no endpoint\nhint: bench tile http://localhost:8000")
	case len(f.endpoints) > maxTileEndpoints:
		return usage("%d endpoints: one run compares %d\nhint: run the others alone, and compare any two results with bench compare", len(f.endpoints), maxTileEndpoints)
	case len(f.endpoints) == 1 && (fl.Changed("blocks") || len(f.allow) > 0 || f.resume != ""):
		return usage("--blocks, --allow and --resume need two endpoints\nhint: bench tile A B, or leave them out")
	case len(f.endpoints) == 1:
		return f.checkSizing()
	case f.endless():
		return usage("two endpoints need --duration, --rounds or --requests\nhint: --duration 5m (per endpoint, in %s)", unit.Plural(f.blocks, "block"))
	case f.rounds%f.blocks != 0 || f.requests%f.blocks != 0:
		return usage("%d rounds and %d requests cannot be shared by %s\nhint: --rounds or --requests as a multiple of %d, or another number of --blocks",
			f.rounds, f.requests, unit.Plural(f.blocks, "block"), f.blocks)
	case f.resume != "" && fl.Changed("out") && !within(f.resume, f.out):
		return usage("--out cannot be combined with --resume\nhint: leave out --out")
	}
	return f.checkSizing()
}

// positive refuses a stated number that is not above 0, of the named flags or, without names, of all: most zeros
// would count as a flag that was left out.
func positive(fl *pflag.FlagSet, names ...string) (err error) {
	fl.Visit(func(f *pflag.Flag) {
		if len(names) > 0 && !slices.Contains(names, f.Name) {
			return
		}
		x := 1.0
		switch f.Value.Type() {
		case "int", "float64":
			x, _ = strconv.ParseFloat(f.Value.String(), 64)
		case "duration":
			d, _ := time.ParseDuration(f.Value.String())
			x = d.Seconds()
		}
		if err == nil && !(x > 0 && x <= math.MaxFloat64) {
			err = usage("--%s %s: expected a number above 0\nhint: leave it out for the default", f.Name, f.Value)
		}
	})
	return err
}

// none reports whether a warm-up is stated and empty.
func none(warmup string) bool {
	n, err := strconv.Atoi(warmup)
	d, noTime := time.ParseDuration(warmup)
	return err == nil && n == 0 || noTime == nil && d == 0
}

// checkSizing refuses flags that contradict each other.
func (f *tileFlags) checkSizing() error {
	sized := f.sized()
	switch {
	case f.fit != fitTier && f.fit != fitHBM:
		return usage("unknown --fit %q\nhint: use offload or hbm", f.fit)
	case f.fit == fitHBM && (sized || f.contexts > 0):
		return usage("--fit hbm counts the contexts from the server's KV cache: it cannot be combined with --contexts or sizing flags\nhint: leave out one or the other")
	case f.contexts > 0 && sized:
		return usage("--contexts %d cannot be combined with sizing flags\nhint: leave out one or the other", f.contexts)
	case none(f.warmup):
		return usage("--warmup %s would count the first rotation, which finds nothing\nhint: --warmup 1, or leave it out", f.warmup)
	case f.rounds > 0 && f.requests > 0:
		return usage("--rounds and --requests both state the number of requests\nhint: leave one out")
	}
	return nil
}
