package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/workload"
	"bench/report"
)

type askFlags struct {
	row, router string
	output
}

func newAsk(c *cli) *cobra.Command {
	f := &askFlags{}
	cmd := &cobra.Command{
		Use:   "ask RUN [QUESTION…]",
		Short: "ask the fitted model of the server what was not measured",
		Long: `ask answers from the twin, a small model of the server that is fitted to the stored requests of a run (docs/predict.md#the-twin):
latencies at a load, or the highest load under other limits or lengths. Its figures are estimated, with intervals of 95 %.
It refuses where the measured rows do not bear it out. rate or concurrency asks for the latencies at a load; without one the
answer is the highest load within the SLO. slo.LIMIT replaces the whole SLO. input and output are mean tokens: every prompt or
response is longer or shorter by one factor. prefix is the cached share of each prompt. With replicas=N the load is
shared by N such servers behind a router.`,
		Example: `  bench ask results/chat/20260101T120000Z rate=30
  bench ask results/chat/20260101T120000Z slo.ttft_p95=300ms slo.tpot_p95=40ms
  bench ask results/chat/20260101T120000Z rate=30 input=2000 prefix=0.8
  bench ask results/chat/20260101T120000Z rate=90 replicas=3 --router least-load`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.ask(c, args[0], args[1:]) },
	}
	rowFlag(cmd.Flags(), &f.row)
	routerFlag(cmd.Flags(), &f.router)
	f.register(cmd.Flags(), "", textOrJSON...)
	return cmd
}
func (f *askFlags) ask(c *cli, path string, questions []string) error {
	run, err := c.load(path)
	if err != nil {
		return err
	}
	q, axis, limits, err := parseQuestions(questions)
	if err != nil {
		return err
	}
	q.Router = f.router
	first := run.AnswerRow()
	limited := slices.ContainsFunc(run.Rows, func(r record.Row) bool { return r.Spec.HasLimits() })
	ofClasses := slices.ContainsFunc(run.Rows, func(r record.Row) bool { // which no twin has
		return slices.ContainsFunc(r.Spec.Mix, func(c workload.Class) bool { return len(c.SLO) > 0 })
	})
	if axis != "" && limits == "" && (!limited || ofClasses) {
		limits = anyLatency
	}
	if limits != "" {
		if err := judgeBy(limits, run); err != nil {
			return err
		}
	}
	var refused error // by the row of the run's answer, else by the first
	all := run.Curves(first)
	for i := range all {
		s := &all[i]
		if len(s.Points) < 2 || f.row != "" && s.Name != f.row && s.Label() != f.row || axis != "" && s.Axis != axis {
			continue
		}
		answer, err := s.AskTwin(q, limits != "", run.Manifest.Slots(), run.Requests)
		if err != nil {
			refused = cmp.Or(refused, fmt.Errorf("%s: %w", s.Label(), err))
			continue
		}
		if refused != nil {
			fmt.Fprintln(c.stderr, safe(fmt.Sprintf("note: %s; the answer is for %s", refused, s.Label())))
		}
		return c.write(f.output, "answer", answer, func(w io.Writer, screen report.Screen) error {
			return report.AskText(w, s, q, answer, screen)
		})
	}
	if refused != nil {
		return refused
	}
	return usage("%s of %s has the two loads of %s that a twin needs\nhint: bench report %s --format text lists rows",
		strings.TrimSpace("no row "+f.row), path, cmp.Or(axis, "one kind"), path)
}

// anyLatency is the limits of a run without an SLO, which is asked for its latencies: by these percentiles the twin is
// believed or rejected, whatever the values are.
const anyLatency = "ttft_p95=1s,tpot_p95=1s,e2e_p95=1s"

// parseQuestions separates the limits, which are an SLO of their own, from the other keys. axis is that of the load;
// empty: none was asked for.
func parseQuestions(questions []string) (q series.Question, axis, limits string, err error) {
	q.Prefix = -1
	keys := map[string]*float64{"rate": &q.Load, "concurrency": &q.Load, "input": &q.Input, "output": &q.Output,
		"prefix": &q.Prefix, "replicas": &q.Replicas}
	var slo []string
	given := map[string]bool{}
	for _, text := range questions {
		key, value, _ := strings.Cut(text, "=")
		if limit, ok := strings.CutPrefix(key, "slo."); ok {
			slo = append(slo, limit+"="+value)
			continue
		}
		to := keys[key]
		x, bad := strconv.ParseFloat(value, 64)
		switch {
		case to == nil:
			return q, "", "", usage("unknown question %q\nhint: ask %s or slo.LIMIT, like rate=30 or slo.ttft_p95=300ms", text,
				strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
		case bad != nil || !(x > 0) && key != "prefix" || math.IsInf(x, 0) || key == "prefix" && !(x >= 0 && x <= 1):
			return q, "", "", usage("%q: expected a number above 0, or a share from 0 to 1 for prefix\nhint: rate=30, "+
				"prefix=0.8", text)
		}
		if given[key] {
			return q, "", "", usage("%s is given twice\nhint: one value each", key)
		}
		given[key] = true
		if to == &q.Load {
			if axis != "" && axis != key {
				return q, "", "", usage("rate and concurrency cannot be combined\nhint: ask one of them")
			}
			axis = key
		}
		*to = x
	}
	switch {
	case q.Replicas != math.Round(q.Replicas):
		return q, "", "", usage("replicas=%v is not a number of servers\nhint: replicas=3", q.Replicas)
	case q.Replicas > 0 && axis == "":
		return q, "", "", usage("replicas share a load\nhint: add rate=30; bench size finds the number for a load")
	}
	if axis != "" && len(slo) > 0 {
		return q, "", "", usage("limits have no effect on the latencies at a load\nhint: leave out %s, or the limits",
			axis)
	}
	return q, axis, strings.Join(slo, ","), nil
}
