package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/unit"
	"bench/experiment/workload/trace"
	"bench/report/export"
	"bench/sweep"
)

const traceFormats = "mooncake, azure, burstgpt, bailian, sharegpt, log, weka, otel, litellm, bench"

func newTrace(c *cli) *cobra.Command {
	var o trace.Options
	var format string
	var sizes []int
	cmd := &cobra.Command{
		Use:   "trace FILE",
		Short: "inspect a trace: request rate, burstiness, lengths, sessions, possible cache hits",
		Long: `trace reads a log of requests. It prints their number, arrivals (rate, burstiness, clock resolution), lengths, and the share
of prompt tokens that prefix caches of several sizes can hit; of agents' traces the requests of a session, those in parallel,
subagents, tool time and session time.

Formats: ` + traceFormats + `; detected unless --from sets it.
Files can be gzip or zstd. docs/traces.md describes the formats and the figures.`,
		Example: `  bench trace conversation_trace.jsonl
  bench trace conversation_trace.jsonl --cache-blocks 1000,10000,100000
  bench trace AzureLLMInferenceTrace_code.csv --start 10m --end 20m
  bench trace BurstGPT_1.csv --class GPT-4 --format json > gpt4.json
  bench trace convert requests.jsonl --anonymize -o private.jsonl
  bench trace sample weka.jsonl --sessions 50 -o weka50.jsonl`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			return c.inspect(cmd.Context(), o, format, sizes)
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "text", "output format: text or json")
	f.IntSliceVar(&sizes, "cache-blocks", nil, "cache sizes, in blocks (default: round numbers up to the trace's size)")
	traceFlags(f, &o)
	cmd.AddCommand(newTraceConvert(c), newTraceSample(c), newTraceRecord(c))
	return cmd
}

