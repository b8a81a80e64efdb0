package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	root "bench"
	"bench/experiment/endpoint"
	"bench/experiment/target"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/sweep/matrix"
	"bench/sweep/peers"
	"bench/sweep/strict"
)

// quickMatrix has a row for each workload of bench URL, which runs one of them.
const quickMatrix = "matrices/quick.toml"

const quickFile = "quick.toml" // what errors and the report call the matrix

// urlCommand is the name of the command that begins with an endpoint.
const urlCommand = "URL"

const demoModel = "meta-llama/Llama-3.1-8B-Instruct" // that bench demo simulates

type urlFlags struct {
	workload, slo, hardware string
	gpus, requests          int
	input, output           int
	budget, duration        time.Duration
	rates                   []float64
	concurrency             []int
	save                    string
	simulated               bool // bench demo
	chat                    bool // the server refused /v1/completions
}

func newURL(c *cli) *cobra.Command {
	f, in := &urlFlags{}, &sweepInput{sweepFlags: &sweepFlags{}}
	cmd := &cobra.Command{
		Use:   urlCommand,
		Short: "how much load a server carries: one answer in two minutes",
		Long: `bench http://host:8000 reaches the endpoint, finds its model, and searches for two minutes for the highest rate that
meets the SLO. It prints one answer, and writes report.html, which has the matrix that it ran. It needs no file: the
workload is a row of matrices/quick.toml, and --save writes that row as a matrix of its own, for bench sweep.
--rate and --concurrency measure these loads instead of the search.`,
		Example: `  bench http://localhost:8000                                 # TTFT p95 1s, TPOT p95 40ms
  bench host:8000 --workload rag --slo ttft_p95=2s,tpot_p95=50ms
  bench host:8000 --hardware h100-sxm --gpus 2 --set target.gpu_hour_usd=2.5   # with share of the roofline and cost
  bench https://host/v1 --api chat --model my-model --api-key-env MY_KEY
  bench host:8000 --concurrency 1,8,64 --workload 1024/128    # these loads, no search
  bench host:8000 --rate 10 --requests 500
  bench host:8000 --save mine.toml --dry-run                  # only write the matrix`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("bench URL takes the address of one server\nhint: bench http://localhost:8000")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(c, cmd, in, args[0]) },
	}
	f.register(cmd.Flags(), in.sweepFlags)
	in.targetFlags(cmd.Flags(), "completions, or chat if the server has no other")
	hardwareFlags(cmd.Flags(), &f.hardware, &f.gpus, "none: no share of the roofline", "1 with --hardware")
	return cmd
}

func newDemo(c *cli) *cobra.Command {
	f, in := &urlFlags{}, &sweepInput{sweepFlags: &sweepFlags{}}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "the same against the simulated server: no GPU needed",
		Long: `demo answers as bench http://host:8000 does, for a simulated server: Llama 3.1 8B on one H100. No server and no GPU is
needed, and every figure is simulated.`,
		Example: `  bench demo
  bench demo --workload rag --budget 1m
  bench demo --hardware l40s --set target.gpu_hour_usd=0.9`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.simulated = true
			f.hardware, f.gpus = cmp.Or(f.hardware, "h100-sxm"), cmp.Or(f.gpus, 1)
			in.set = append([]string{"target.gpu_hour_usd=2.5"}, in.set...)
			return f.run(c, cmd, in, "mock")
		},
	}
	f.register(cmd.Flags(), in.sweepFlags)
	hardwareFlags(cmd.Flags(), &f.hardware, &f.gpus, "h100-sxm", "1")
	return cmd
}

