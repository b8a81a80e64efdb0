package referee

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/mock"
)

// What the placeholders of a command stand for, beside those of Config.
const (
	model       = "referee"
	concurrency = 8
	input       = 64
	output      = 32
)

// Times of the server, and the tokens before planted failures.
const (
	ttft, itl              = 50 * time.Millisecond, 10 * time.Millisecond
	beforeError, beforeCut = 2, 3
)

type Config struct {
	Command  []string // of the load generator: {url}, {model}, {out}, {requests}, … stand for values
	Requests int
	Rate     float64 // requests/s of an open loop
	Arrival  string  // poisson or constant
	Only     []string
	Out      string // folder; each round has one of its own in it
	// Drive runs a command without placeholders to its end, in the folder of a round.
	Drive func(ctx context.Context, command []string, dir string) error
	Begun func(name, trait string, i, n int) // nil: not called
	// for a bubble of synctest; nil: loopback
	listen func() (net.Listener, error)
}

type trait struct {
	name, about string
	ask         func(*judge)
	faults      []string
}

func (c *Config) traits() []trait {
	whole := float64(c.Requests) * (ttft + output*itl).Seconds() / concurrency
	if c.uses("rate") {
		whole = float64(c.Requests) / c.Rate
	}
	stall := min(3*time.Second, time.Duration(300*whole)*time.Millisecond)
	return []trait{
		{"plain", "headers after 20 ms, first tokens after 50 ms, one in 20 after 150 ms, then a token each 10 ms",
			(*judge).plain, []string{"slow-headers=20ms", "pause=0:100ms@20"}},
		{"role", "an event with the role alone comes with the headers", (*judge).role, []string{"role-early"}},
		{"bundle", "four tokens in an event", (*judge).tokens, []string{"multi=4"}},
		{"empty", "an event without data, and one without text, before each token", (*judge).empty, []string{"empty-events"}},
		{"no-usage", "no count of tokens", (*judge).tokens, []string{"no-usage"}},
		{"failures", "errors inside a 200 stream, cut streams, HTML pages", (*judge).failures,
			[]string{fmt.Sprintf("error-in-stream=%d@5", beforeError), fmt.Sprintf("fin-mid=%d@11", beforeCut),
				"html200@23"}},
		{"stall", fmt.Sprintf("no token for %v, once", stall), (*judge).stall,
			[]string{fmt.Sprintf("freeze=%v@%d", stall, max(2, c.Requests*11/20))}},
		{"cache", "batching, with a prefix cache", (*judge).cache, nil},
	}
}

func Rounds() (names []string) {
	for _, t := range new(Config).traits() {
		names = append(names, t.name)
	}
	return names
}

func (c *Config) uses(placeholder string) bool {
	return slices.ContainsFunc(c.Command, func(word string) bool { return strings.Contains(word, "{"+placeholder+"}") })
}

// Run drives the load generator in each round. The error is ctx's, of the server or of the folder: a load generator
// that fails is a line of the card.
func Run(ctx context.Context, c Config) (*Card, error) {
	card := &Card{Schema: Schema, Command: c.Command, StartedAt: time.Now().UTC(), Load: c.load(""), Rounds: []Round{}}
	var seen map[string]bool
	traits := slices.DeleteFunc(c.traits(),
		func(t trait) bool { return len(c.Only) > 0 && !slices.Contains(c.Only, t.name) })
	for i, t := range traits {
		if c.Begun != nil {
			c.Begun(t.name, t.about, i, len(traits))
		}
		dir := filepath.Join(c.Out, t.name)
		if err := os.Mkdir(dir, 0o755); err != nil { // the result of another run would be read
			return nil, fmt.Errorf("making the folder of a round: %w", err)
		}
		served, ticks, failure, err := c.drive(ctx, t, dir)
		if err != nil {
			return nil, err
		}
		host := delayOf(ticks, served)
		round := Round{Name: t.name, Trait: t.about, HostDelayMs: host.p99, HostDelayP50Ms: host.p50}
		j := judge{load: c.load(t.name), frozen: served.Frozen, seen: seen, host: host}
		round.Lines, round.Requests = card.judge(j, t, served, dir, failure)
		card.Rounds = append(card.Rounds, round)
		if seen == nil {
			seen = map[string]bool{}
		}
		for _, r := range served.Records {
			seen[r.PromptSHA256] = true
		}
	}
	return card, nil
}