func newTraceConvert(c *cli) *cobra.Command {
	var o trace.Options
	var output string
	var anonymize, models bool
	cmd := &cobra.Command{
		Use:   "convert FILE -o OUT",
		Short: "convert a trace to bench's format, without text; optionally anonymize it",
		Long: `convert writes a trace, or a log of requests with text, as lines in a superset of Mooncake's format, and reports what is lost.
The output has no text: prompts become block numbers, equal for equal prefixes, from hashes with a key that is
discarded at the end. With --anonymize the output has only lengths, times since the first request, and block and
session numbers, in order of appearance.`,
		Example: `  bench trace convert requests.jsonl --anonymize -o private.jsonl
  bench trace convert conversation_trace.jsonl --end 10m -o ten_minutes.jsonl.zst
  bench trace convert ShareGPT_V3.json --bytes-per-token 3.8 -o sharegpt.jsonl`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			if models && !anonymize {
				return usage("--keep-models applies to --anonymize\nhint: remove --keep-models; without --anonymize models stay")
			}
			return c.convert(o, output, func(w io.Writer) (*trace.Conversion, error) {
				r, end, err := openTrace(cmd.Context(), o)
				if err != nil {
					return nil, err
				}
				defer end()
				done, err := trace.Convert(w, r, anonymize, models)
				return done, traceError(cmd.Context(), err)
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "`FILE` to write, compressed if its name ends in .gz or .zst; - for stdout")
	f.BoolVar(&anonymize, "anonymize", false, "keep only lengths, relative times and counted numbers")
	f.BoolVar(&models, "keep-models", false, "with --anonymize: keep the names of models and classes")
	traceFlags(f, &o)
	return cmd
}

func newTraceSample(c *cli) *cobra.Command {
	var o trace.Options
	var output string
	var sessions, requests int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "sample FILE --sessions N -o OUT",
		Short: "write a random sample of a trace: whole sessions, or requests",
		Long: `sample chooses sessions, whole, or single requests of a trace without sessions, each with equal probability. It writes them in
the order of the trace and in bench's format. The same seed chooses the same ones.`,
		Example: `  bench trace sample weka.jsonl --sessions 50 -o weka50.jsonl
  bench trace sample conversation_trace.jsonl --requests 10000 --seed 2 -o some.jsonl.zst`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			n := sessions
			switch {
			case sessions > 0 && requests > 0:
				return usage("sample takes --sessions or --requests, not both\nhint: bench trace sample %s --sessions %d -o sample.jsonl", o.File, sessions)
			case sessions < 1 && requests < 1 || sessions < 0 || requests < 0:
				return usage("sample needs --sessions or --requests, an integer ≥ 1\nhint: bench trace sample %s --sessions 50 -o sample.jsonl", o.File)
			case requests > 0:
				n = requests
			}
			if in, err := os.Stat(o.File); err == nil && !in.Mode().IsRegular() {
				return usage("%s is not a file, and sample reads it twice\nhint: write it to a file first", o.File)
			}
			return c.convert(o, output, func(w io.Writer) (*trace.Conversion, error) {
				var end func()
				open := func() (r *trace.Reader, err error) {
					r, end, err = openTrace(cmd.Context(), o)
					return r, err
				}
				done, err := trace.Sample(w, open, func() { end() }, n, sessions > 0, rand.New(rand.NewPCG(seed, 0)))
				return done, traceError(cmd.Context(), err)
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "`FILE` to write, compressed if its name ends in .gz or .zst; - for stdout")
	f.IntVar(&sessions, "sessions", 0, "number of sessions")
	f.IntVar(&requests, "requests", 0, "number of requests of a trace without sessions")
	f.Uint64Var(&seed, "seed", 1, "seed of the choice")
	traceFlags(f, &o)
	return cmd
}

// traceFlags registers flags for the keys of [row.trace] that apply to a file.
func traceFlags(f *pflag.FlagSet, o *trace.Options) {
	f.StringVar(&o.Format, "from", "", "format of the file (default: detected): "+traceFormats)
	f.StringVar(&o.TimeUnit, "time-unit", "", "unit of numeric times: s, ms, us, ns (default: the format's)")
	f.IntVar(&o.BlockTokens, "block-tokens", 0, "tokens per block (default: the format's)")
	f.Float64Var(&o.BytesPerToken, "bytes-per-token", 0, "bytes of text per token, to estimate lengths (default 4)")
	f.DurationVar(&o.Start, "start", 0, "skip requests before this time since the first one, e.g. 10m")
	f.DurationVar(&o.End, "end", 0, "skip requests after this time since the first one, e.g. 20m")
	f.StringVar(&o.Class, "class", "", "keep only this model or request class")
	f.IntVar(&o.MinInput, "min-input", 0, "skip requests with fewer prompt tokens")
	f.IntVar(&o.MaxInput, "max-input", 0, "skip requests with more prompt tokens")
	f.IntVar(&o.MinOutput, "min-output", 0, "skip requests with fewer output tokens")
	f.IntVar(&o.MaxOutput, "max-output", 0, "skip requests with more output tokens")
	f.IntVar(&o.CapInput, "cap-input", 0, "truncate prompts to N tokens")
	f.IntVar(&o.CapOutput, "cap-output", 0, "truncate answers to N tokens")
}

// traceFlag returns the flag of a key of [row.trace].
func traceFlag(key string) string {
	if flag := map[string]string{"format": "--from", "file": "FILE"}[key]; flag != "" {
		return flag
	}
	return flagOf(key)
}

// traceAssigned matches a key of [row.trace] in a hint, with its value if it has one.
var traceAssigned = regexp.MustCompile(`\b((?:min|max|cap)_(?:in|out)put|time_unit|block_tokens|bytes_per_token)( = "?[\w.]+"?(?:(?:,| or) "\w+")*)?|\b(start|end) = "\w+"`)

// flagWords replaces the keys in a hint by flags: block_tokens = 512 by --block-tokens 512, time_unit = "s" or
// "ms" by --time-unit s or ms.
func flagWords(hint string) string {
	return traceAssigned.ReplaceAllStringFunc(hint, func(found string) string {
		key, value, assigned := strings.Cut(found, " = ")
		if !assigned {
			return traceFlag(key)
		}
		return traceFlag(key) + " " + strings.ReplaceAll(value, `"`, "")
	})
}

// withFlags replaces the keys of a matrix by flags in the hint of an error.
func withFlags(err error) error {
	text, hint, ok := strings.Cut(err.Error(), "\nhint: ")
	if !ok {
		return err
	}
	return &exitError{codeOf(err), errors.New(text + "\nhint: " + flagWords(hint))}
}

// openTrace opens a trace; its reads fail once ctx is done. end closes it.
func openTrace(ctx context.Context, o trace.Options) (r *trace.Reader, end func(), err error) {
	var problems []string
	o.Check(func(key, problem, hint string) {
		problems = append(problems, fmt.Sprintf("%s: %s\nhint: %s", traceFlag(key), problem, flagWords(hint)))
	})
	if len(problems) > 0 {
		return nil, nil, usage("%s", strings.Join(problems, "\nerror: "))
	}
	f, err := openUnblocked(o.File)
	if err != nil {
		err = fmt.Errorf("opening the trace: %w", err)
		if errors.Is(err, os.ErrNotExist) {
			err = usage("%w\nhint: bench trace takes the path of a trace", err)
		}
		return nil, nil, err
	}
	wake := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) }) // wakes a blocked read of a pipe
	r, err = trace.New(&contextFile{File: f, ctx: ctx}, o, nil)
	if err != nil {
		wake()
		_ = f.Close()
		return nil, nil, withFlags(interrupted(ctx, err))
	}
	return r, func() {
		wake()
		_ = r.Close() // nothing was written
		_ = f.Close()
	}, nil
}

