// Bench runs bench's own search on simulated servers with a known limit, in virtual time: the statistics of a sweep's
// search, on windows of package world. It prints one line of JSON for each search.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"bench/benchmarks/search/world"
	"bench/experiment/stats"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	servers := flags.String("servers", "search/servers/*.toml", "files of the servers")
	name := flags.String("server", "", "the server to search")
	seeds := flags.Int("seeds", 100, "searches with each budget")
	budgets := flags.String("budgets", "200,600,1200,2700", "server time of a search, s")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := world.Read(*servers)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(w *world.World) bool { return w.Name == *name })
	if i < 0 {
		return fmt.Errorf("no server %q", *name)
	}
	for text := range strings.SplitSeq(*budgets, ",") {
		budget, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errors.New("-budgets takes seconds, separated by commas")
		}
		for seed := range *seeds {
			line, err := search(all[i], budget, seed)
			if err != nil {
				return err
			}
			if err := json.NewEncoder(out).Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// line is one search, as table.py reads it.
type line struct {
	Tool   string   `json:"tool"`
	Server string   `json:"server"`
	Seed   int      `json:"seed"`
	Answer *float64 `json:"answer"` // the likeliest load
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Probes []probed `json:"probes"`
}

type probed struct {
	Load    float64 `json:"load"`
	Pass    *bool   `json:"pass"` // the verdict of the probe alone; null: undecided
	ServerS float64 `json:"server_s"`
}

// search runs until the budget is spent. Its answer is that of all probes together.
func search(w *world.World, budget float64, seed int) (*line, error) {
	const warmup, least, tolerance = 5, 10, 0.01
	s := stats.Search{Min: w.Search.Min, Max: w.Search.Max, Tolerance: tolerance, Whole: w.Search.Load == "concurrency"}
	out := &line{Tool: fmt.Sprintf("bench, %.0f s", budget), Server: w.Name, Seed: seed}
	var probes []stats.Probe
	for {
		step, more := s.Next(probes, stats.Pace{Budget: budget, Warmup: warmup, Least: least})
		if !more {
			break
		}
		p, verdict, err := probe(w, step, uint64(seed*1000+len(probes)))
		if err != nil {
			return nil, err
		}
		probes = append(probes, p)
		out.Probes = append(out.Probes, probed{Load: step.Load, Pass: verdict, ServerS: p.Spent})
	}
	r := s.Region(probes)
	if r.Low > 0 {
		out.Low = &r.Low
	}
	if !math.IsInf(r.High, 1) {
		out.High = &r.High
	}
	if out.Low != nil && out.High != nil {
		out.Answer = &r.Best
	}
	return out, nil
}
