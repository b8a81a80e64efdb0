package rehearse

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/unit"
)

// Event is a planted change of the server's times, which get 1 + Change times as long.
type Event struct {
	Night  int     `json:"night"`  // from 1
	Change float64 `json:"change"` // 0.08: 8 % slower; below 0: faster
	Odd    bool    `json:"odd"`    // in this night only; false: from it on, times the changes before
}

func (e Event) String() string {
	on := map[bool]string{true: "in night %d only", false: "from night %d on"}[e.Odd]
	return percent(e.Change) + " " + fmt.Sprintf(on, e.Night)
}

// Story is what is planted.
type Story struct {
	Nights  int     `json:"nights"`
	Planted []Event `json:"planted"` // in the order of nights
	// standard deviations of the logarithm of the times: of a night, and of its repeats around it
	Noise       float64 `json:"noise"`
	RepeatNoise float64 `json:"repeat_noise"`
	Seed        uint64  `json:"seed"`
}

func (e Event) on(night int) bool { return e.Night == night || !e.Odd && e.Night < night }

func percent(change float64) string {
	return strings.Replace("+"+unit.Brief(100*change, 4)+" %", "+-", "-", 1)
}

// ParseEvent reads "8%@14": 8 % slower from night 14 on, and "8%@=14": in that night only.
func ParseEvent(text string) (Event, error) {
	change, night, _ := strings.Cut(text, "@")
	night, odd := strings.CutPrefix(night, "=")
	percent, found := strings.CutSuffix(change, "%")
	x, err := strconv.ParseFloat(percent, 64)
	n, errNight := strconv.Atoi(night)
	if errors.Join(err, errNight) != nil || !found || !(x >= -90 && x <= 900) || x == 0 {
		return Event{}, fmt.Errorf("%q: expected a change from -90%% to 900%%, @ and a night, like 8%%@14", text)
	}
	return Event{n, x / 100, odd}, nil
}

// Check reports a night that is not there, or has no earlier one to compare with.
func (s *Story) Check() error {
	if s.Nights < 2 || s.Nights > 366 {
		return fmt.Errorf("%d nights: expected 2 to 366", s.Nights)
	}
	for _, e := range s.Planted {
		if e.Night < 2 || e.Night > s.Nights {
			return fmt.Errorf("%s: expected a night from 2 to %d", e, s.Nights)
		}
	}
	return nil
}

// planted is what the server's times are multiplied by: by the odd events of a night, or by all others until then.
func (s *Story) planted(night int, odd bool) float64 {
	times := 1.0
	for _, e := range s.Planted {
		if e.Odd == odd && e.on(night) {
			times *= 1 + e.Change
		}
	}
	return times
}

// Times is what the server's times are multiplied by in a row. Of a night's noise all points have 0.8 in common, a
// point has 0.6 of its own: the squares add up to 1.
func (s *Story) Times(night int, row *experiment.Spec) float64 {
	point := fmt.Sprint(night, " ", row.Label())
	noise := s.Noise*(0.8*s.normal(fmt.Sprint(night))+0.6*s.normal(point)) +
		s.RepeatNoise*s.normal(fmt.Sprint(point, " ", row.Repeat))
	return s.planted(night, false) * s.planted(night, true) * math.Exp(noise)
}

// normal depends on the seed and the name alone: another change meets the same noise.
func (s *Story) normal(name string) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, name)
	return rand.New(rand.NewPCG(s.Seed, h.Sum64())).NormFloat64()
}

// truth is the planted change of a night against night 1 as text: "+8 %, odd -12 %"; "-": none.
func (s *Story) truth(night int) string {
	var parts []string
	for i, times := range []float64{s.planted(night, false), s.planted(night, true)} {
		if change := math.Round((times-1)*1e4) / 1e4; change != 0 {
			parts = append(parts, []string{"", "odd "}[i]+percent(change))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

// cause is the index of the event that makes a night slower than night 1: the last slowdown; none: -1.
func (s *Story) cause(night int) int {
	cause := none
	for i, e := range s.Planted {
		if e.Change > 0 && e.on(night) {
			cause = i
		}
	}
	if s.planted(night, false)*s.planted(night, true) < 1.0001 {
		return none
	}
	return cause
}

const none = -1
