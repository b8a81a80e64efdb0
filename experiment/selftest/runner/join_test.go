package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/openai"
	"bench/experiment/selftest"
)

const (
	micro  = time.Microsecond
	milli  = time.Millisecond
	second = time.Second
)

// answered is a request of the window that was sent at a time and got its tokens then.
func answered(id string, sent time.Duration, tokens ...time.Duration) clientRecord {
	s := clientRecord{id: id, window: true, ready: sent, sent: sent, first: tokens[0], end: tokens[len(tokens)-1], outcome: openai.OK}
	for i := 1; i < len(tokens); i++ {
		s.gaps = append(s.gaps, tokens[i]-tokens[i-1])
	}
	return s
}

// The server's own clock began 100 s before the client's epoch.
var epoch = time.Unix(5e9, 0)

// noted is a record of the server: an arrival and writes, in ns since the client's epoch.
func noted(arrival int64, writing ...int64) *serverRecord {
	const own = 100e9 // the server's clock at the epoch
	r := &serverRecord{ArrivalNS: own + arrival, ArrivalUnixNS: epoch.UnixNano() + arrival}
	for _, w := range writing {
		r.WritingNS = append(r.WritingNS, own+w)
		r.WrittenNS = append(r.WrittenNS, own+w+2000)
		r.DueNS = append(r.DueNS, own+w-1000)
	}
	return r
}

func TestJoin(t *testing.T) {
	a := answered("a", 1*milli, 51*milli, 61*milli, 72*milli)
	a.ready = a.sent - 30*micro
	failed := clientRecord{id: "f", window: true, ready: 0, sent: milli, first: openai.Never, outcome: openai.Status, err: "HTTP 503"}
	unsent := clientRecord{id: "u", window: true, ready: openai.Never, sent: openai.Never, first: openai.Never, outcome: openai.Unfinished, err: "late"}
	other := answered("w", 1*milli, 2*milli)
	other.window = false
	o := &clientLog{epoch: epoch, samples: []clientRecord{
		a, answered("b", 2*milli, 52*milli), failed, unsent, other,
		answered("unknown", 0, milli), answered("longer", 0, milli),
	}}
	c := join(o, map[string]*serverRecord{
		"a":      noted(1_200_000, 50_990_000, 61_000_000, 71_000_000),
		"b":      noted(2_100_000, 52_005_000),
		"w":      noted(0, 0),
		"f":      noted(0, 0),
		"longer": noted(0, 0, 1),
	})
	want := differences{
		first:   []float64{10, -5},    // 51,000 − 50,990; 52,000 − 52,005
		gap:     []float64{-10, 1000}, // 10,000 − 10,010; 11,000 − 10,000
		lag:     []float64{30, 0, 1000, 0, 0},
		arrival: []float64{200, 100},
		late:    []float64{3, 3, 3, 3}, // 2 µs of writing, after 1 µs
		width:   []float64{2, 2, 2, 2},
		joined:  2, failed: 2, missing: 2, problem: "status: HTTP 503",
	}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(differences{})); diff != "" {
		t.Error(diff)
	}
}

func TestErrorOf(t *testing.T) {
	if errorOf(nil) != nil || delayOf(nil) != nil {
		t.Error("something of nothing")
	}
	values := []float64{3, -4, 1, -2, 0}
	if diff := cmp.Diff(&selftest.Error{N: 5, P50Us: 2, P99Us: 3.96, MinUs: -4, MaxUs: 3}, errorOf(values)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&selftest.Delay{N: 5, P50Us: 0, P99Us: 2.92, MaxUs: 3}, delayOf(values)); diff != "" {
		t.Error(diff)
	}
	if values[0] != 3 {
		t.Error("the caller's values were sorted")
	}
}

