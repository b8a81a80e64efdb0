package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// Kinds of the lines of a batch: the first byte of each.
const (
	kindRecord  = 'r'
	kindSample  = 's'
	kindCounts  = 'p'
	kindReady   = 'y'
	kindDrained = 'd'
	kindMore    = 'm' // of the result, before it
	kindResult  = 'o'
	kindError   = 'e'
	kindBye     = 'b' // of a worker that is interrupted
)

const (
	fullBatch    = 1 << 20  // bytes from which on a batch is sent at once
	mostBatch    = 12 << 20 // bytes of a batch: a full one ends with a whole line
	mostBody     = 8 << 20  // bytes of a batch, compressed
	mostLines    = 100_000  // of a batch: a full one of the shortest records has a tenth
	longestLine  = 8 << 20  // bytes: the gaps of a million tokens
	longestNote  = 2 << 20  // bytes of a line that is not a record: a full piece of a result has half
	mostTexts    = 64 << 10 // bytes of a text in a record
	widestWindow = 1 << 20  // bytes of zstd's window: a worker's has an eighth
)

// event is a line of a batch: a pointer that its kind needs is set.
type event struct {
	kind   byte
	record *record.Record
	sample *telemetry.Sample
	counts endpoint.Counts
	ready  ready
	more   more
	result *result
	text   string // of an error
}

// ready is a worker that waits for the start.
type ready struct {
	RTT int64 `json:"rtt_ns"` // least round trip to the leader
}

type result struct {
	Share   endpoint.ShareResult `json:"share"`
	Records int                  `json:"records"` // that it sent
}

// more is a piece of what grows with the requests in a result: a line has a limit.
type more struct {
	Setups   []openai.Setup `json:"setups,omitempty"`
	Overhead []float64      `json:"overhead_ms,omitempty"` // of a gateway
}

// fullMore is the largest number of entries of each kind in more.
const fullMore = 10_000

// pieces takes from a result what grows with its requests.
func pieces(r *endpoint.ShareResult) (out []more) {
	setups, overhead := r.Setups, r.Gateway.Overhead
	r.Setups, r.Gateway.Overhead = nil, nil
	for len(setups)+len(overhead) > 0 {
		n, m := min(fullMore, len(setups)), min(fullMore, len(overhead))
		out = append(out, more{setups[:n], overhead[:m]})
		setups, overhead = setups[n:], overhead[m:]
	}
	return out
}

func appendLine(b []byte, kind byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return b, err
	}
	return append(append(append(b, kind), text...), '\n'), nil
}

type packer struct {
	z *zstd.Encoder
	b bytes.Buffer
}

func newPacker() (*packer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(widestWindow/8))
	if err != nil {
		return nil, err
	}
	return &packer{z: z}, nil
}

// pack is the compressed lines, valid until the next call.
func (p *packer) pack(lines []byte) ([]byte, error) {
	p.b.Reset()
	p.z.Reset(&p.b)
	_, err := p.z.Write(lines)
	err = errors.Join(err, p.z.Close())
	return p.b.Bytes(), err
}

// decode reads JSON whose tables of any keys (fields of request bodies, limits of classes) have the types of TOML
// again: whole numbers are int64. Call integers on each table.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// integers replaces the numbers of a decoded table, at any depth.
func integers(table map[string]any) {
	for k, v := range table {
		table[k] = asInteger(v)
	}
}

func asInteger(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n
		}
		f, _ := x.Float64() // JSON has no other numbers
		return f
	case []any:
		for i := range x {
			x[i] = asInteger(x[i])
		}
	case map[string]any:
		integers(x)
	}
	return v
}

// restore makes a decoded spec the one that was encoded: with the types of its tables, and the contents of the files
// that it names.
func restore(s *experiment.Spec, files *experiment.Files) error {
	for i := range s.Mix {
		integers(s.Mix[i].Extra)
		integers(s.Mix[i].SLO)
	}
	hashes := map[string]string{}
	s.EachFile(func(name *string, sha256 string) { hashes[*name] = sha256 })
	var found []error
	bad := func(key, problem, _ string) { found = append(found, fmt.Errorf("%s: %s", key, problem)) }
	s.Look(files, bad)
	if s.Trace != nil {
		s.Trace.Look(files, bad)
	}
	s.EachFile(func(name *string, sha256 string) {
		if sha256 != hashes[*name] {
			found = append(found, fmt.Errorf("%s has changed", *name))
		}
	})
	return errors.Join(found...)
}

