package mock

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bench/experiment/kv"
	"bench/experiment/roofline"
)

func linearCost(c Config) func(*batch) time.Duration {
	return func(b *batch) time.Duration {
		return c.StepBase + time.Duration(b.decodes)*c.StepPerSeq + time.Duration(b.context)*c.StepPerContextToken +
			time.Duration(b.tokens-b.decodes)*c.StepPerPrefillToken
	}
}

func rooflineCost(s roofline.Setup) func(*batch) time.Duration {
	var chunks []roofline.Chunk // reused: one step is timed at a time
	return func(b *batch) time.Duration {
		chunks = chunks[:0]
		for _, c := range b.chunks {
			chunks = append(chunks, roofline.Chunk{Tokens: float64(c.tokens), Before: float64(c.before)})
		}
		decodes := float64(b.decodes)
		return millis(s.StepMs(chunks, decodes, float64(b.context)/max(1, decodes)))
	}
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

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

// offload is the second tier of the KV cache and its link. As with vLLM's connectors, a request waits for the
// load of its blocks before it is admitted, while the steps of other requests continue. Loads use the link
// one after the other; stores cost no time.
type offload struct {
	tier       *kv.Tier
	blockTime  time.Duration // load time of one
	blockBytes float64       // of one
	linkFree   time.Duration // when the last load ends
	loaded     int           // total blocks loaded
}

func newOffload(c Config) *offload {
	bytes := float64(c.KVBytesPerToken) * float64(c.BlockSize)
	blocks := int(c.KVOffloadingGB * 1e9 / bytes)
	if blocks == 0 {
		return nil
	}
	// bytes/(GB/s) are ns
	return &offload{tier: kv.NewTier(blocks), blockBytes: bytes, blockTime: time.Duration(bytes / c.KVOffloadingGBs)}
}

func (s *offload) load(now time.Duration, chain []uint64) time.Duration {
	s.tier.Use(chain)
	s.loaded += len(chain)
	s.linkFree = max(s.linkFree, now) + time.Duration(len(chain))*s.blockTime
	return s.linkFree
}

func (s *offload) finish(q *seq, pool *kv.Pool) {
	first := q.computed / q.block
	q.name(pool, first+q.loading)
	q.computed += q.loading * q.block
	q.loading = 0
}