func TestLoad(t *testing.T) {
	early := answered("e", -10*milli, 500*milli, 1500*milli) // in flight, and with a token, in the window
	early.window = false
	o := &clientLog{start: second, end: 3 * second, samples: []clientRecord{
		early,
		answered("a", 1000*milli, 1100*milli, 1200*milli),
		answered("b", 1200*milli, 2900*milli, 3000*milli), // begins where a ends
		answered("c", 1300*milli, 3100*milli),
		answered("late", 3000*milli, 3100*milli),
		answered("gone", 0, 1000*milli),
		{id: "unsent", sent: openai.Never, first: openai.Never},
	}}
	want := selftest.Load{Streams: 3, EventsPerS: 2.5, RequestsPerS: 1.5} // e at 1.5 s, a twice, b once, gone once
	if got := o.load(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if all, inside := o.events(); all != 9 || inside != 5 {
		t.Errorf("%d events, %d inside", all, inside)
	}
	o.end = o.start
	if got := o.load(); got != (selftest.Load{}) {
		t.Errorf("no window: %+v", got)
	}
}

// delay is of n equal values.
func delay(n int, us float64) *selftest.Delay {
	return &selftest.Delay{N: n, P50Us: us, P99Us: us, MaxUs: us}
}

func TestMeasure(t *testing.T) {
	o := &clientLog{
		epoch: epoch, start: 0, end: second, cores: coreUsage{elapsed: 2 * second, client: 500 * milli, server: 800 * milli, machine: 1500 * milli}, kernel: 4, user: 1, lagSum: 40 * micro, lagMax: 30 * micro,
		samples: []clientRecord{answered("a", milli, 51*milli, 61*milli)},
	}
	m := selftest.Measured{Step: selftest.Step{Kind: selftest.Burst, Size: 1}}
	measure(&m, o, map[string]*serverRecord{"a": noted(2e6, 51e6, 61e6)})
	want := selftest.Measured{
		Step: selftest.Step{Kind: selftest.Burst, Size: 1}, Load: selftest.Load{Streams: 1, EventsPerS: 2, RequestsPerS: 1}, Requests: 1,
		First: &selftest.Error{N: 1}, Gap: &selftest.Error{N: 1}, Lag: &selftest.Delay{N: 1}, Arrival: delay(1, 1000),
		ServerLate: delay(2, 3), TruthWidth: delay(2, 2), KernelStamps: 4, UserStamps: 1,
		ReadLagMeanUs: new(10.0), ReadLagMaxUs: new(30.0), CPUUsPerEvent: new(250_000.0), CPUCores: new(0.25), ServerCores: new(0.4), OtherCores: new(0.1),
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if got := m.Stamps(); got != "mixed" {
		t.Error(got)
	}
}

func TestReadTimes(t *testing.T) {
	const good = `{"n":1,"request_id":"a","arrival_ns":5,"arrival_unix_ns":6,"due_ns":[1],"writing_ns":[2],"written_ns":[3],"model":"m"}`
	got, err := readTimes(strings.NewReader(good + "\n" + strings.Replace(good, `"a"`, `"b"`, 1) + "\n"))
	want := &serverRecord{RequestID: "a", ArrivalNS: 5, ArrivalUnixNS: 6, DueNS: []int64{1}, WritingNS: []int64{2}, WrittenNS: []int64{3}}
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if diff := cmp.Diff(want, got["a"]); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{
		"cut":       good[:40],
		"text":      "<html>",
		"times off": strings.Replace(good, `[2]`, `[]`, 1),
	} {
		if _, err := readTimes(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "reading the server's records: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReadTimes: whatever a server writes, what is read can be compared.
func FuzzReadTimes(f *testing.F) {
	f.Add(`{"request_id":"a","arrival_ns":5,"due_ns":[1,2],"writing_ns":[2,3],"written_ns":[3,4]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		truth, err := readTimes(strings.NewReader(text))
		if err != nil {
			return
		}
		o := &clientLog{epoch: epoch}
		for id := range truth {
			o.samples = append(o.samples, answered(id, 0, milli, 2*milli))
		}
		if c := join(o, truth); c.joined+c.missing != len(truth) {
			t.Errorf("%d joined and %d missing of %d", c.joined, c.missing, len(truth))
		}
	})
}
