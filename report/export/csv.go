package export

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/verdict"
	"bench/report"
)

type csvLine struct {
	heads, values []string
}

func (r *csvLine) put(head, value string) {
	r.heads, r.values = append(r.heads, head), append(r.values, value)
}

// text quotes a cell that a spreadsheet would run as a formula, and escapes control characters.
func (r *csvLine) text(head, s string) {
	s = text.Escape(s)
	if first, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		s = "'" + s
	}
	r.put(head, s)
}

func (r *csvLine) float(head string, x *float64) {
	if x == nil || math.IsNaN(*x) {
		r.put(head, "")
		return
	}
	r.put(head, strconv.FormatFloat(*x, 'g', -1, 64))
}

func (r *csvLine) int(head string, n int) { r.put(head, strconv.Itoa(n)) }

// ints and floats write the figures of several heads, which have a space between them.
func (r *csvLine) ints(heads string, n ...int) {
	for i, head := range strings.Fields(heads) {
		r.int(head, n[i])
	}
}

func (r *csvLine) floats(heads string, x ...*float64) {
	for i, head := range strings.Fields(heads) {
		r.float(head, x[i])
	}
}

func (r *csvLine) optional(head string, n int, has bool) {
	if !has {
		r.put(head, "")
		return
	}
	r.int(head, n)
}

