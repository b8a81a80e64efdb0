package mock

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// drift makes a server slower or faster over time. The zero drift is none.
type drift struct {
	perHour float64 // 0.05: 5 % slower after an hour, 10 % after two
	jumps   []jump
}

// jump multiplies all times by 1 + by from a time on.
type jump struct {
	at time.Duration
	by float64
}

const (
	fastest = 0.01
	slowest = 100
)

// parseDrift reads "5%/h" (5 % slower per hour), "20%@10m" (20 % slower from 10 minutes after the start on),
// or several separated by commas. Negative percentages make the server faster.
func parseDrift(text string) (drift, error) {
	var d drift
	if strings.TrimSpace(text) == "" {
		return d, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		if err := d.add(strings.TrimSpace(part)); err != nil {
			return drift{}, fmt.Errorf("%q: %w", part, err)
		}
	}
	return d, nil
}

func (d *drift) add(part string) error {
	number, when, found := strings.Cut(part, "%")
	share, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(share > -100 && share <= 1e4) {
		return errors.New("must begin with a percentage between -100 and 10000")
	}
	if when == "/h" {
		d.perHour += share / 100
		return nil
	}
	after, stepped := strings.CutPrefix(when, "@")
	at, err := time.ParseDuration(after)
	if !stepped || err != nil || at < 0 {
		return errors.New("needs /h, or @ and a time since the start, after the percentage")
	}
	d.jumps = append(d.jumps, jump{at, share / 100})
	return nil
}

func (d drift) none() bool { return d.perHour == 0 && d.jumps == nil }

// at is the factor of all times at t since the start.
func (d drift) at(t time.Duration) float64 {
	f := 1 + d.perHour*t.Hours()
	for _, s := range d.jumps {
		if t >= s.at {
			f *= 1 + s.by
		}
	}
	return math.Min(math.Max(f, fastest), slowest)
}
