package workload

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Arrival is the arrival process: a rate over time, and how the gaps vary around it. Its schedule is never
// stretched to fit a number of requests.
type Arrival struct {
	// poisson (also when empty), constant, gamma, ramp, step, sinusoid, bursts, trace
	Process string `json:"process"`
	// of ramp, step, sinusoid, bursts: poisson, constant or gamma; empty = constant for bursts, else poisson
	Gaps string `json:"gaps,omitempty"`

	From  float64 `json:"from,omitempty"`   // ramp: requests per second at the row's start …
	To    float64 `json:"to,omitempty"`     // … and from Over on
	Over  Seconds `json:"over_s,omitempty"` // ramp
	Shape string  `json:"shape,omitempty"`  // ramp: linear (also when empty), exponential

	Steps  []Step `json:"steps,omitempty"`  // step: from the row's start on
	Repeat bool   `json:"repeat,omitempty"` // step: begin again after the last one; false = its rate stays

	Amplitude float64 `json:"amplitude,omitempty"` // sinusoid: share of the rate; the sinusoid starts at its minimum
	Period    Seconds `json:"period_s,omitempty"`  // sinusoid

	Size  int     `json:"size,omitempty"`    // bursts: requests that arrive at once
	Every Seconds `json:"every_s,omitempty"` // bursts: mean time between bursts; 0 = derived from the row's rate
}

// Step is a rate that holds for a time.
type Step struct {
	Rate float64 `json:"rate"` // requests per second; 0 = none arrives
	For  Seconds `json:"for_s"`
}

const (
	poisson  = "poisson"
	constant = "constant"
	gamma    = "gamma"
)

var arrivalKeys = map[string]keyList{
	poisson:    {},
	constant:   {},
	gamma:      {},
	"ramp":     {[]string{"from", "to", "over"}, []string{"shape", "gaps"}},
	"step":     {[]string{"steps"}, []string{"repeat", "gaps"}},
	"sinusoid": {[]string{"amplitude", "period"}, []string{"gaps"}},
	"bursts":   {[]string{"size"}, []string{"every", "gaps"}},
}

var arrivalForms = map[string]string{
	"ramp":     `arrival = { process = "ramp", from = 1, to = 20, over = "60s" }`,
	"step":     `arrival = { process = "step", steps = [{ rate = 2, for = "30s" }, { rate = 8, for = "30s" }] }`,
	"sinusoid": `arrival = { process = "sinusoid", amplitude = 0.8, period = "60s" }`,
	"bursts":   `arrival = { process = "bursts", size = 20 }`,
}

const processes = "use poisson, constant, gamma, ramp, step, sinusoid, bursts or trace"

// DecodeTOML reads the name of a process, or a table { process = "ramp", from = 1, to = 20, over = "60s" }.
func (a *Arrival) DecodeTOML(v any, bad func(key, problem, hint string)) {
	switch x := v.(type) {
	case string:
		*a = Arrival{Process: x}
	case map[string]any:
		a.decodeTable(x, bad)
	default:
		bad("", fmt.Sprintf("arrival must be the name of a process or a table, not %s", Found(v)),
			`write arrival = "constant", or `+arrivalForms["bursts"])
	}
}

func (a *Arrival) decodeTable(t map[string]any, bad func(key, problem, hint string)) {
	process, _ := t["process"].(string)
	keys, ok := arrivalKeys[process]
	if !ok {
		bad("process", fmt.Sprintf("unknown process %q", process), processes)
		return
	}
	*a = Arrival{Process: process}
	f := fields{t: t, of: "the process " + process, keys: keys, bad: bad}
	f.text("gaps", &a.Gaps, poisson, constant, gamma)
	f.number("from", &a.From, 0, maxRate, "write from = 1 (requests per second)")
	f.number("to", &a.To, minRate, maxRate, "write to = 20 (requests per second)")
	f.seconds("over", &a.Over)
	f.text("shape", &a.Shape, "linear", "exponential")
	f.flag("repeat", &a.Repeat)
	f.number("amplitude", &a.Amplitude, 0, 1, "write amplitude = 0.8: the rate swings by 80 % up and down")
	f.seconds("period", &a.Period)
	f.whole("size", &a.Size, 1, 1<<20, "write size = 20 (requests at once)")
	f.seconds("every", &a.Every)
	f.tables("steps", "a step", `write steps = [{ rate = 2, for = "30s" }, { rate = 8, for = "30s" }]`,
		[]string{"rate", "for"}, func(s *fields) {
			var step Step
			s.number("rate", &step.Rate, 0, maxRate, "write rate = 2 (requests per second)")
			s.seconds("for", &step.For)
			if s.done("") && step.For == 0 {
				s.report("for", "for must be above 0", `write for = "30s"`)
			}
			a.Steps = append(a.Steps, step)
		})
	if f.done("process") {
		a.check(bad)
	}
}

func (a *Arrival) check(bad mistakes) {
	switch a.Process {
	case "ramp":
		bad.unless(a.Over > 0, "over", `write over = "60s"`, "over must be above 0")
		bad.unless(a.Shape != "exponential" || a.From >= minRate, "from", "write from = 0.1",
			"an exponential ramp cannot start at 0")
	case "step":
		some := slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Rate > 0 })
		bad.unless(some && (a.Repeat || a.Steps[len(a.Steps)-1].Rate >= minRate), "steps",
			"set a rate above 0 in the last step, or write repeat = true", "nothing arrives after the last step")
	case "sinusoid":
		bad.unless(a.Period > 0, "period", `write period = "60s"`, "period must be above 0")
	}
}

