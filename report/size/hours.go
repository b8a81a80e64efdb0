package size

import (
	"math"
	"slices"
)

// How an autoscaler follows the load.
const (
	target      = 0.8 // share of the capacity that it fills
	idleMinutes = 5   // after which a replica that was not needed ends
)

// Day is what a day of traffic takes: GPU-hours, and seconds in which the load was more than the fleet carries.
type Day struct {
	Hours   int     `json:"hours"`
	Fixed   Fleet   `json:"fixed"`   // as many replicas as the highest hour needs, all the time
	Perfect Fleet   `json:"perfect"` // as many as each minute needs, at once
	Policy  Fleet   `json:"policy"`
	StartUp float64 `json:"start_up_s"`
	Target  float64 `json:"target"`
}

// Fleet is one way to serve a day.
type Fleet struct {
	Most     int      `json:"most_replicas"`
	GPUHours float64  `json:"gpu_hours"`
	OverS    float64  `json:"over_slo_s"`
	USD      *float64 `json:"usd,omitempty"`
}

// day serves the hours' rates, between whose middles the load is a line.
func (q *Question) day(k *known) *Day {
	needs := func(rate float64) int { // replicas
		n, err := k.smallest(rate, k.likely)
		if err != nil {
			return 0
		}
		return max(1, n)
	}
	minutes := len(q.Hours) * 60
	need, want := make([]int, minutes), make([]int, minutes)
	most := 0
	for i := range minutes {
		rate := q.rateAt(i)
		need[i], want[i] = needs(rate), needs(rate/target)
		most = max(most, need[i])
	}
	d := &Day{Hours: len(q.Hours), StartUp: q.StartUp.Seconds(), Target: target}
	each := float64(k.c.gpus) / 60
	most = max(most, needs(q.Rate)) // the highest hour's own
	d.Fixed = Fleet{Most: most, GPUHours: each * float64(most*minutes)}
	d.Perfect.Most = most
	for _, n := range need {
		d.Perfect.GPUHours += each * float64(n)
	}
	d.Policy = follow(need, want, int(math.Ceil(q.StartUp.Minutes())), idleMinutes)
	d.Policy.GPUHours *= each
	if usd := k.c.gpuHourUSD; usd != nil {
		for _, f := range []*Fleet{&d.Fixed, &d.Perfect, &d.Policy} {
			f.USD = new(*usd * f.GPUHours)
		}
	}
	return d
}

func (q *Question) rateAt(minute int) float64 {
	n := len(q.Hours)
	x := (float64(minute)+0.5)/60 - 0.5
	i := int(math.Floor(x))
	share := x - float64(i)
	return q.Hours[(i+n)%n]*(1-share) + q.Hours[(i+1)%n]*share
}

// follow starts replicas as soon as the load asks for them, which are ready some minutes later, and ends those that
// were not asked for during the idle minutes. It begins with what the first minute asks for. GPUHours are minutes of
// replicas.
func follow(need, want []int, start, idle int) (f Fleet) {
	var asked []int // replicas of each minute, paid from then on
	for i := range want {
		n := want[i]
		for j := max(0, i-idle); j < i; j++ {
			n = max(n, want[j])
		}
		asked = append(asked, n)
		serving := slices.Min(asked[max(0, i-start):]) // what ended in between does not
		f.Most = max(f.Most, n)
		f.GPUHours += float64(n)
		if serving < need[i] {
			f.OverS += 60
		}
	}
	return f
}