func (f *urlFlags) register(fl *pflag.FlagSet, s *sweepFlags) {
	fl.StringVar(&f.workload, "workload", "chat",
		"`NAME` of the workload: chat, rag, agent, code, or lengths like 512/128")
	fl.StringVar(&f.slo, "slo", "", "`LIMITS` (default "+defaultSLO+")")
	fl.IntVar(&f.input, "input", 0, "prompt tokens of every request")
	fl.IntVar(&f.output, "output", 0, "response tokens of every request")
	fl.Float64SliceVar(&f.rates, "rate", nil, "measure these requests per second: no search")
	fl.IntSliceVar(&f.concurrency, "concurrency", nil,
		"measure these numbers of requests in flight: no search; with --rate, a cap")
	fl.IntVar(&f.requests, "requests", 0, "requests of each load of --rate or --concurrency")
	fl.DurationVar(&f.duration, "duration", 0,
		"`TIME` of each load of --rate or --concurrency (30s, or until --requests)")
	fl.DurationVar(&f.budget, "budget", 2*time.Minute, "`TIME` of the search")
	fl.StringVar(&f.save, "save", "", "write the matrix to `FILE`, for bench sweep FILE")
	s.runFlags(fl)
}

// run runs one row of quickMatrix.
func (f *urlFlags) run(c *cli, cmd *cobra.Command, in *sweepInput, address string) error {
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	base, api := target.OfCall(address)
	if api != "" && in.api == "" {
		in.api = api
	}
	shipped, err := root.Matrices.ReadFile(quickMatrix)
	if err != nil {
		return fmt.Errorf("reading a matrix of bench's own: %w", err)
	}
	row, lengths := f.row()
	in.text = []byte(f.text(string(shipped), row, redacted(c.args)))
	typed := append(f.overrides(row, in.sweepFlags), lengths...)
	in.set = slices.Concat([]string{"target.endpoint=" + strconv.Quote(base)}, overridesOf(typed), in.set)
	in.quick = f
	if err := f.checkSecret(in.set); err != nil {
		return err
	}
	err = asTyped(in.sweep(c, cmd, quickFile), typed)
	if in.api == "" && lacksCompletions(err) {
		f.chat = true
		in.set = append(in.set, `target.api="chat"`)
		if err = in.read(cmd.Context(), quickFile, c.stderr); err == nil {
			err = in.run(cmd.Context(), c)
		}
	}
	if err == nil && in.dryRun {
		err = f.write(c.stderr, in.m)
	}
	return err
}

func (f *urlFlags) measures() bool { return len(f.rates)+len(f.concurrency) > 0 }

func (f *urlFlags) check(fl *pflag.FlagSet) error {
	if err := positive(fl); err != nil {
		return err
	}
	if strings.HasSuffix(f.slo, ".toml") {
		return usage("--slo %s: the limits of an address are a list\nhint: --slo ttft_p95=1s,tpot_p95=40ms, or bench sweep %[1]s", f.slo)
	}
	if f.slo != "" {
		if _, err := matrix.ReadLimits(f.slo); err != nil {
			return usage("%w", err)
		}
	}
	_, _, isLengths := lengthsOf(f.workload)
	if !slices.Contains([]string{"chat", "rag", "agent", "code"}, f.workload) && !isLengths {
		return usage("unknown --workload %q\nhint: chat, rag, agent, code, or prompt and response tokens: 512/128",
			f.workload)
	}
	for _, name := range []string{"requests", "duration"} {
		if fl.Changed(name) && !f.measures() {
			return usage("--%s is for --rate and --concurrency: a search chooses its own windows\nhint: --budget 5m, or --rate 10 --%[1]s …", name)
		}
	}
	if f.measures() && fl.Changed("budget") {
		return usage("--budget is the time of a search, which --rate and --concurrency replace\nhint: --duration 30s")
	}
	if f.save != "" {
		if _, err := os.Stat(f.save); err == nil {
			return usage("--save: %s exists\nhint: name another file, or remove it", f.save)
		}
	}
	return nil
}

// checkSecret refuses to write a secret of the command line to the file of --save.
func (f *urlFlags) checkSecret(set []string) error {
	hidden := func(argument string) bool { return matrix.MaskSecrets(argument) != argument }
	if f.save != "" && slices.ContainsFunc(set, hidden) {
		return usage("--save would write a secret of the command line to %s\nhint: leave it out, and give a key by --api-key-env VAR", f.save)
	}
	return nil
}

// lengthsOf are the prompt and response tokens in a workload such as 512/128.
func lengthsOf(workload string) (input, output int, ok bool) {
	prompt, response, _ := strings.Cut(workload, "/")
	input, errInput := strconv.Atoi(prompt)
	output, errOutput := strconv.Atoi(response)
	return input, output, errInput == nil && errOutput == nil && input > 0 && output > 0
}

