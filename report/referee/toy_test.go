package referee

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fixture "bench/internal/fixturetest"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/stats"
)

// toy is a load generator with at most one defect. It has a result file of the form of aiperf's.
type toy struct {
	t       *testing.T
	pipes   *fixture.Pipes // of the round
	defect  string
	load    Load
	started int // runs so far
	ends    error
}

type answer struct {
	sent, ttft, e2e, tpot float64 // ms
	gaps                  []float64
	output, prompt        int
	failed                bool
}

func (y *toy) is(defect string) bool { return y.defect == defect }

func (y *toy) drive(_ context.Context, command []string, dir string) error {
	y.load.Arrival = command[len(command)-1]
	transport := &http.Transport{DialContext: y.pipes.Dial, MaxIdleConnsPerHost: 1000}
	defer transport.CloseIdleConnections()
	y.started++
	h, begin := &http.Client{Transport: transport}, time.Now()
	answers := make([]answer, y.load.Requests)
	if y.load.Rate == 0 {
		y.closed(h, begin, answers)
	} else {
		y.open(h, begin, answers)
	}
	file, err := json.Marshal(y.file(answers, time.Since(begin)))
	if err != nil {
		return err
	}
	return cmp.Or(os.WriteFile(filepath.Join(dir, "toy.json"), file, 0o644), y.ends)
}

func (y *toy) closed(h *http.Client, begin time.Time, answers []answer) {
	streams := y.load.Concurrency
	if y.is("fewer streams") {
		streams = streams * 2 / 3
	}
	y.work(h, begin, answers, streams, func(int) {})
}

// work sends by some workers; before blocks until a request may go.
func (y *toy) work(h *http.Client, begin time.Time, answers []answer, workers int, before func(i int)) {
	next := make(chan int, len(answers))
	for i := range answers {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				before(i)
				answers[i] = y.send(h, begin, i)
			}
		})
	}
	all.Wait()
}

func (y *toy) open(h *http.Client, begin time.Time, answers []answer) {
	at := y.schedule(len(answers))
	switch {
	case y.is("closed called open"): // its rate is right while the server is fast
		y.work(h, begin, answers, 8, func(i int) {
			if i >= 8 {
				time.Sleep(time.Duration(8e9/y.load.Rate) - ttft - (output-1)*itl)
			} else {
				time.Sleep(at[i])
			}
		})
	case y.is("nine workers"):
		y.work(h, begin, answers, 9, func(i int) { time.Sleep(time.Until(begin.Add(at[i]))) })
	case y.is("coordinated omission"):
		y.work(h, begin, answers, 10, func(i int) { time.Sleep(time.Until(begin.Add(at[i]))) })
	default:
		y.work(h, begin, answers, len(answers), func(i int) { time.Sleep(time.Until(begin.Add(at[i]))) })
	}
}

func (y *toy) schedule(n int) []time.Duration {
	rate, rng := y.load.Rate, rand.New(rand.NewPCG(3, 4))
	if y.is("too fast") {
		rate *= 1.1
	}
	at, now, gap := make([]time.Duration, n), 0.0, 0.0
	for i := range at {
		if !y.is("one seed") || i%10 == 0 {
			gap = rng.ExpFloat64() / rate
		}
		if y.load.Arrival == "constant" || y.is("constant called poisson") {
			gap = 1 / rate
		}
		now += gap
		at[i] = time.Duration(now * 1e9)
		if y.is("late sends") {
			at[i] += time.Duration(i%4) * 9 * time.Millisecond
		}
	}
	return at
}

func (y *toy) prompt(i int) string {
	run := y.started
	if y.is("fixed seed") {
		run = 1
	}
	if y.is("cycled prompts") {
		i %= 10
	}
	words := make([]string, input)
	for k := range words {
		words[k] = fmt.Sprintf("w%d-%d-%d", run, i, k)
	}
	return strings.Join(words, " ")
}

type chunk struct {
	Choices []struct {
		Delta struct{ Role, Content string }
	}
	Usage *struct {
		Prompt int `json:"prompt_tokens"`
		Output int `json:"completion_tokens"`
	}
	Error json.RawMessage
}

