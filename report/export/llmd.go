package export

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/text"
	"bench/experiment/workload"
	"bench/internal/yaml"
	"bench/report"
)

// File is one file of a format that has several.
type File struct {
	Name string
	Text []byte
}

type node = map[string]any

// LLMD writes a Benchmark Report 0.2.1 of llm-d for each row. Its latencies count from the send, as in the tools that
// it is made for; a percentile that is only a lower bound is left out. What the schema has no place for, such as
// intervals and verdicts, is in native.config: the whole row, which bench reads again.
func LLMD(runs ...*report.Run) (files []File, err error) {
	names := map[string]bool{}
	for _, run := range runs {
		if tool := run.Manifest.Client.Tool; tool != "" && tool != "bench" {
			return nil, fmt.Errorf("%s: measured by %s: only bench's own runs are written as Benchmark Reports",
				run.Dir, tool)
		}
		for i, row := range run.Stored() {
			written, err := yaml.Marshal(llmdReport(run, &row, i))
			if err != nil {
				return nil, fmt.Errorf("encoding %s: %w", row.ID, err)
			}
			name := plainName(row.ID)
			for n := 2; names[name]; n++ { // of an earlier run
				name = plainName(fmt.Sprintf("%s,%s,%d", row.ID, run.Manifest.Run, n))
			}
			names[name] = true
			files = append(files, File{name, text.JSON(written)})
		}
	}
	return files, nil
}

// plainName is a file's name: an ID that was read from a file can be a path.
func plainName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, id) + ".yaml"
}

func llmdReport(run *report.Run, row *record.Row, stage int) node {
	m := &run.Manifest
	about := node{"uid": m.Run + "," + row.ID, "eid": m.Run, "time": llmdTime(row)}
	if m.Hypothesis != "" {
		about["description"] = m.Hypothesis
	}
	for _, fact := range slices.Sorted(maps.Keys(m.Facts)) {
		words, _ := about["keywords"].([]string)
		about["keywords"] = append(words, fact+"="+m.Facts[fact])
	}
	results := node{"request_performance": node{"aggregate": llmdAggregate(run, row)}}
	if s := row.Sessions; s != nil {
		of := node{"total": s.Started, "succeeded": s.Completed, "failed": s.Failed}
		addFigures(of, "s", map[string]*stats.Summary{"session_duration": s.Time})
		addFigures(of, "count", map[string]*stats.Summary{"events_per_session": s.Requests})
		results["session_performance"] = node{"sessions": of}
	}
	if of := llmdTelemetry(row); len(of) > 0 {
		results["observability"] = node{"components": []node{{"component_label": llmdServer, "aggregate": of}}}
	}
	return node{"version": "0.2.1", "run": about, "results": results,
		"scenario": node{"stack": []node{llmdStack(m, row)}, "load": llmdLoad(m, row, stage)}}
}

func llmdTime(row *record.Row) node {
	t := node{"duration": "PT" + strconv.FormatFloat(row.Summary.DurationS, 'f', -1, 64) + "S"}
	for key, at := range map[string]time.Time{"start": row.StartedAt, "end": row.EndedAt} {
		if !at.IsZero() {
			t[key] = at.UTC().Format(time.RFC3339Nano)
		}
	}
	return t
}

const llmdServer = "server"

// llmdStack is an inference engine if all is known that the schema then asks for, else a generic component.
func llmdStack(m *record.Manifest, row *record.Row) node {
	target := m.TargetOf(row.Spec.Variant)
	engine := target.Owner()
	if u := row.Server.Metrics; u != nil && u.Engine != "" {
		engine = u.Engine
	}
	if row.Simulated {
		engine = "bench mock"
	}
	is := node{"kind": "generic", "tool": cmp.Or(engine, "unknown"),
		"tool_version": cmp.Or(target.ServerVersion(), "unknown"), "model": node{"name": target.Model},
		"replicas": max(1, len(target.Replicas))}
	if target.Hardware != "" && target.GPUs > 0 {
		accelerator := node{"model": target.Hardware, "count": target.GPUs}
		if tp := tensorParallel(m, row); target.GPUs == 1 || tp > 0 {
			accelerator["parallelism"] = node{"tp": max(1, tp)}
			is["kind"], is["role"] = "inference_engine", "replica"
		}
		is["accelerator"] = accelerator
	}
	return node{"metadata": node{"label": llmdServer, "cfg_id": cmp.Or(target.Identity, "unknown")},
		"standardized": is, "native": node{"config": target}}
}

// tensorParallel is the number in the command of the row's server; 0 = it is not there.
func tensorParallel(m *record.Manifest, row *record.Row) (n int) {
	for i := range m.Servers {
		if m.Servers[i].Variant != row.Spec.Variant {
			continue
		}
		words := strings.Fields(strings.ReplaceAll(strings.Join(m.Servers[i].Command, " "), "=", " "))
		for k, word := range words[:max(0, len(words)-1)] {
			if slices.Contains([]string{"--tensor-parallel-size", "-tp", "--tp-size", "--tp", "--tp_size"}, word) {
				n, _ = strconv.Atoi(words[k+1])
			}
		}
	}
	return n
}

