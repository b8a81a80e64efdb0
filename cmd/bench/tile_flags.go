package main

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bench/report/compare"
)

// tileFlags are the flags of `bench tile`.
type tileFlags struct {
	sweepFlags

	endpoints []string // one, or two to compare: sweepFlags.endpoint is that of a run
	parallel  bool
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
	fl.StringArrayVar(&f.endpoints, "endpoint", nil, `where to send requests: host:port, a URL, or "mock"; twice: two servers to compare`)
	fl.BoolVar(&f.parallel, "parallel", false, "two endpoints: both at once, not in turn")
	fl.IntVar(&f.blocks, "blocks", 4, "two endpoints: blocks of each; what is to be measured is shared out among them")
	fl.StringSliceVar(&f.allow, "allow", nil, "two endpoints: differences that are meant: "+strings.Join(compare.Refusable, ", "))
	fl.StringVar(&f.api, "api", "", "completions (default) or chat")
	fl.StringVar(&f.model, "model", "", "model to ask for (the one that the server lists)")
	fl.StringVar(&f.hardware, "hardware", "", "GPU under test, for bounds, e.g. h100-sxm")
	fl.IntVar(&f.gpus, "gpus", 0, "number of GPUs")
	fl.StringVar(&f.precision, "precision", "", "of the weights, e.g. bf16, fp8")
	fl.IntVar(&f.input, "input", 0, "tokens of a context, the question included (32000)")
	fl.IntVar(&f.output, "output", 0, "tokens to write (100)")
	fl.Float64Var(&f.offload, "offload-size", 0, "GiB of the tier to fill (100)")
	fl.Float64Var(&f.perGPU, "offload-size-per-gpu", 0, "GiB of each GPU's buffer, times --gpus, in place of --offload-size")
	fl.Float64Var(&f.ratio, "ratio", 0, "share of the tier that the contexts fill (0.9)")
	fl.Float64Var(&f.bytesPerToken, "bytes-per-token", 0, "bytes of a token in the KV cache (as model_configs.json has the model)")
	fl.StringVar(&f.kvPrecision, "kv-precision", "", "of the KV cache, for the model's bytes: bf16 (assumed), fp8")
	fl.StringVar(&f.accounting, "kv-accounting", "", "full: every layer keeps every token; resident: as windows and linear layers keep them (full)")
	fl.StringVar(&f.fit, "fit", "offload", "what to be larger than: offload sizes for the tier; hbm for the cache that the server states")
	fl.IntVar(&f.contexts, "contexts", 0, "how many contexts, in place of the sizing")
	fl.IntVar(&f.questions, "questions", 0, "questions of each context (as many as contexts)")
	fl.IntVar(&f.questionTokens, "question-tokens", 0, "tokens of a question, at the end of the input (32)")
	fl.IntVar(&f.inFlight, "in-flight", 0, "requests at once (a third of the contexts, 1 at least)")
	fl.DurationVar(&f.duration, "duration", 0, "how long to measure, behind the warm-up (until Ctrl-C)")
	fl.IntVar(&f.rounds, "rounds", 0, "rotations to measure, behind the warm-up (until Ctrl-C)")
	fl.IntVar(&f.requests, "requests", 0, "requests to measure, behind the warm-up (until Ctrl-C)")
	fl.StringVar(&f.warmup, "warmup", "", "what is not counted: a duration or a number of requests (the first rotation, and a minute or a tenth of --duration at least)")
	fl.DurationVar(&f.grace, "grace", 30*time.Second, "how long the last requests may take after the end")
	fl.DurationVar(&f.interval, "interval", 5*time.Second, "between two prints of the metrics")
	fl.Uint64Var(&f.seed, "seed", 1, "of the questions; prompts are new in each run")
	fl.StringVar(&f.out, "out", "results", "directory for results")
}

// endless says that nothing but a signal ends the run.
func (f *tileFlags) endless() bool { return f.duration == 0 && f.rounds == 0 && f.requests == 0 }

func (f *tileFlags) check(fl *pflag.FlagSet) error {
	if err := positive(fl); err != nil {
		return err
	}
	switch {
	case len(f.endpoints) == 0:
		return usage("which endpoint?\nhint: bench tile --endpoint http://localhost:8000")
	case len(f.endpoints) > 1:
		return f.checkPair()
	case f.parallel || fl.Changed("blocks") || len(f.allow) > 0:
		return usage("--parallel, --blocks and --allow are about two endpoints, and there is one\nhint: --endpoint A --endpoint B, or leave them out")
	}
	return f.checkOne()
}

// positive refuses a number that is stated and not above 0: most zeros would be taken for a flag that was left out.
func positive(fl *pflag.FlagSet) (err error) {
	fl.Visit(func(f *pflag.Flag) {
		x := 1.0
		switch f.Value.Type() {
		case "int", "float64":
			x, _ = strconv.ParseFloat(f.Value.String(), 64)
		case "duration":
			d, _ := time.ParseDuration(f.Value.String())
			x = d.Seconds()
		}
		if err == nil && !(x > 0 && x <= math.MaxFloat64) {
			err = usage("--%s %s is no number above 0\nhint: leave it out, or state %s", f.Name, f.Value, f.Usage)
		}
	})
	return err
}

// none says that a warm-up is stated and empty.
func none(warmup string) bool {
	n, err := strconv.Atoi(warmup)
	d, noTime := time.ParseDuration(warmup)
	return err == nil && n == 0 || noTime == nil && d == 0
}

// checkOne judges what goes for each endpoint.
func (f *tileFlags) checkOne() error {
	sized := f.offload > 0 || f.perGPU > 0 || f.bytesPerToken > 0 || f.ratio > 0 || f.kvPrecision != "" || f.accounting != ""
	switch {
	case f.fit != "offload" && f.fit != "hbm":
		return usage("unknown --fit %q\nhint: use offload or hbm", f.fit)
	case f.fit == "hbm" && (sized || f.contexts > 0):
		return usage("--fit hbm counts the contexts by the server's own cache: --contexts, --ratio, the bytes of a token and the offload sizes have no say\nhint: leave out one or the other")
	case f.contexts > 0 && sized:
		return usage("--contexts %d stands in place of the sizing, and flags of the sizing are stated too\nhint: leave out one or the other", f.contexts)
	case none(f.warmup):
		return usage("--warmup %s would count the first rotation, which finds nothing\nhint: --warmup 1, or leave it out", f.warmup)
	case f.rounds > 0 && f.requests > 0:
		return usage("--rounds and --requests both say how many requests\nhint: leave one out")
	}
	return nil
}
