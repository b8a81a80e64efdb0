package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/workload/trace"
	"bench/sweep"
)

const traceFormats = "mooncake, azure, burstgpt, bailian, sharegpt, log, bench"

func newTrace(c *cli) *cobra.Command {
	var o trace.Options
	var format string
	var sizes []int
	cmd := &cobra.Command{
		Use:   "trace FILE",
		Short: "inspect a trace of requests: its load, its lengths, the cache hits it allows",
		Long: `trace reads a log of requests in one pass and says how many there are, how they come (rate, burstiness, steps of the clock), how
long they are, and which share of their prompts a prefix cache of which size can hit.

Formats: ` + traceFormats + `; told from the data unless --from states it.
gzip and zstd are read as they are. docs/traces.md has the formats and the figures.`,
		Example: `  bench trace conversation_trace.jsonl
  bench trace conversation_trace.jsonl --cache-blocks 1000,10000,100000
  bench trace AzureLLMInferenceTrace_code.csv --start 10m --end 20m
  bench trace BurstGPT_1.csv --class GPT-4 --format json > gpt4.json
  bench trace convert requests.jsonl --anonymize -o private.jsonl`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			return c.inspect(cmd.Context(), o, format, sizes)
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "text", "text or json")
	f.IntSliceVar(&sizes, "cache-blocks", nil, "cache sizes, in blocks of the trace (round ones up to the trace's own)")
	traceFlags(f, &o)
	cmd.AddCommand(newTraceConvert(c))
	return cmd
}

func newTraceConvert(c *cli) *cobra.Command {
	var o trace.Options
	var output string
	var anonymize bool
	cmd := &cobra.Command{
		Use:   "convert FILE -o OUT",
		Short: "write a trace in bench's own format, without text, on request anonymous",
		Long: `convert writes a trace, or a log of requests with their text, as lines that are a superset of Mooncake's, and says what was lost.
There is no text in the outcome: prompts become numbers of blocks, the same number for the same beginning, by hashes under a
key that is forgotten at the end. With --anonymize it has lengths, times since the first request, and numbers of blocks and sessions
counted from the start: nothing else of the log.`,
		Example: `  bench trace convert requests.jsonl --anonymize -o private.jsonl
  bench trace convert conversation_trace.jsonl --end 10m -o ten_minutes.jsonl.zst
  bench trace convert ShareGPT_V3.json --bytes-per-token 3.8 -o sharegpt.jsonl`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			return c.convert(cmd.Context(), o, output, anonymize)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "file to write, compressed where its name ends in .gz or .zst; - for the terminal")
	f.BoolVar(&anonymize, "anonymize", false, "keep lengths, relative times and counted numbers alone")
	traceFlags(f, &o)
	return cmd
}

// traceFlags are the keys of [row.trace] that make sense for a file at hand.
func traceFlags(f *pflag.FlagSet, o *trace.Options) {
	f.StringVar(&o.Format, "from", "", "format of the file (told from the data): "+traceFormats)
	f.StringVar(&o.TimeUnit, "time-unit", "", "of numeric times: s, ms, us, ns (the format's)")
	f.IntVar(&o.BlockTokens, "block-tokens", 0, "tokens of a block (the format's)")
	f.Float64Var(&o.BytesPerToken, "bytes-per-token", 0, "of text, to estimate lengths (4)")
	f.DurationVar(&o.Start, "start", 0, "leave out what comes before, since the first row")
	f.DurationVar(&o.End, "end", 0, "leave out what comes after, since the first row")
	f.StringVar(&o.Class, "class", "", "keep this model or kind of request alone")
	f.IntVar(&o.MinInput, "min-input", 0, "keep prompts of so many tokens and more")
	f.IntVar(&o.MaxInput, "max-input", 0, "keep prompts of so many tokens and less")
	f.IntVar(&o.MinOutput, "min-output", 0, "keep answers of so many tokens and more")
	f.IntVar(&o.MaxOutput, "max-output", 0, "keep answers of so many tokens and less")
	f.IntVar(&o.CapInput, "cap-input", 0, "cut longer prompts to so many tokens")
	f.IntVar(&o.CapOutput, "cap-output", 0, "cut longer answers to so many tokens")
}

// traceFlag is the flag of a key of [row.trace].
func traceFlag(key string) string {
	if flag := map[string]string{"format": "--from", "file": "FILE"}[key]; flag != "" {
		return flag
	}
	return flagOf(key)
}