func (c *cli) inspect(ctx context.Context, o trace.Options, format string, sizes []int) error {
	if err := checkFormat(format, "text", "json"); err != nil {
		return fmt.Errorf("%w; --from sets the format of the file", err)
	}
	for _, n := range sizes {
		if n < 1 {
			return usage("--cache-blocks %d: expected an integer ≥ 1\nhint: write --cache-blocks 1000,10000", n)
		}
	}
	r, end, err := openTrace(ctx, o)
	if err != nil {
		return err
	}
	defer end()
	report, err := trace.Inspect(r, sizes)
	if err != nil {
		return withFlags(interrupted(ctx, err))
	}
	if format == "json" {
		return export.WriteJSON(c.stdout, report)
	}
	for i := range report.Notes {
		report.Notes[i].Hint = flagWords(report.Notes[i].Hint)
	}
	return trace.Text(c.stdout, report)
}

// traceError gives an error of a trace the words of the command line.
func traceError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return withFlags(interrupted(ctx, err))
}

// convert writes what write makes of a trace, and reports what it made.
func (c *cli) convert(o trace.Options, output string, write func(io.Writer) (*trace.Conversion, error)) error {
	if output == "" {
		return usage("missing -o\nhint: bench trace convert %s -o converted.jsonl", o.File)
	}
	if in, err := os.Stat(o.File); err == nil {
		if out, err := os.Stat(output); err == nil && os.SameFile(in, out) && in.Mode().IsRegular() {
			return usage("-o %s is the input file\nhint: name another file", output)
		}
	}
	var done *trace.Conversion
	pack := func(w io.Writer) (err error) {
		done, err = writeTrace(w, output, write)
		return err
	}
	notes := c.stdout
	var err error
	if output == "-" {
		notes = c.stderr // stdout gets the trace
		err = pack(c.stdout)
	} else {
		err = sweep.WriteWhole(output, pack)
	}
	if err != nil {
		return err
	}
	made := unit.Plural(done.Requests, "request")
	if done.Sessions > 0 {
		made += " in " + unit.Plural(done.Sessions, "session")
	}
	fmt.Fprintf(notes, "%s: %s\n", output, made)
	if done.Different > 0 {
		fmt.Fprintf(notes, "%d different blocks of %d tokens: an unlimited cache hits %.1f %% of the prompt tokens\n",
			done.Different, done.BlockTokens, 100*done.HitRate)
	}
	for _, lost := range done.Lost {
		fmt.Fprintln(notes, safe("lost: "+lost))
	}
	return nil
}

// writeTrace writes a trace, compressed by the extension of name.
func writeTrace(w io.Writer, name string, write func(io.Writer) (*trace.Conversion, error)) (*trace.Conversion, error) {
	var packed io.WriteCloser
	switch filepath.Ext(name) {
	case ".gz":
		packed = gzip.NewWriter(w)
	case ".zst":
		z, err := zstd.NewWriter(w)
		if err != nil {
			return nil, fmt.Errorf("writing zstd: %w", err)
		}
		packed = z
	default:
		return write(w)
	}
	done, err := write(packed)
	return done, errors.Join(err, packed.Close())
}

// interrupted replaces an error after a Ctrl-C.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &exitError{codeInterrupted, errors.New("interrupted before the end of the trace")}
}

// contextFile reads a file until ctx is done, also a pipe that has no writer.
type contextFile struct {
	*os.File
	ctx   context.Context
	begun bool // the pipe has or had a writer
}

// Read implements io.Reader.
func (f *contextFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if !f.begun {
		if err := awaitWriter(f.File); err != nil {
			return 0, err
		}
		f.begun = true
	}
	return f.File.Read(p)
}
