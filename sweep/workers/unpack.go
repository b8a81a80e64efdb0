package workers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// unpackers are what a leader reads batches with. Their number bounds the memory for what batches contain, however many
// workers send at once. Each of these also has a batch as it came, of up to mostBody, which waits for an unpacker: a
// slow connection keeps none.
type unpackers chan *unpacker

func newUnpackers() unpackers {
	all, long := make(unpackers, runtime.GOMAXPROCS(0)), new(sync.Mutex)
	for range cap(all) {
		all <- newUnpacker(long)
	}
	return all
}

// piece is the number of events that are passed on at once.
const piece = 256

// unpacker reads batches of workers that are not trusted, in memory that does not grow with a batch.
type unpacker struct {
	body  bytes.Reader
	z     *zstd.Decoder
	lines *bufio.Reader
	long  *sync.Mutex // of all unpackers: one at a time has a line that is longer than its buffer
	held  bool        // this one has it

	records *record.Decoder
	events  []event
	sent    map[byte]bool // kinds of the batch of which a row has one line
}

func newUnpacker(long *sync.Mutex) *unpacker {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(widestWindow), zstd.WithDecoderMaxMemory(mostBatch))
	if err != nil {
		panic(err) // the options are constant
	}
	return &unpacker{z: z, lines: bufio.NewReaderSize(nil, 64<<10), long: long, records: record.NewDecoder(),
		sent: map[byte]bool{}}
}

// unpack reads a batch and passes its events on in pieces, each valid until deliver returns. Of a batch that is not
// wanted, or no more, it parses only the lines of kindBye. Events before a bad line have been passed on.
func (u *unpacker) unpack(body []byte, wanted bool, deliver func([]event) (wanted bool)) error {
	u.body.Reset(body)
	u.events = u.events[:0]
	clear(u.sent)
	defer u.body.Reset(nil)
	defer u.release()
	if err := u.z.Reset(&u.body); errors.Is(err, io.EOF) { // an empty one
		return nil
	} else if err != nil {
		return fmt.Errorf("reading a batch: %w", err)
	}
	u.lines.Reset(u.z)
	for n, size := 1, 0; ; n++ {
		line, err := u.line()
		if err == io.EOF && len(line) == 0 {
			u.pass(wanted, deliver)
			return nil
		}
		if size += len(line) + 1; err == nil && (n > mostLines || size > mostBatch) {
			err = fmt.Errorf("a batch has at most %d lines and %d MiB", mostLines, mostBatch>>20)
		}
		if err == nil && (wanted || len(line) > 0 && line[0] == kindBye) {
			err = u.add(line)
		}
		if err != nil {
			return fmt.Errorf("reading line %d of a batch: %w", n, err)
		}
		if len(u.events) >= piece || u.held { // long lines are not kept
			wanted = u.pass(wanted, deliver)
		}
		u.release()
	}
}

// pass passes on the events that were read. They can be freed then.
func (u *unpacker) pass(wanted bool, deliver func([]event) bool) bool {
	if len(u.events) > 0 {
		wanted = deliver(u.events) && wanted
	}
	clear(u.events)
	u.events = u.events[:0]
	return wanted
}

func (u *unpacker) release() {
	if u.held {
		u.held = false
		u.long.Unlock()
	}
}

// line reads a line of at most longestLine bytes. While it is a long one, the other unpackers wait with theirs.
func (u *unpacker) line() ([]byte, error) {
	line, err := u.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		u.long.Lock()
		u.held = true
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

func (u *unpacker) add(line []byte) error {
	if len(line) == 0 {
		return errors.New("it is empty")
	}
	kind := line[0]
	many := kind == kindRecord || kind == kindSample || kind == kindMore
	switch {
	case len(line) > longestNote && kind != kindRecord:
		return fmt.Errorf("a line %q of %d bytes", kind, len(line))
	case u.sent[kind]:
		return fmt.Errorf("a second line %q", kind)
	}
	u.sent[kind] = !many
	e, err := u.event(kind, line[1:])
	u.events = append(u.events, e)
	return err
}

func (u *unpacker) event(kind byte, line []byte) (e event, err error) {
	switch e.kind = kind; kind {
	case kindRecord:
		if e.record, err = u.records.Decode(line); err == nil {
			err = checkTexts(e.record)
		}
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
		if len(line) > 0 && string(line) != "null" {
			err = errors.New("a line of a worker that has drained has no content")
		}
	default:
		err = fmt.Errorf("unknown kind %q", kind)
	}
	return e, err
}
