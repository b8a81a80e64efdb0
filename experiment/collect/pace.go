package collect

import "time"

const (
	// pageInterval is the usual interval between readings of a page: a server builds it between two steps of its
	// engine.
	pageInterval = time.Second
	// pageShare is the largest share of the server's time for building the page in a long window: costly pages
	// are read less often.
	pageShare       = 0.01
	pageMaxInterval = 10 * time.Second
	// pageReadings are taken in a window, however short it is and whatever they cost.
	pageReadings = 4
	// pageMinInterval bounds that in windows of less than 0.2 s.
	pageMinInterval = 50 * time.Millisecond
	// pageGrowth: in a row of unknown length the interval is this share of the time since its beginning, so that a
	// window that is at least as long as the warm-up before it has four readings.
	pageGrowth       = 0.2
	pageFirstUnknown = 100 * time.Millisecond
)

type pace struct {
	window time.Duration // expected length of the measurement window; 0: not known
	began  time.Time
	cost   time.Duration // shortest time to answer so far: on a busy machine a page answers late and costs no more
}

// next is the interval from the beginning of a reading to the next one. took is how long the page took to answer.
func (p *pace) next(took, elapsed time.Duration) time.Duration {
	if p.cost == 0 || took < p.cost {
		p.cost = max(took, 1)
	}
	usual := min(max(pageInterval, time.Duration(float64(p.cost)/pageShare)), pageMaxInterval)
	if p.window > 0 {
		return min(usual, max(p.window/pageReadings, pageMinInterval))
	}
	return min(usual, max(time.Duration(pageGrowth*float64(elapsed)), pageFirstUnknown))
}

// pause is the wait after a reading that took this long: a late page gets half of the interval to itself.
func pause(interval, took time.Duration) time.Duration { return max(interval-took, interval/2) }
