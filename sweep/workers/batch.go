package workers

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/endpoint"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/telemetry"
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