// judge reads what the load generator left in the folder of a round.
func (c *Card) judge(j judge, t trait, served mock.Truth, dir string, failure error) ([]Line, int) {
	run, unread := find(dir)
	all := len(served.Records) + len(served.Refused)
	switch {
	case all == 0:
		unread = errors.New("the server got no request")
		fallthrough
	case run == nil:
		return []Line{{Question: "a result", Verdict: Wrong, Why: brief(unread, failure)}}, all
	}
	c.Tool, c.Version = run.Manifest.Client.Tool, run.Manifest.Client.Version
	if c.Tool == "" {
		c.Tool = "bench"
	}
	row := &run.Rows[0]
	counted := row.Summary.Requests.Completed + row.Summary.Requests.Failed
	var window time.Time
	if row.Window.EndUs > 0 {
		window = row.Epoch.Add(time.Duration(row.Window.EndUs) * time.Microsecond)
	}
	j.truth, j.tool = readTruth(served, max(c.Load.Requests, counted), window), &row.Summary
	if len(j.truth) == 0 {
		return []Line{{Question: "a result", Verdict: Wrong, Why: "the server saw no request of its window"}}, all
	}
	if failure != nil {
		l := Line{Question: "end of the command", Verdict: Wrong, Why: ends(failure)}
		if j.tool.Requests.Failed > 0 && counted >= c.Load.Requests { // it may say by its status that requests failed
			l.Verdict = Right
		}
		j.lines = append(j.lines, l)
	}
	t.ask(&j)
	return j.lines, all
}

func brief(unread, failure error) string {
	if failure == nil {
		return ends(unread)
	}
	return ends(unread) + "; " + ends(failure)
}

// ends are the first and the last line of a failure, without its hint: between them is output of the program, whose
// exception may be the reason in the first.
func ends(failure error) string {
	text, _, _ := strings.Cut(failure.Error(), "\nhint: ")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); !strings.Contains(lines[0], last) {
		return lines[0] + " … " + last
	}
	return lines[0]
}

// drive serves one round, and returns what the server did, the delays of the machine, and the load generator's failure.
func (c *Config) drive(ctx context.Context, t trait, dir string) (served mock.Truth, ticks []tick, failure, err error) {
	config := mock.Config{Model: model, Faults: t.faults, Timers: c.listen != nil}
	if t.name != "cache" {
		config.TTFT, config.ITL = ttft, itl
	}
	server, err := mock.New(config)
	if err != nil {
		return served, nil, nil, err
	}
	listen := c.listen
	if listen == nil {
		listen = func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	}
	l, err := listen()
	if err != nil {
		return served, nil, nil, fmt.Errorf("listening on loopback: %w", err)
	}
	serving, stop := context.WithCancel(ctx)
	ended, watched := make(chan error, 1), make(chan []tick, 1)
	go func() { ended <- server.Serve(serving, l) }()
	go func() { watched <- watch(serving.Done()) }()
	failure = c.Drive(ctx, c.words(t.name, l.Addr().String(), dir), dir)
	stop()
	err, ticks = <-ended, <-watched
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return server.Truth(), ticks, failure, err
}

func (c *Config) words(round, address, dir string) []string {
	replacer := strings.NewReplacer("{url}", "http://"+address, "{model}", model, "{out}", dir,
		"{requests}", strconv.Itoa(c.Requests), "{rate}", strconv.FormatFloat(c.Rate, 'g', -1, 64),
		"{arrival}", c.arrival(round), "{concurrency}", strconv.Itoa(concurrency), "{input}", strconv.Itoa(input),
		"{output}", strconv.Itoa(output))
	words := make([]string, len(c.Command))
	for i, word := range c.Command {
		words[i] = replacer.Replace(word)
	}
	return words
}

// arrival is constant in a stall, if the command can be asked for it: the number of arrivals has no chance in it.
func (c *Config) arrival(round string) string {
	if round == "stall" && c.uses("arrival") {
		return "constant"
	}
	return c.Arrival
}

func (c *Config) load(round string) (l Load) {
	if c.uses("requests") {
		l.Requests = c.Requests
	}
	switch {
	case c.uses("rate"):
		l.Rate, l.Arrival = c.Rate, c.arrival(round)
	case c.uses("concurrency"):
		l.Concurrency = concurrency
	}
	return l
}
