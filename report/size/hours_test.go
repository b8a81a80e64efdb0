package size

import (
	"math"
	"testing"
)

// Replicas that the load asks for serve when they have started, and end when they were idle.
func TestFollow(t *testing.T) {
	need := []int{1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1}
	got := follow(need, need, 2, 3)
	// asked for in minute 2, the second replica serves from minute 4: two minutes are over. It is paid for minutes 2 to
	// 8.
	if got != (Fleet{Most: 2, GPUHours: 12 + 7, OverS: 120}) {
		t.Errorf("%+v", got)
	}
	if got := follow(need, need, 0, 0); got != (Fleet{Most: 2, GPUHours: 12 + 4}) {
		t.Errorf("at once: %+v", got)
	}
	if got := follow([]int{2, 1, 2, 2}, []int{2, 1, 2, 2}, 2, 0); got.OverS != 120 {
		t.Errorf("a replica that ended starts anew: %+v", got)
	}
	if got := follow([]int{2, 2}, []int{2, 2}, 5, 0); got.OverS != 0 {
		t.Errorf("what serves at the beginning has started: %+v", got)
	}
}

func TestRateAt(t *testing.T) {
	q := &Question{Hours: []float64{0, 60}}
	for minute, want := range map[int]float64{30: 0.5, 59: 29.5, 89: 59.5, 90: 59.5, 119: 30.5} {
		if got := q.rateAt(minute); math.Abs(got-want) > 1e-9 {
			t.Errorf("minute %d: %v, expected %v", minute, got, want)
		}
	}
}

// The number of replicas is the least that carries the load at each end of what one carries.
func TestNumber(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		each  [ends]float64
		shift float64 // of what one of several carries more
		want  Number
	}{
		{40, [ends]float64{7, 8, 9}, 0, Number{5, 5, 6}},
		{40, [ends]float64{7, 8, 9}, 0.2, Number{4, 5, 5}},
		{40, [ends]float64{0, 8, 9}, 0, Number{5, 5, 0}},
		{40, [ends]float64{0, 0, 9}, 0, Number{0, 0, 0}},
		{3, [ends]float64{4, 5, 6}, 0, Number{1, 1, 1}},
		{800, [ends]float64{7, 8, 9}, 0, Number{89, 100, 115}},
	} {
		k := &known{c: &Candidate{}, at: map[int]*[ends]*float64{}}
		for n := 1; n <= 16; n++ {
			k.at[n] = &[ends]*float64{}
			for e := range ends {
				x := c.each[e]
				if n > 1 {
					x *= 1 + c.shift
				}
				k.at[n][e] = &x
			}
		}
		got, err := k.number(c.rate)
		if err != nil || c.want.Best > 0 && got != c.want || got.Best != c.want.Best {
			t.Errorf("%+v: %+v %v", c, got, err)
		}
	}
}
