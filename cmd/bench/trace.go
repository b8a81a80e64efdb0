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
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/text"
	"bench/experiment/trace"
	"bench/experiment/unit"
	"bench/report/export"
	"bench/sweep"
	"bench/sweep/strict"
)

// sampleSeed is that of samples and of jitter.
const sampleSeed = 1

const traceFormats = "mooncake, azure, burstgpt, sharegpt, log, weka, otel, bench"

type traceFlags struct {
	options trace.Options
	set     []string // KEY=VALUE of [row.trace]
	output           // without a file its format is that of what is printed

	// With a file: what is written.
	anonymize          bool
	sessions, requests int // a sample; 0 = all
}

func newTrace(c *cli) *cobra.Command {
	var t traceFlags
	cmd := &cobra.Command{
		Use:   "trace FILE [-o OUT]",
		Short: "inspect a trace, or write it without text, anonymized or sampled",
		Long: `trace reads a log of requests. It prints their number, arrivals (rate, burstiness, clock resolution), lengths, and
the share of prompt tokens that prefix caches of several sizes can hit; of agents' traces the requests of a session,
those in parallel, subagents, tool time and session time.

With -o it writes them instead, as lines in a superset of Mooncake's format, and reports what is lost. The output has no
text: prompts become block numbers, equal for equal prefixes, from hashes with a key that is discarded at the end. With
--anonymize it has only lengths, times since the first request, and block and session numbers, in order of appearance.
A sample has whole sessions, or single requests of a trace without graphs, each with equal probability, in the order of
the trace, the same ones each time.

Formats: ` + traceFormats + `; detected unless --set trace.format names it.
Files can be gzip or zstd. docs/traces.md describes the formats, the figures and the keys for --set.`,
		Example: `  bench trace conversation_trace.jsonl
  bench trace AzureLLMInferenceTrace_code.csv --set trace.start=10m --set trace.end=20m
  bench trace BurstGPT_1.csv --set trace.max_input=4096 --format json > short.json
  bench trace requests.jsonl --anonymize -o private.jsonl
  bench trace weka.jsonl --sessions 50 -o weka50.jsonl.zst`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.options.File = args[0]
			if err := t.check(cmd.Flags()); err != nil {
				return err
			}
			if t.file == "" {
				return t.inspect(cmd.Context(), c)
			}
			return t.convert(cmd.Context(), c)
		},
	}
	t.register(cmd.Flags())
	cmd.AddCommand(newTraceRecord(c))
	return cmd
}

func (t *traceFlags) register(f *pflag.FlagSet) {
	f.StringArrayVar(&t.set, "set", nil, "`KEY=VALUE` of [row.trace], e.g. trace.max_input=4096 (repeatable)")
	t.output.register(f, "", textOrJSON...)
	f.Lookup("output").Usage = "`FILE` to write the trace, compressed if its name ends in .gz or .zst; - for stdout"
	f.BoolVar(&t.anonymize, "anonymize", false, "keep only lengths, relative times and counted numbers")
	f.IntVar(&t.sessions, "sessions", 0, "write a random sample of this many sessions")
	f.IntVar(&t.requests, "requests", 0, "write a random sample of this many requests, of a trace without graphs")
}

func (t *traceFlags) check(f *pflag.FlagSet) error {
	unused, remedy := []string{"anonymize", "sessions", "requests"}, "add -o OUT"
	if t.file != "" {
		unused, remedy = []string{"format"}, "remove -o to inspect the trace"
	}
	for _, name := range unused {
		if f.Changed(name) {
			return usage("--%s has no effect\nhint: %s", name, remedy)
		}
	}
	switch {
	case t.sessions > 0 && t.requests > 0:
		return usage("a sample has --sessions or --requests, not both\nhint: remove one of the two")
	case f.Changed("sessions") && t.sessions < 1, f.Changed("requests") && t.requests < 1:
		return usage("--sessions and --requests: expected an integer ≥ 1\nhint: --sessions 50")
	}
	if err := t.setKeys(); err != nil {
		return err
	}
	var wrong mistakes
	inFlags := wrong.inFlags("--set trace.")
	t.options.Check(func(key, problem, hint string) { inFlags(key, problem, flagWords(hint)) })
	return wrong.err()
}

func (t *traceFlags) setKeys() error {
	d, err := strict.ParseSet("--set", []byte("[trace]"), t.set)
	if err != nil {
		return err
	}
	if d.IsSet("trace.file") {
		return usage("--set trace.file: the file is an argument\nhint: bench trace FILE")
	}
	if len(d.Root) > 1 { // another table or key than trace
		return usage("--set changes keys of [row.trace]\nhint: --set trace.max_input=4096")
	}
	return d.Decode("trace", &t.options)
}

// traceKey matches a key of [row.trace] in a hint, with its value if it has one.
var traceKey = text.Lazy(`(?:(?:set|write) )?\b(` + setKey + `|start|end) = "?([\w.]+)"?|\b(` + setKey + `)\b`)