func llmdLoad(m *record.Manifest, row *record.Row, stage int) node {
	spec := &row.Spec
	is := node{"tool": "bench", "tool_version": cmp.Or(m.Client.Version, "unknown"), "stage": stage,
		"parallelism": max(1, len(row.Workers)), "source": "random",
		"input_seq_len": llmdLength(spec.Input, row.Lengths.PromptTokens)}
	if spec.Prompts != nil {
		is["source"] = "sampled"
	}
	if spec.Stop != "natural" && spec.Output.Dist != "" {
		is["output_seq_len"] = llmdLength(spec.Output, nil)
	}
	if p := spec.Prefix; p != nil && p.Tokens > 0 {
		is["prefix"] = node{"prefix_len": llmdLength(workload.Fixed(p.Tokens), nil), "num_groups": max(1, p.Groups),
			"num_users_per_group": 1, "num_prefixes": 1}
	}
	if s := spec.Session; s != nil {
		is["multi_turn"] = node{"enabled": true, "max_turns": llmdLength(s.Turns.Length, nil)}
	}
	if spec.Rate > 0 && !spec.Rate.IsInf() {
		is["rate_qps"] = float64(spec.Rate)
	}
	if spec.Concurrency > 0 {
		is["concurrency"] = spec.Concurrency
	}
	args := node{"command": m.Command, "facts": m.Facts, "not_stated": m.Unspecified}
	if m.Predicted != nil {
		args["predicted"] = m.Predicted
	}
	return node{"metadata": node{"cfg_id": row.SpecHash, "treatment": row.ID, "treatment_group": spec.Name},
		"standardized": is, "native": node{"args": args, "config": row}}
}

// llmdLength is the length that the row asks for; if it has none of its own, the mean of the measured ones.
func llmdLength(l workload.Length, measured *stats.Summary) node {
	switch l.Dist {
	case "fixed":
		return node{"distribution": "fixed", "value": l.Mean}
	case "uniform":
		return node{"distribution": "uniform", "value": float64(l.Min+l.Max) / 2, "min": l.Min, "max": l.Max}
	case "normal":
		return node{"distribution": "gaussian", "value": l.Mean, "std_dev": l.Std}
	}
	mean, _ := measured.Get("mean")
	return node{"distribution": "other", "value": max(l.Mean, l.P50, mean)}
}

func llmdAggregate(run *report.Run, row *record.Row) node {
	s := &row.Summary
	requests := node{"total": s.Requests.Sent, "failures": s.Requests.Failed, "incomplete": s.Requests.Unfinished}
	addFigures(requests, "count", map[string]*stats.Summary{"input_length": row.Lengths.PromptTokens,
		"output_length": row.Lengths.OutputTokens})
	latency := node{}
	addFigures(latency, "ms", map[string]*stats.Summary{"time_to_first_token": s.TTFTFromSend,
		"request_latency": s.E2EFromSend})
	addFigures(latency, "ms/token", map[string]*stats.Summary{"time_per_output_token": s.TPOT,
		"inter_token_latency": s.ITL, "normalized_time_per_output_token": normalized(run, row)})
	t := s.Throughput
	return node{"requests": requests, "latency": latency, "throughput": node{
		"request_rate":      node{"units": "queries/s", "mean": t.RequestsPerS},
		"input_token_rate":  node{"units": "tokens/s", "mean": t.PromptTokensPerS},
		"output_token_rate": node{"units": "tokens/s", "mean": t.OutputTokensPerS},
		"total_token_rate":  node{"units": "tokens/s", "mean": t.PromptTokensPerS + t.OutputTokensPerS}}}
}

// normalized is E2E from the send over output tokens, which rows don't store; nil without request records.
func normalized(run *report.Run, row *record.Row) *stats.Summary {
	records, err := run.Requests(row)
	if err != nil {
		return nil
	}
	var values []float64
	for _, r := range record.CompletedByArrival(records) {
		if ms, ok := r.Latency("e2e_from_send", row.Spec.Streams()); ok && r.OutputTokens > 0 {
			values = append(values, ms/float64(r.OutputTokens))
		}
	}
	return stats.SummarizeInOrder(values, rand.New(rand.NewPCG(record.Seed, 0)))
}

// addFigures leaves out percentiles that are only lower bounds.
func addFigures(to node, units string, figures map[string]*stats.Summary) {
	statistics := map[string]string{"mean": "mean", "stddev": "std", "min": "min", "p50": "p50", "p90": "p90",
		"p95": "p95", "p99": "p99", "p99p9": "p999", "max": "max"}
	for name, s := range figures {
		if s == nil {
			continue
		}
		of := node{"units": units}
		for key, stat := range statistics {
			value, _ := s.Get(stat)
			if !strings.HasPrefix(stat, "p") || s.Grade(stat) != stats.NoBound {
				of[key] = value
			}
		}
		to[name] = of
	}
}

func llmdTelemetry(row *record.Row) node {
	of := node{}
	gauge := func(key, units string, g *telemetry.Gauge) {
		if g != nil {
			of[key] = node{"units": units, "mean": g.Mean, "min": g.Min, "max": g.Max}
		}
	}
	value := func(key, units string, x *float64) {
		if x != nil {
			of[key] = node{"units": units, "mean": *x}
		}
	}
	if u := row.Server.Metrics; u != nil {
		gauge("kv_cache_usage", "fraction", u.KVUsage)
		gauge("running_requests", "count", u.Running)
		gauge("waiting_requests", "count", u.Waiting)
		value("cache_hit_rate", "fraction", u.PrefixHitRate)
		value("preemptions", "count", u.Preemptions)
	}
	if g := row.GPU; g != nil && len(g.Devices) == 1 { // the schema has no place for several
		gauge("gpu_utilization", "fraction", g.Devices[0].Busy)
		gauge("power_consumption", "Watts", g.Devices[0].PowerW)
	}
	return of
}
