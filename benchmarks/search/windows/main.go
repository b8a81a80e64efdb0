// Windows measures windows of simulated servers in virtual time, for searches written in any language: one JSON
// object a line on standard input asks, one on standard output answers. With -loads it measures the truth of a
// server instead.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"bench/benchmarks/search/world"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "windows:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("windows", flag.ContinueOnError)
	servers := flags.String("servers", "search/servers/*.toml", "files of the servers")
	name := flags.String("server", "", "with -loads: the server to measure")
	loads := flags.String("loads", "", "loads, separated by commas: print their points of [truth] and stop")
	times := flags.Int("times", 8, "with -loads: simulations of a load")
	window := flags.Duration("window", 20000*time.Second, "with -loads: window behind a warm-up of 60 s")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := world.Read(*servers)
	if err != nil {
		return err
	}
	byName := map[string]*world.World{}
	for _, w := range all {
		byName[w.Name] = w
	}
	if *loads == "" {
		return serve(byName, in, out)
	}
	w, ok := byName[*name]
	if !ok {
		return fmt.Errorf("no server %q", *name)
	}
	return truth(w, *loads, *times, *window, out)
}

// question asks for one window. Seconds are of virtual time.
type question struct {
	Server  string  `json:"server"`
	Kind    string  `json:"kind"` // of the load, as in world.Range; empty: the server's
	Load    float64 `json:"load"` // requests per second, or concurrency
	WarmupS float64 `json:"warmup_s"`
	WindowS float64 `json:"window_s"`
	Seed    uint64  `json:"seed"`
}

// answer has one element for each request, in the order of arrival: each tool computes its own percentiles.
type answer struct {
	Warmup   int       `json:"warmup"` // requests that arrived in the warm-up
	ArrivalS []float64 `json:"arrival_s"`
	FirstS   []float64 `json:"first_s"`
	EndS     []float64 `json:"end_s"`
	Output   []int     `json:"output"` // tokens
}

// serve answers questions until in ends.
func serve(servers map[string]*world.World, in io.Reader, out io.Writer) error {
	questions, answers := json.NewDecoder(in), json.NewEncoder(out)
	questions.DisallowUnknownFields()
	for {
		var q question
		if err := questions.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading a question: %w", err)
		}
		got, err := measure(servers, q)
		if err != nil {
			return err
		}
		if err := answers.Encode(got); err != nil {
			return err
		}
	}
}

func measure(servers map[string]*world.World, q question) (answer, error) {
	known, ok := servers[q.Server]
	if !ok || q.Kind != "" && !slices.Contains(world.Loads, q.Kind) {
		return answer{}, fmt.Errorf("no server %q with a load of kind %q", q.Server, q.Kind)
	}
	w := *known
	w.Search.Load = cmp.Or(q.Kind, w.Search.Load)
	all, err := w.Probe(q.Load, seconds(q.WarmupS), seconds(q.WindowS), q.Seed)
	var a answer
	for _, r := range all {
		if r.Warmup {
			a.Warmup++
		}
		a.ArrivalS, a.FirstS = append(a.ArrivalS, r.Arrival.Seconds()), append(a.FirstS, r.First.Seconds())
		a.EndS, a.Output = append(a.EndS, r.End.Seconds()), append(a.Output, r.Output)
	}
	return a, err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