// row is the row to run, and its fixed lengths as overrides.
func (f *urlFlags) row() (name string, lengths []override) {
	input, output, _ := lengthsOf(f.workload)
	input, output = cmp.Or(f.input, input), cmp.Or(f.output, output)
	name = f.workload
	if input > 0 && output > 0 {
		name = "fixed"
	}
	return name, []override{{"--input", "row." + name + ".input", number(float64(input))},
		{"--output", "row." + name + ".output", number(float64(output))}}
}

// override is what a flag writes: a key of the matrix with its value in TOML; empty: as in the file.
type override struct{ flag, path, value string }

func overridesOf(all []override) (set []string) {
	for _, o := range all {
		if o.value != "" {
			set = append(set, o.path+"="+o.value)
		}
	}
	return set
}

// asTyped names the flag in mistakes of what it wrote, as nobody typed that --set.
func asTyped(err error, typed []override) error {
	var problems strict.Problems
	_ = errors.As(err, &problems)
	for i := range problems {
		p := &problems[i]
		for _, o := range typed {
			if p.Line == 0 && p.Source == o.path+"="+o.value {
				p.File, p.Col, p.Text = o.flag, 0, strings.TrimPrefix(p.Text, o.path+": ")
			}
		}
	}
	return err
}

// quoted is a text in TOML; empty: none.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return strconv.Quote(text)
}

// number is x in TOML; empty: 0.
func number(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// span is a duration as a matrix has it: 1h, not 1h0m0s.
func span(d time.Duration) string {
	text := peers.Span(d)
	if hours, isWhole := strings.CutSuffix(text, "h0m"); isWhole {
		return hours + "h"
	}
	return text
}

func (f *urlFlags) overrides(row string, s *sweepFlags) []override {
	all := []override{
		{"--api", "target.api", quoted(s.api)}, {"--model", "target.model", quoted(s.model)},
		{"--hardware", "target.hardware", quoted(f.hardware)}, {"--gpus", "target.gpus", number(float64(f.gpus))},
	}
	at := "row." + row + "."
	if !f.measures() {
		return append(all, override{"--budget", at + "rate.budget", quoted(span(f.budget))})
	}
	duration := f.duration
	if f.requests == 0 {
		duration = cmp.Or(duration, 30*time.Second)
	}
	if duration > 0 {
		all = append(all, override{"--duration", at + "duration", quoted(span(duration))})
	}
	return append(all, override{"--rate", at + "rate", list(f.rates)},
		override{"--concurrency", at + "concurrency", list(f.concurrency)},
		override{"--requests", at + "requests", number(float64(f.requests))})
}

// list is a number, or the list of several, in TOML; empty: none.
func list[T int | float64](values []T) string {
	var texts []string
	for _, x := range values {
		texts = append(texts, number(float64(x)))
	}
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// text is quickMatrix with one row, which has no search if loads are stated, and the limits of --slo. Tables are its
// paragraphs.
func (f *urlFlags) text(shipped, row string, command []string) string {
	var out []string
	for p := range strings.SplitSeq(strings.TrimSpace(shipped), "\n\n") {
		_, head, first := strings.Cut(p, "\nname       =")
		switch {
		case first:
			p = "# Written by: " + text.Escape(text.ShellWords(command)) +
				"\n# bench sweep FILE runs it again; docs/matrix.md and docs/predict.md#search have the keys.\nname       =" + head
			if f.measures() {
				p = withoutLines(p, "hypothesis ")
			}
		case strings.HasPrefix(p, "[target]"):
			for begin, replaced := range map[string]bool{"# hardware ": f.hardware != "", "# gpus ": f.gpus > 0} {
				if replaced {
					p = withoutLines(p, begin)
				}
			}
		case strings.HasPrefix(p, "[slo]") && f.slo != "":
			p = "[slo]\n" + limitLines(f.slo)
		case !strings.Contains(p, "[[row]]"):
		case !strings.Contains(p, "\nname   = "+strconv.Quote(row)+"\n"):
			continue
		case f.measures():
			p = withoutLines(p, "rate ")
		}
		out = append(out, p)
		if strings.HasPrefix(p, "[target]") && f.simulated {
			out = append(out, fmt.Sprintf("[mock]                           # what the simulated server simulates\n"+
				"model    = %q\nhardware = %q", demoModel, f.hardware))
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

func withoutLines(text, begin string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"),
		func(line string) bool { return strings.HasPrefix(line, begin) }), "\n")
}

// limitLines are the limits of --slo as lines of TOML, with the usual share of errors.
func limitLines(slo string) (lines string) {
	if !strings.Contains(slo, "error_rate") {
		slo += ",error_rate=0.01"
	}
	for limit := range strings.SplitSeq(slo, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(limit), "=")
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			value = strconv.Quote(value)
		}
		lines += key + " = " + value + "\n"
	}
	return strings.TrimSuffix(lines, "\n")
}

// lacksCompletions reports whether an error of reaching a server can mean that it has the chat API only: it lists its
// models, the requested one among them, and does not know the call.
func lacksCompletions(err error) bool {
	probe := new(endpoint.ProbeError)
	return errors.As(err, &probe) && len(probe.Served) == 0 && (probe.Result.Status == 404 ||
		probe.Result.Status == 405)
}

// write writes the matrix that runs to the file of --save.
func (f *urlFlags) write(w io.Writer, m *matrix.Matrix) error {
	if f.save == "" {
		return nil
	}
	err := writeNew(f.save, []byte(m.Text))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--save: %w", err)
	}
	_, err = fmt.Fprintf(w, "matrix: %s\n", f.save)
	return err
}