// Rate is the mean rate in requests per second of a process that sets its own rate; 0 = the row's rate applies.
func (a *Arrival) Rate() Rate {
	switch {
	case a.Process == "ramp" && a.Over > 0:
		return Rate(a.cumulative(0, float64(a.Over)) / float64(a.Over))
	case a.Process == "step" && len(a.Steps) > 0:
		n, span := a.cycle()
		return Rate(n / span)
	case a.Process == "bursts" && a.Every > 0:
		return Rate(float64(a.Size) / float64(a.Every))
	}
	return 0
}

func (a *Arrival) gaps() string {
	switch {
	case a.IsSteady():
		return cmp.Or(a.Process, poisson)
	case a.Process == "bursts":
		return cmp.Or(a.Gaps, constant)
	}
	return cmp.Or(a.Gaps, poisson)
}

func (a *Arrival) batch() int { return max(a.Size, 1) }

func (a *Arrival) IsSteady() bool {
	return slices.Contains([]string{"", poisson, constant, gamma}, a.Process)
}

func (a Arrival) IsZero() bool { return a.Process == "" }

func (a *Arrival) String() string {
	switch a.Process {
	case "ramp":
		return fmt.Sprintf("%s ramp from %g to %g/s over %v", cmp.Or(a.Shape, "linear"), a.From, a.To, a.Over)
	case "step":
		var rates []string
		for _, s := range a.Steps {
			rates = append(rates, fmt.Sprintf("%g", s.Rate))
		}
		return "steps of " + strings.Join(rates, ", ") + "/s"
	case "sinusoid":
		return fmt.Sprintf("sinusoid ±%g %% every %v", math.Round(1e4*a.Amplitude)/100, a.Period)
	case "bursts":
		return fmt.Sprintf("bursts of %d", a.Size)
	}
	return a.Process
}

func checkArrival(w *Workload, bad mistakes) {
	a := &w.Arrival
	own := a.Rate()
	_, known := arrivalKeys[a.Process]
	switch {
	case a.Process == traced:
		checkTraced(w, bad)
	case a.Process != "" && !known:
		bad("arrival", fmt.Sprintf("unknown arrival %q", a.Process), processes)
	case arrivalForms[a.Process] != "" && a.Over+a.Period == 0 && a.Size+len(a.Steps) == 0: // the name alone
		bad("arrival", "the process "+a.Process+" needs "+strings.Join(arrivalKeys[a.Process].must, " and "), "write "+
			arrivalForms[a.Process])
	case a.Process != "" && w.Closed():
		bad("arrival", "arrival is set, but rate is missing",
			"write rate = 4, or remove arrival: a closed loop has none")
	case own > 0 && own != w.Rate:
		bad("rate", fmt.Sprintf("the process %s sets its own rate (%.4g/s on average)", a.Process, float64(own)),
			"remove rate, or use another process")
	case own > 0 && !(own >= minRate && own <= maxRate):
		bad("arrival", fmt.Sprintf("the mean rate %v is not between %v and %.0f requests per second", float64(own),
			minRate, maxRate), "write higher rates or shorter times")
	case w.Rate.IsInf() && arrivalForms[a.Process] != "":
		bad("rate", `rate = "inf" sends all requests at once and cannot be combined with the process `+a.Process,
			"write rate = 4")
	}
	if w.Burstiness == 0 {
		return
	}
	bad.unless(w.Arrival.gaps() == gamma, "burstiness", `write arrival = "gamma"`, "burstiness requires gamma arrivals")
	bad.unless(w.Burstiness >= minBurstiness && w.Burstiness <= maxBurstiness, "burstiness",
		"write burstiness = 0.5 (below 1 is burstier than Poisson)", "burstiness %v is not between %v and %.0f",
		w.Burstiness, minBurstiness, maxBurstiness)
}

// Bounds of the burstiness: at the lower one the gaps vary by 30 times their mean, at the upper one hardly at all.
const minBurstiness, maxBurstiness = 1e-3, 1e6

// Rate is requests per second; +Inf ("inf" in the file) sends all requests at once.
type Rate float64

func (r Rate) IsInf() bool { return math.IsInf(float64(r), 1) }

// MarshalJSON writes "inf" for +Inf, for which JSON has no number.
func (r Rate) MarshalJSON() ([]byte, error) {
	if r.IsInf() {
		return []byte(`"inf"`), nil
	}
	return strconv.AppendFloat(nil, float64(r), 'g', -1, 64), nil
}

func (r *Rate) UnmarshalJSON(b []byte) error {
	x, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil {
		return fmt.Errorf("reading a rate: %w", err)
	}
	*r = Rate(x)
	return nil
}

func (r *Rate) DecodeTOML(v any, bad func(key, problem, hint string)) {
	const hint = `write rate = 4 (requests per second) or rate = "inf"`
	switch x := v.(type) {
	case int64:
		*r = Rate(x)
	case float64:
		*r = Rate(x)
	case string:
		if x != "inf" {
			bad("", fmt.Sprintf("rate %q is not a number", x), hint)
			return
		}
		*r = Rate(math.Inf(1))
	default:
		bad("", "rate is a number", hint)
		return
	}
	if v != "inf" && !(*r >= minRate && *r <= maxRate) {
		bad("", fmt.Sprintf("rate %v is not between %v and %.0f requests per second", v, minRate, maxRate), hint)
	}
}

// Bounds of a finite rate: far beyond every use, and safe from overflow of arrival times.
const minRate, maxRate = 1e-4, 1e6
