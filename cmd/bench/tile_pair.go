package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/safetext"
	"bench/experiment/target"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/compare"
	"bench/report/foreign"
	"bench/sweep"
	"bench/sweep/live"
)

// maxTileEndpoints is the number of endpoints that one run compares.
const maxTileEndpoints = 2

// runPair measures two endpoints in interleaved blocks, the repeats of one row, and prints their difference.
func (t *tileRun) runPair(ctx context.Context) error {
	o, err := (&compareFlags{format: "text", onUndecided: "fail", known: "fail", same: "5%",
		allow: t.allow}).options(2)
	if err != nil {
		return err
	}
	if err := t.reachBoth(ctx, o); err != nil {
		return couldNotConnect(err)
	}
	fmt.Fprint(t.stdout, t.orderText())
	result, err := t.runBlocks(ctx)
	defer debug.SetGCPercent(debug.SetGCPercent(reportGC))
	quiet := t.sweepFlags
	quiet.watch.json = true // the comparison is the table
	err = t.conclude(result, err, &quiet)
	if result == nil {
		return err
	}
	compareErr := t.comparePair(result.Dir, o)
	if err == nil || ctx.Err() == nil {
		return errors.Join(err, compareErr)
	}
	return err
}

// sideName is how texts call one of the two endpoints.
func (t *tileRun) sideName(i int) string {
	return fmt.Sprintf("%c %s", 'A'+i, safe(target.Redact(t.m.Variants[i].Endpoint)))
}

// reachBoth reaches both servers, prints what each will be sent, and refuses what the comparison would
// refuse in the end.
func (t *tileRun) reachBoth(ctx context.Context, o compare.Options) error {
	var servers []*endpoint.Server
	var sides []compare.Side
	var contexts []int
	var text strings.Builder
	for i := range t.m.Variants {
		server, _, err := t.o.Reach(ctx, &t.m.Variants[i])
		if err != nil {
			return err
		}
		defer server.Close()
		point := &t.m.Points[0]
		servers, contexts = append(servers, server), append(contexts, point.Tile.Contexts)
		sides = append(sides, compare.Side{Name: t.sideName(i), Runs: []compare.Run{{Manifest: record.Manifest{Target: server.Info}}}})
		fmt.Fprintf(&text, "\nendpoint   %s\n%s", t.sideName(i), t.specification(server))
	}
	t.known = true
	result, err := compare.Compare(sides[0], sides[1], o)
	if err != nil {
		return err
	}
	styles, err := t.styleDifferences(ctx, servers)
	if err != nil {
		return err
	}
	result.Differences, result.Refused = append(result.Differences, styles...), result.Refused || len(styles) > 0
	if result.Refused { // no point is compared yet
		return (&compareFlags{}).verdict(result)
	}
	if a, b := contexts[0], contexts[1]; a != b {
		return usage("the sizing gives %d contexts for one server and %d for the other: "+
			"two different workloads\n"+
			"hint: --contexts %d", a, b, max(a, b))
	}
	_, err = fmt.Fprint(t.stdout, text.String())
	return err
}

// styleDifferences are the differences between the requests for both servers that --allow does not name.
func (t *tileRun) styleDifferences(ctx context.Context, servers []*endpoint.Server) (out []compare.Difference, err error) {
	var forms [2]string
	var bodies [2]map[string]any
	for i, server := range servers {
		if forms[i], bodies[i], err = server.RequestForm(ctx, &t.m.Points[0]); err != nil {
			return nil, err
		}
		delete(bodies[i], "model") // compared by itself
	}
	if forms[0] != forms[1] && !slices.Contains(t.allow, "prompt_form") {
		out = append(out, compare.Difference{What: "prompt form", Base: forms[0], New: forms[1], Key: "prompt_form"})
	}
	if !reflect.DeepEqual(bodies[0], bodies[1]) && !slices.Contains(t.allow, "sampling") {
		out = append(out, compare.Difference{What: "sampling", Base: fmt.Sprint(bodies[0]), New: fmt.Sprint(bodies[1]), Key: "sampling"})
	}
	return out, nil
}

// orderText describes the length and the order of the blocks.
func (t *tileRun) orderText() string {
	long := unit.Plural(t.rounds/t.blocks, "rotation")
	switch {
	case t.duration > 0:
		long = (t.duration / time.Duration(t.blocks)).String()
	case t.requests > 0:
		long = unit.Plural(t.requests/t.blocks, "request")
	}
	var letters []string
	for i := range t.m.Points {
		letters = append(letters, string(rune('A'+t.side(t.m.Points[i].Variant))))
	}
	return fmt.Sprintf("%s of %s for each endpoint, in the order %s;\neach begins with a warm-up that is not counted\n",
		unit.Plural(t.blocks, "block"), long, strings.Join(letters, " "))
}

// side is the index of an endpoint, by its variant.
func (t *tileRun) side(variant string) int {
	return slices.IndexFunc(t.m.Variants, func(v sweep.Variant) bool { return v.Name == variant })
}