func (y *toy) send(h *http.Client, begin time.Time, i int) (a answer) {
	start := time.Now()
	a.sent, a.failed = ms(start.Sub(begin)), true
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"stream":true,"max_tokens":%d,"ignore_eos":true,
		"stream_options":{"include_usage":true}}`, y.prompt(i), output)
	resp, err := h.Post("http://toy/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		y.t.Error(err)
		return a
	}
	defer resp.Body.Close()
	if y.is("clock from the headers") {
		start = time.Now()
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		a.failed = !y.is("HTML is a success")
		return a
	}
	y.read(resp, start, &a)
	return a
}

func (y *toy) read(resp *http.Response, start time.Time, a *answer) {
	var stamps []time.Time
	var last chunk
	words, events, held, done, wrong := 0, 0, 0, false, false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, is := strings.CutPrefix(lines.Text(), "data:")
		data = strings.TrimPrefix(data, " ")
		if done = done || data == "[DONE]"; !is || done {
			continue
		}
		var c chunk
		if json.Unmarshal([]byte(data), &c) != nil {
			wrong = wrong || y.is("fails at an empty event")
			continue
		}
		wrong = wrong || c.Error != nil
		if c.Usage != nil {
			last = c
		}
		if len(c.Choices) == 0 {
			continue
		}
		text := c.Choices[0].Delta.Content
		words += len(strings.Fields(text))
		every := y.is("first event is the first token") || y.is("empty events are tokens")
		if text == "" && !every {
			continue
		}
		if events++; y.is("parses before the stamp") {
			time.Sleep(15 * time.Millisecond)
		}
		if held++; y.is("reads four at once") && held < 4 {
			continue
		}
		for ; held > 0; held-- {
			stamps = append(stamps, time.Now())
		}
	}
	y.figures(a, start, stamps)
	a.failed = len(stamps) == 0 || wrong && !y.is("error inside is a success") ||
		!wrong && !done && !y.is("a cut stream is a success")
	a.output = words
	switch {
	case y.is("events are tokens"), y.is("empty events are tokens"):
		a.output = events
	case y.is("usage only"):
		a.output = 0
	}
	if last.Usage != nil {
		a.prompt = last.Usage.Prompt
		if y.is("own tokenizer") {
			a.prompt = a.prompt * 5 / 3
		}
		if a.output == 0 {
			a.output = last.Usage.Output
		}
	}
	if a.tpot = (a.e2e - a.ttft) / float64(max(1, a.output-1)); y.is("TPOT of events") {
		a.tpot = (a.e2e - a.ttft) / float64(max(1, events-1))
	} else if y.is("TTFT in the TPOT") {
		a.tpot = a.e2e / float64(max(1, a.output))
	}
}

func (y *toy) figures(a *answer, start time.Time, stamps []time.Time) {
	for i, at := range stamps {
		if i == 0 {
			a.ttft = ms(at.Sub(start))
		} else {
			a.gaps = append(a.gaps, ms(at.Sub(stamps[i-1])))
		}
		a.e2e = ms(at.Sub(start))
	}
	if y.is("E2E with the close") {
		a.e2e += 25
	}
}

func (y *toy) file(answers []answer, took time.Duration) map[string]any {
	good := slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return a.failed })
	failed := len(answers) - len(good)
	if y.is("failures dropped") {
		failed = 0
	}
	if y.is("warm-up counted") {
		good = append(good, good[:3]...)
	}
	var ttfts, e2es, tpots, gaps []float64
	tokens, prompt, alive := 0, 0, 0.0
	for _, a := range good {
		ttfts, e2es, tpots, gaps = append(ttfts, a.ttft), append(e2es, a.e2e), append(tpots, a.tpot), append(gaps, a.gaps...)
		tokens, prompt, alive = tokens+a.output, prompt+a.prompt, alive+a.e2e
	}
	if y.is("outliers left out") {
		slices.Sort(ttfts)
		ttfts = ttfts[:len(ttfts)*9/10]
	}
	average := func(x float64) map[string]any { return map[string]any{"avg": x} }
	seconds := took.Seconds()
	return map[string]any{
		"aiperf_version": "toy", "benchmark_duration": average(seconds),
		"request_count": average(float64(len(good))), "error_request_count": average(float64(failed)),
		"time_to_first_token": shape(ttfts), "request_latency": shape(e2es), "inter_token_latency": shape(tpots),
		"inter_chunk_latency": shape(gaps), "total_osl": average(float64(tokens)), "total_isl": average(float64(prompt)),
		"output_token_throughput": average(float64(tokens) / seconds),
		"effective_concurrency":   average(alive / 1000 / seconds),
	}
}

func shape(values []float64) map[string]any {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	return map[string]any{"unit": "ms", "avg": stat.Mean(values, nil), "p50": stats.Quantile(values, 0.5),
		"p99": stats.Quantile(values, 0.99)}
}