// traceAssigned is a key of [row.trace] in a hint, with its value where it has one.
var traceAssigned = regexp.MustCompile(`\b((?:min|max|cap)_(?:in|out)put|time_unit|block_tokens|bytes_per_token)( = "?[\w.]+"?)?|\b(start|end) = "\w+"`)

// flagWords are the words of a hint with flags in place of keys: block_tokens = 512 is --block-tokens 512.
func flagWords(hint string) string {
	return traceAssigned.ReplaceAllStringFunc(hint, func(found string) string {
		key, value, assigned := strings.Cut(found, " = ")
		if !assigned {
			return traceFlag(key)
		}
		return traceFlag(key) + " " + strings.Trim(value, `"`)
	})
}

// inFlags is an error about a trace with the flags to type in its hint, where the package speaks of a matrix.
func inFlags(err error) error {
	text, hint, ok := strings.Cut(err.Error(), "\nhint: ")
	if !ok {
		return err
	}
	return &exitError{codeOf(err), errors.New(text + "\nhint: " + flagWords(hint))}
}

// openTrace opens what the command line asks for, to be read until ctx ends; end closes it.
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
			err = usage("%w\nhint: bench trace takes the path of a file", err)
		}
		return nil, nil, err
	}
	wake := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) }) // a file on a disk needs no waking
	r, err = trace.New(&obedient{File: f, ctx: ctx}, o, nil)
	if err != nil {
		wake()
		_ = f.Close()
		return nil, nil, inFlags(interrupted(ctx, err))
	}
	return r, func() {
		wake()
		_ = r.Close() // both were only read
		_ = f.Close()
	}, nil
}

func (c *cli) inspect(ctx context.Context, o trace.Options, format string, sizes []int) error {
	if format != "text" && format != "json" {
		return usage("unknown format %q\nhint: use text or json; --from states the format of the file", format)
	}
	for _, n := range sizes {
		if n < 1 {
			return usage("--cache-blocks: a cache of %d blocks\nhint: write --cache-blocks 1000,10000", n)
		}
	}
	r, end, err := openTrace(ctx, o)
	if err != nil {
		return err
	}
	defer end()
	report, err := trace.Inspect(r, sizes)
	if err != nil {
		return inFlags(interrupted(ctx, err))
	}
	if format == "json" {
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
	return trace.Text(c.stdout, report)
}

func (c *cli) convert(ctx context.Context, o trace.Options, output string, anonymize bool) error {
	if output == "" {
		return usage("no file to write\nhint: bench trace convert %s -o converted.jsonl", o.File)
	}
	if in, err := os.Stat(o.File); err == nil {
		if out, err := os.Stat(output); err == nil && os.SameFile(in, out) && in.Mode().IsRegular() {
			return usage("-o %s is the file that is read\nhint: write another one", output)
		}
	}
	r, end, err := openTrace(ctx, o)
	if err != nil {
		return err
	}
	defer end()
	var done *trace.Conversion
	write := func(w io.Writer) (err error) {
		done, err = writeTrace(w, output, r, anonymize)
		return err
	}
	said := c.stdout
	if output == "-" {
		said = c.stderr // the trace goes to the other
		err = write(c.stdout)
	} else {
		err = sweep.WriteWhole(output, write)
	}
	if err != nil {
		return inFlags(interrupted(ctx, err))
	}
	fmt.Fprintf(said, "%s: %s\n", output, count(done.Requests, "request"))
	if done.Different > 0 {
		fmt.Fprintf(said, "%d different blocks of %d tokens: an unlimited cache hits %.1f %% of the prompt tokens\n",
			done.Different, done.BlockTokens, 100*done.HitRate)
	}
	for _, lost := range done.Lost {
		fmt.Fprintln(said, plain("lost: "+lost))
	}
	return nil
}

// writeTrace writes a trace, compressed where its name says so.
func writeTrace(w io.Writer, name string, r *trace.Reader, anonymize bool) (*trace.Conversion, error) {
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
		return trace.Convert(w, r, anonymize)
	}
	done, err := trace.Convert(packed, r, anonymize)
	return done, errors.Join(err, packed.Close())
}

// interrupted is what an error is after a Ctrl-C.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &exitError{codeInterrupted, errors.New("interrupted before the trace was read to its end")}
}

// obedient reads a file until ctx ends, in a pipe that nothing comes from too.
type obedient struct {
	*os.File
	ctx   context.Context
	begun bool // somebody has written, or there is nothing to wait for
}

func (f *obedient) Read(p []byte) (int, error) {
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