// CSV writes a line for each row of the runs (one repeat of one point), with full figures in the units of the
// heads; a missing figure is empty. Planned rows without a result come last, with their state.
func CSV(w io.Writer, runs ...*report.Run) error {
	out := csv.NewWriter(w)
	out.Write(csvRow(runs[0], &record.Row{}).heads) // Error returns its error
	for _, run := range runs {
		live := run.Live()
		for i := range run.Rows {
			row := &run.Rows[i]
			if len(live) > 0 && live[0].ID == row.ID { // in the order of all rows, without the removed ones
				row, live = &live[0], live[1:]
			}
			out.Write(csvRow(run, row).values)
		}
		without := slices.Clone(run.Missing)
		for _, p := range run.Skipped {
			without = append(without, p.ID)
		}
		for _, id := range without {
			blank := csvRow(run, &record.Row{ID: id})
			for i, head := range blank.heads {
				if !slices.Contains([]string{"run", "row", "state"}, head) {
					blank.values[i] = ""
				}
			}
			out.Write(blank.values)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func csvRow(run *report.Run, row *record.Row) csvLine {
	var r csvLine
	spec, sum := row.Spec, row.Summary
	r.text("run", run.Manifest.Run)
	r.text("row", row.ID)
	r.text("name", spec.Name)
	r.text("point", strings.TrimPrefix(strings.TrimPrefix(spec.Label(), spec.Name), " "))
	r.int("repeat", spec.Repeat)
	r.text("state", run.State(row.ID))
	simulated := strconv.FormatBool(row.Simulated)
	if row.Predicted {
		simulated = "predicted"
	}
	r.put("simulated", simulated)
	r.text("model", run.Manifest.Target.Model)
	r.text("prompt_form", row.PromptForm)
	r.put("stream", strconv.FormatBool(spec.Streams()))
	r.put("latency_from", map[bool]string{true: "worker free", false: "schedule"}[spec.Closed()])
	rate := ""
	if spec.Rate.IsInf() {
		rate = "inf"
	} else if spec.Open() {
		rate = strconv.FormatFloat(float64(spec.Rate), 'g', -1, 64)
	}
	r.put("rate_per_s", rate)
	r.optional("concurrency", spec.Concurrency, spec.Concurrency != 0) // 0: no cap
	r.counts(&sum)
	for _, name := range metric.InCSV {
		r.latency(name, sum.Latency(name))
	}
	r.roofline(row.Roofline)
	verdict, need := verdict.OfRows(row)
	r.put("slo", string(verdict))
	// otherwise no count decides
	r.optional("slo_need_requests", need, need > 0 || verdict == stats.Pass || verdict == stats.Fail)
	r.put("valid", strconv.FormatBool(row.Valid()))
	r.ints("checks_passed checks_failed checks_not_possible", len(row.Checks.Passed), len(row.Checks.Failed),
		len(row.Checks.NotPossible))
	r.text("invalid", strings.Join(row.Codes(record.Invalid), " "))
	r.text("cautions", strings.Join(row.Codes(record.Caution), " "))
	r.text("notes", strings.Join(row.Codes(record.Note), " "))
	r.time(row.Time)
	r.workload(row)
	if run.Evaluated != nil {
		r.text("evaluated_again", strings.Join(run.Evaluated.Lines(), "; "))
	}
	return r
}

func (r *csvLine) counts(s *record.Summary) {
	q, t := s.Requests, s.Throughput
	r.ints("requests_planned requests_sent requests_completed requests_short", q.Planned, q.Sent, q.Completed, q.Short)
	r.ints("requests_failed requests_unfinished requests_left", q.Failed, q.Unfinished, q.Left)
	var classes []string
	for _, class := range slices.Sorted(maps.Keys(q.Errors)) {
		classes = append(classes, fmt.Sprintf("%s=%d", class, q.Errors[class]))
	}
	r.text("errors", strings.Join(classes, " "))
	r.floats("error_rate duration_s requests_per_s prompt_tokens_per_s output_tokens_per_s output_tokens_per_s_per_gpu",
		s.ErrorRate, &s.DurationS, &t.RequestsPerS, &t.PromptTokensPerS, &t.OutputTokensPerS, t.OutputTokensPerSPerGPU)
	good := cmp.Or(s.Goodput, &record.Goodput{RequestsPerS: math.NaN(), OutputTokensPerS: math.NaN()})
	r.floats("goodput_requests_per_s goodput_output_tokens_per_s concurrency_mean", &good.RequestsPerS,
		&good.OutputTokensPerS, &s.Concurrency.Mean)
	r.ints("prompt_tokens output_tokens", s.Tokens.Prompt, s.Tokens.Output)
	r.optional("cached_tokens", *cmp.Or(s.Tokens.Cached, new(int)), s.Tokens.Cached != nil)
	r.put("tokens_estimated", strconv.FormatBool(s.Tokens.Estimated))
}

func (r *csvLine) latency(name string, s *stats.Summary) {
	r.int(name+"_n", cmp.Or(s, &stats.Summary{}).N)
	figure := func(stat string) *float64 {
		if x, ok := s.Get(stat); ok {
			return &x
		}
		return nil
	}
	r.float(name+"_mean_ms", figure("mean"))
	known := record.PercentilesOf(s)
	for _, percentile := range metric.Percentiles {
		p, _ := known.Get(percentile)
		r.float(name+"_"+percentile+"_ms", figure(percentile))
		r.put(name+"_"+percentile+"_grade", string(p.Grade))
	}
	r.float(name+"_max_ms", figure("max"))
}

// time writes the parts of a row's wall time beside the window, which is duration_s; nil: not recorded.
func (r *csvLine) time(t *record.TimeSplit) {
	x := [6]*float64{}
	if t != nil {
		x = [...]*float64{&t.SettleS, &t.PrepareS, &t.WarmupS, &t.DrainS, &t.OwnS, &t.TotalS}
	}
	r.floats("settle_s prepare_s warmup_s drain_s own_s total_s", x[:]...)
}

func (r *csvLine) roofline(b *record.Roofline) {
	var x [4]*float64
	if b != nil {
		for i, ms := range []*float64{&b.TTFT.FloorMs, &b.TTFT.ExpectedMs, &b.TPOT.FloorMs, &b.TPOT.ExpectedMs} {
			if *ms > 0 { // 0: not computed
				x[i] = ms
			}
		}
	}
	r.floats("ttft_floor_ms ttft_expected_ms tpot_floor_ms tpot_expected_ms", x[:]...)
}

func (r *csvLine) workload(row *record.Row) {
	has, s := row.Sessions != nil, cmp.Or(row.Sessions, &record.Sessions{})
	p50, known := s.Percentiles(s.Time).Get("p50")
	if !known {
		p50.Median = math.NaN()
	}
	r.optional("sessions_started", s.Started, has)
	r.optional("sessions_completed", s.Completed, has)
	r.optional("sessions_cut", s.Cut, has)
	r.float("session_time_p50_s", &p50.Median)
	r.put("session_time_p50_grade", string(p50.Grade))
	r.float("e2e_interactivity_tokens_per_s",
		&cmp.Or(s.Interactivity, &record.Interactivity{TokensPerS: math.NaN()}).TokensPerS)
	drafts := cmp.Or(row.Speculation, &record.Speculation{})
	r.floats("acceptance_rate acceptance_length", drafts.AcceptanceRate, drafts.AcceptanceLength)
	answers := cmp.Or(row.Summary.Answers, &record.Answers{})
	none := &record.Share{Share: math.NaN()}
	r.floats("answers_valid answers_correct energy_j_per_output_token", &cmp.Or(answers.Valid, none).Share,
		&cmp.Or(answers.Correct, none).Share, &cmp.Or(row.Energy, &record.Energy{PerToken: math.NaN()}).PerToken)
}
