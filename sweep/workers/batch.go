package workers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	fullBatch    = 1 << 20   // bytes from which on a batch is sent at once
	mostBatch    = 20 << 20  // bytes of a batch, compressed or not
	longestLine  = 16 << 20  // bytes
	mostTexts    = 64 << 10  // bytes of a text in a record
	widestWindow = 8 << 20   // bytes of zstd's window
	mostDecoding = 128 << 20 // bytes of a decoder's memory
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

// piece is the largest number of entries of each kind in more.
const piece = 10_000

// pieces takes from a result what grows with its requests.
func pieces(r *endpoint.ShareResult) (out []more) {
	setups, overhead := r.Setups, r.Gateway.Overhead
	r.Setups, r.Gateway.Overhead = nil, nil
	for len(setups)+len(overhead) > 0 {
		n, m := min(piece, len(setups)), min(piece, len(overhead))
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
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
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

// unpacker reads batches of a worker that is not trusted.
type unpacker struct {
	z       *zstd.Decoder
	lines   *bufio.Reader
	records *record.Decoder
}

func newUnpacker() (*unpacker, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(widestWindow), zstd.WithDecoderMaxMemory(mostDecoding))
	if err != nil {
		return nil, err
	}
	return &unpacker{z: z, lines: bufio.NewReaderSize(nil, 64<<10), records: record.NewDecoder()}, nil
}

func (u *unpacker) unpack(r io.Reader) (events []event, err error) {
	if err := u.z.Reset(r); err != nil {
		if errors.Is(err, io.EOF) { // an empty one
			return nil, nil
		}
		return nil, fmt.Errorf("reading a batch: %w", err)
	}
	u.lines.Reset(io.LimitReader(u.z, mostBatch))
	for n := 1; ; n++ {
		line, err := u.line()
		if err == io.EOF && len(line) == 0 {
			return events, nil
		}
		var e event
		if err == nil {
			e, err = u.event(line)
		}
		if err != nil {
			return nil, fmt.Errorf("reading line %d of a batch: %w", n, err)
		}
		events = append(events, e)
	}
}

func (u *unpacker) line() ([]byte, error) {
	line, err := u.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= longestLine {
			line, err = u.lines.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	switch {
	case len(line) > longestLine:
		return nil, fmt.Errorf("longer than %d MiB", longestLine>>20)
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	}
	return nil, err
}

func (u *unpacker) event(line []byte) (e event, err error) {
	if len(line) == 0 {
		return e, errors.New("it is empty")
	}
	e.kind, line = line[0], line[1:]
	switch e.kind {
	case kindRecord:
		e.record, err = u.records.Decode(line)
	case kindSample:
		e.sample = new(telemetry.Sample)
		err = json.Unmarshal(line, e.sample)
	case kindCounts:
		err = json.Unmarshal(line, &e.counts)
	case kindReady:
		err = json.Unmarshal(line, &e.ready)
	case kindMore:
		err = json.Unmarshal(line, &e.more)
	case kindResult:
		e.result = new(result)
		err = json.Unmarshal(line, e.result)
	case kindError, kindBye:
		err = json.Unmarshal(line, &e.text)
	case kindDrained:
	default:
		err = fmt.Errorf("unknown kind %q", e.kind)
	}
	return e, err
}