// slack is how far a time may lie behind the leader's: clocks run differently.
const slack = time.Minute

// mostCount bounds every count of a record: a sum over a row is no overflow.
const mostCount = 1 << 40

// allowed is what the records of a worker's share can have.
type allowed struct {
	share    workload.Share // zero: of a row with conversations, whose requests have other numbers than arrivals
	replicas int
}

// check reports why a record can't be true. now is the time since the common start.
func (a *allowed) check(r *record.Record, now time.Duration) error {
	if r.I < 0 || r.I > math.MaxInt32 {
		return fmt.Errorf("a record has the index %d", r.I)
	}
	if !a.share.Owns(r.I) {
		return fmt.Errorf("record %d is not of its share", r.I)
	}
	if r.Endpoint != nil && (*r.Endpoint < 0 || *r.Endpoint >= a.replicas) {
		return fmt.Errorf("record %d is of replica %d of %d", r.I, *r.Endpoint, a.replicas)
	}
	if !openai.Outcome(r.Outcome).Known() {
		return fmt.Errorf("record %d has the outcome %.20q", r.I, r.Outcome)
	}
	if !slices.Contains([]string{record.PhaseWarmup, record.PhaseWindow, record.PhaseCooldown}, r.Phase) {
		return fmt.Errorf("record %d is of the phase %.20q", r.I, r.Phase)
	}
	counts := []int{r.Turns, r.Agent, r.PromptRequested, r.OutputRequested, r.OutputTokens, r.Status, r.TurnsLost}
	for _, n := range []*int{r.Session, r.Turn, r.PromptTokens, r.CachedTokens, r.ReasoningTokens, r.Drafts,
		r.DraftTokens, r.AcceptedTokens} {
		if n != nil {
			counts = append(counts, *n)
		}
	}
	for _, n := range counts {
		if n < 0 || n > mostCount {
			return fmt.Errorf("record %d has a count of %d", r.I, n)
		}
	}
	most := (now + slack).Microseconds()
	for _, at := range []record.Micros{r.Arrival, r.Ready, r.Sent, r.FirstEvent, r.First, r.FirstAnswer, r.Last,
		r.End} {
		if us, ok := at.Get(); ok && (us < -slack.Microseconds() || us > most) {
			return fmt.Errorf("record %d has a time of %d µs, %d µs after the start", r.I, us, now.Microseconds())
		}
	}
	return nil
}

// checkTexts reports a text that is too long. It comes before all else, so that none is kept.
func checkTexts(r *record.Record) error {
	for _, text := range []string{r.ServerID, r.Class, r.Model, r.Category, r.PromptHash, r.Outcome, r.Error, r.Finish,
		r.Invalid} {
		if len(text) > mostTexts {
			return fmt.Errorf("record %d has a text of %d bytes", r.I, len(text))
		}
	}
	return nil
}

func checkSample(s *telemetry.Sample) error {
	if s.Source != telemetry.SourceClient {
		return fmt.Errorf("a sample is of the source %.20q", s.Source)
	}
	if s.Server != nil || s.GPUs != nil || s.Roles != nil {
		return errors.New("a sample of the client is of a server, too")
	}
	return nil
}

func checkResult(r *endpoint.ShareResult, now time.Duration) error {
	if n := r.Worker.Connections.Ahead; n < 0 {
		return fmt.Errorf("it opened %d connections ahead", n)
	}
	if w := r.Window; w != nil && (w.Start < 0 || w.End < w.Start || w.Last < 0 || w.Requests < 0 ||
		max(w.End, w.Last) > now+slack) {
		return fmt.Errorf("its window goes from %v to %v, %v after the start", w.Start, w.End, now)
	}
	return nil
}