// runBlocks runs the blocks until an interruption, or until a server fails everything: without it there is
// nothing to compare.
func (t *tileRun) runBlocks(ctx context.Context) (*sweep.Result, error) {
	blocks, end := context.WithCancelCause(ctx)
	defer end(nil)
	var tiling *live.Tiling // of the block that runs
	heading := &live.Heading{}
	t.o.Event = func(e sweep.Event) {
		switch {
		case e.Started != nil:
			fmt.Fprintf(t.stdout, "results go to %s\n\n", safe(e.Started.Dir))
		case e.Begun != nil:
			name := t.sideName(t.side(e.Begun.Spec.Variant))
			fmt.Fprintf(t.stdout, "%s, block %d of %d\n", name, e.Begun.Spec.Repeat, t.blocks)
			tiling = &live.Tiling{
				View: newView(t.stdout, t.interval, nil), Name: name[:1], Head: heading,
				End: func(cause error) { end(fmt.Errorf("%s: %w", name, cause)) },
			}
			tiling.Event(e)
		case e.Finished != nil:
			if tiling != nil {
				tiling.Stop()
				tiling = nil
			}
			fmt.Fprintf(t.stdout, "%c window: %s\n\n", 'A'+t.side(e.Finished.Row.Spec.Variant), t.blockText(e.Finished))
		}
	}
	result, err := sweep.Run(blocks, t.m, t.o)
	if tiling != nil {
		tiling.Stop()
	}
	if failing := context.Cause(blocks); err != nil && failing != nil && ctx.Err() == nil {
		err = failing
	}
	return result, err
}

// blockText is a finished block in one line, without its name.
func (t *tileRun) blockText(f *sweep.Finished) string {
	_, text, _ := strings.Cut(live.RowLine(f), ": ")
	return text
}

// comparePair prints how the second endpoint differs from the first, over their whole blocks.
func (t *tileRun) comparePair(dir string, o compare.Options) error {
	whole, err := foreign.LoadSide(dir)
	if err != nil {
		return err
	}
	var names []string
	for i, v := range t.m.Variants {
		if !slices.ContainsFunc(whole.Runs[0].Rows,
			func(r record.Row) bool { return r.Spec.Variant == v.Name }) {
			return fmt.Errorf("nothing is compared: %s has no whole block", t.sideName(i))
		}
		names = append(names, v.Name)
	}
	sides := [2]compare.Side{}
	if sides[0], sides[1], o.Paired, err = compare.Within(whole.Runs[0], names); err != nil {
		return err
	}
	for i := range sides {
		sides[i].Name = fmt.Sprintf("%s, %d of %s", t.sideName(i), len(sides[i].Runs[0].Rows),
			unit.Plural(t.blocks, "block"))
	}
	result, err := compare.Compare(sides[0], sides[1], o)
	if err != nil {
		return err
	}
	fmt.Fprintln(t.stdout)
	if err := report.ComparisonText(t.stdout, result, screenOf(t.stdout)); err != nil {
		return err
	}
	fmt.Fprint(t.stdout, t.differencesText(result))
	again := "bench compare " + safetext.ShellWord(dir)
	if len(o.Allow) > 0 {
		again += " --allow " + strings.Join(o.Allow, ",")
	}
	fmt.Fprintf(t.stdout, "\nreport: %s\nagain:  %s\n", filepath.Join(dir, "report.html"), again)
	return (&compareFlags{}).verdict(result)
}

// pairFigures are the main figures of the comparison, with their names there.
var pairFigures = []struct{ words, name string }{{"TTFT p50", "ttft_p50"}, {"TTFT p95", "ttft_p95"}, {"TTFT p99", "ttft_p99"},
	{"prompt tok/s", "prompt_tokens_per_s"}, {"output tok/s", "output_tokens_per_s"}, {"requests/s", "requests_per_s"}}

// differencesText has the main differences with their intervals.
func (t *tileRun) differencesText(c *compare.Comparison) string {
	var b strings.Builder
	for _, p := range c.Points {
		fmt.Fprintf(&b, "\n%s against %s, with 95 %% intervals:\n", t.sideName(1), t.sideName(0))
		for _, f := range pairFigures {
			if i := slices.IndexFunc(p.Metrics, func(m compare.Metric) bool { return m.Name == f.name }); i >= 0 {
				fmt.Fprintf(&b, "  %-14s%s\n", f.words, differenceText(&p.Metrics[i]))
			}
		}
	}
	return b.String()
}

func differenceText(m *compare.Metric) string {
	if m.Change == nil || m.Base == nil || m.New == nil {
		return string(m.Verdict) + " (" + m.Why + ")"
	}
	u := m.Unit
	if u != "ms" { // the name of the figure has it
		u = ""
	}
	text := fmt.Sprintf("%s to %s: %s [%s to %s], %s", unit.Format(*m.Base, u), unit.Format(*m.New, u),
		compare.Percent(*m.Change, true), compare.Percent(m.CI95.Lo, true), compare.Percent(m.CI95.Hi, true), m.Verdict)
	if m.P == nil { // then the interval covers chance within the blocks alone
		text += " (" + m.Why + ")"
	}
	return text
}