// withURL puts the name of the command before an endpoint that stands where a command does, or a matrix.
func withURL(root *cobra.Command, args []string) []string {
	rest := args
	if len(args) > 0 && args[0] == "sweep" {
		rest = args[1:]
	}
	if isAddress(firstWord(rest, find(root, "sweep").Flags(), find(root, urlCommand).Flags())) {
		return append([]string{urlCommand}, rest...)
	}
	return args
}

// firstWord is the first of some words that is neither a flag nor its value.
func firstWord(words []string, flags ...*pflag.FlagSet) string {
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			return words[i]
		}
		name, _, joined := strings.Cut(strings.TrimLeft(words[i], "-"), "=")
		takesNext := func(fl *pflag.FlagSet) bool { f := fl.Lookup(name); return f != nil && f.NoOptDefVal == "" }
		if !joined && slices.ContainsFunc(flags, takesNext) {
			i++
		}
	}
	return ""
}

// isAddress takes any scheme: that of another protocol gets an error which says so.
func isAddress(word string) bool {
	if strings.Contains(word, "://") {
		return true
	}
	address, _, _ := strings.Cut(word[strings.LastIndex(word, "@")+1:], "/")
	_, port, err := net.SplitHostPort(address)
	_, errPort := strconv.ParseUint(port, 10, 16)
	return err == nil && errPort == nil
}

// begin states what bench URL has reached and what it takes by default, and writes the matrix of --save.
func (f *urlFlags) begin(in *sweepInput, server *endpoint.Server, stderr io.Writer) error {
	if f.chat {
		fmt.Fprintln(stderr, "note: the server has no /v1/completions: --api chat is used")
	}
	s, load := &in.m.Points[0], "budget "+unit.Clock(f.budget)+" (--budget)"
	if f.measures() {
		load = "loads as stated"
	}
	engine := cmp.Or(strings.TrimSpace(server.Info.Owner()+" "+
		strings.TrimPrefix(server.Info.ServerVersion(), server.Info.Owner()+"/")), "engine not reported")
	if f.simulated {
		engine = "SIMULATED: no server"
	}
	var limits []string
	for _, l := range s.SLO.Limits {
		limits = append(limits, verdict.TextOfLimit(l.Key, "", l.Value, l.Unit))
	}
	fmt.Fprintln(stderr, safe(fmt.Sprintf("%s: %s, %s, api %s", server.Info.Endpoint, server.Info.Model, engine,
		s.APIFor(in.m.Target))))
	fmt.Fprintln(stderr, safe(fmt.Sprintf("workload %s (--workload); SLO %s (--slo); %s", s.Name,
		strings.Join(limits, " · "), load)))
	return f.write(stderr, in.m)
}