const setKey = `(?:min|max|cap)_input|time_unit|block_tokens|bytes_per_token`

// flagWords replaces the keys in a hint by flags: set block_tokens = 512 by --set trace.block_tokens=512.
func flagWords(hint string) string {
	return traceKey().ReplaceAllStringFunc(hint, func(found string) string {
		m := traceKey().FindStringSubmatch(found)
		if m[1] == "" {
			return "trace." + m[3]
		}
		return "--set trace." + m[1] + "=" + m[2]
	})
}

func traceError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return interrupted("interrupted before the end of the trace")
	}
	text, hint, ok := strings.Cut(err.Error(), "\nhint: ")
	if !ok {
		return err
	}
	return &exitError{codeOf(err), errors.New(text + "\nhint: " + flagWords(hint))}
}

// openTrace opens a trace; its reads fail once ctx is done. end closes it.
func openTrace(ctx context.Context, t *traceFlags) (r *trace.Reader, end func(), err error) {
	o := t.options
	f, err := interruptible(ctx, func() (*os.File, error) { return os.Open(o.File) }) // a pipe without a writer waits
	switch {
	case ctx.Err() != nil:
		return nil, nil, err
	case err != nil:
		err = fmt.Errorf("opening the trace: %w", err)
		if errors.Is(err, os.ErrNotExist) {
			err = usage("%w\nhint: bench trace takes the path of a trace", err)
		}
		return nil, nil, err
	}
	wake := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) }) // wakes a blocked read of a pipe
	r, err = trace.New(&contextFile{File: f, ctx: ctx}, o, rand.New(rand.NewPCG(sampleSeed, 1)))
	if err != nil {
		wake()
		_ = f.Close()
		return nil, nil, traceError(ctx, err)
	}
	return r, func() {
		wake()
		_ = r.Close() // nothing was written
		_ = f.Close()
	}, nil
}

func (t *traceFlags) inspect(ctx context.Context, c *cli) error {
	r, end, err := openTrace(ctx, t)
	if err != nil {
		return err
	}
	defer end()
	report, err := trace.Inspect(r, 0)
	if err != nil {
		return traceError(ctx, err)
	}
	if t.format == "json" {
		return export.WriteJSON(c.stdout, report)
	}
	for i := range report.Notes {
		report.Notes[i].Hint = flagWords(report.Notes[i].Hint)
	}
	return trace.Text(c.stdout, report)
}

func (t *traceFlags) convert(ctx context.Context, c *cli) error {
	in, err := os.Stat(t.options.File)
	if err == nil {
		out, err := os.Stat(t.file)
		switch {
		case err == nil && os.SameFile(in, out) && in.Mode().IsRegular():
			return usage("-o %s is the input file\nhint: name another file", t.file)
		case t.sessions+t.requests > 0 && !in.Mode().IsRegular():
			return usage("%s is not a file, and a sample reads it twice\nhint: write it to a file first",
				t.options.File)
		}
	}
	var done *trace.Conversion
	pack := func(w io.Writer) (err error) {
		done, err = writeTrace(w, t.file, func(w io.Writer) (*trace.Conversion, error) { return t.write(ctx, w) })
		return err
	}
	notes := c.stdout
	if t.file == "-" {
		notes = c.stderr // stdout gets the trace
		err = pack(c.stdout)
	} else {
		err = sweep.WriteWhole(t.file, pack)
	}
	if err != nil {
		return err
	}
	made := unit.Plural(done.Requests, "request")
	if done.Sessions > 0 {
		made += " in " + unit.Plural(done.Sessions, "session")
	}
	fmt.Fprintf(notes, "%s: %s\n", t.file, made)
	if done.Different > 0 {
		fmt.Fprintf(notes, "%d different blocks of %d tokens: an unlimited cache hits %.1f %% of the prompt tokens\n",
			done.Different, done.BlockTokens, 100*done.HitRate)
	}
	for _, lost := range done.Lost {
		fmt.Fprintln(notes, safe("lost: "+lost))
	}
	return nil
}

func (t *traceFlags) write(ctx context.Context, w io.Writer) (*trace.Conversion, error) {
	n := max(t.sessions, t.requests)
	if n == 0 {
		r, end, err := openTrace(ctx, t)
		if err != nil {
			return nil, err
		}
		defer end()
		done, err := trace.Convert(w, r, t.anonymize)
		return done, traceError(ctx, err)
	}
	var end func()
	open := func() (r *trace.Reader, err error) {
		r, end, err = openTrace(ctx, t)
		return r, err
	}
	choice := rand.New(rand.NewPCG(sampleSeed, 0))
	done, err := trace.Sample(w, open, func() { end() }, n, t.sessions > 0, choice, t.anonymize)
	return done, traceError(ctx, err)
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

// contextFile reads a file until ctx is done.
type contextFile struct {
	*os.File
	ctx context.Context
}

func (f *contextFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}
