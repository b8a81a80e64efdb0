package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/telemetry"
	"bench/experiment/trace"
)

// Bounds on the memory for an untrusted stream.
const (
	longestRecord = 16 << 20 // bytes of JSON; an answer of a million tokens takes 8 MiB
	maxExpansion  = 4096     // times its size; 8,192 equal gaps in each record, as a simulation has them, reach 1,443
)

type (
	Sample    = telemetry.Sample
	Gauge     = telemetry.Gauge
	GPUDevice = telemetry.GPUDevice
)

// ReadRecords calls each for every record of a stream, in the order of their ends. A stream that a kill cut
// gives the records before the cut, then an error that wraps io.ErrUnexpectedEOF.
func ReadRecords(r io.Reader, each func(*Record) error) error {
	return readRecords(r, math.MaxInt64, true, each)
}

// readRecords reads at most a number of bytes of JSON; without lists records lack gaps and tokens of events.
func readRecords(r io.Reader, most int64, lists bool, each func(*Record) error) error {
	decode := func(l *storedLines, line []byte, r *Record) error {
		l.lists = lists
		return l.decode(line, r)
	}
	return readStream(r, most, "record", "request record", decode, each)
}

// RecordBytes is about the memory of the row's records, by its summary. Without gaps it is less.
func (r *Row) RecordBytes() int64 {
	const request, gap = 600, 3
	s := &r.Summary
	size := request * int64(s.Requests.Planned+s.Requests.Warmup)
	if s.ITL != nil {
		size += gap * int64(s.ITL.N)
	}
	return max(0, size)
}

// ReadSamples is ReadRecords for the samples of a row's telemetry, in the order of the file.
func ReadSamples(r io.Reader, each func(*Sample) error) error {
	decode := func(_ *storedLines, line []byte, s *Sample) error { return decodeLine(line, s) }
	return readStream(r, math.MaxInt64, "telemetry", "telemetry sample", decode, each)
}

// readStream calls each for every entry of a stream; decode fills one entry from its line.
func readStream[T any](in io.Reader, most int64, stream, entry string, decode func(*storedLines, []byte, *T) error,
	each func(*T) error) error {
	lines, err := openLines(in, most)
	if err != nil {
		return fmt.Errorf("opening the %s stream: %w", stream, err)
	}
	defer lines.close()
	for n := 1; ; n++ {
		line, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		x := new(T)
		if err == nil {
			err = decode(lines, line, x)
		}
		if err != nil {
			return fmt.Errorf("reading %s %d: %w", entry, n, err)
		}
		if err := each(x); err != nil {
			return err
		}
	}
}

type storedLines struct {
	*trace.Lines
	close func()
	room  []byte // memory of a list
	lists bool   // read gaps and tokens of events

	words map[string]string // texts that records share
}

// Bounds on the shared texts of an untrusted stream.
const (
	mostWords   = 1000
	longestWord = 256 // bytes
)

func (l *storedLines) share(r *Record) {
	for i := range recordFields {
		if f := &recordFields[i]; f.kind == aText && !f.own {
			text := (*string)(unsafe.Add(unsafe.Pointer(r), f.offset))
			*text = l.word([]byte(*text))
		}
	}
}

func (l *storedLines) word(text []byte) string {
	if word, known := l.words[string(text)]; known {
		return word
	}
	word := string(text)
	if len(l.words) < mostWords && len(word) <= longestWord {
		l.words[word] = word
	}
	return word
}

func newLines() *storedLines { return &storedLines{lists: true, words: map[string]string{}} }

func openLines(r io.Reader, most int64) (*storedLines, error) {
	in := bufio.NewReader(r)
	if head, err := in.Peek(4); errors.Is(err, io.EOF) { // the mark of zstd has 4 bytes
		return nil, fmt.Errorf("it has %d bytes: %w", len(head), io.ErrUnexpectedEOF)
	}
	z, err := trace.DecompressedTo(in, maxExpansion)
	if err != nil {
		return nil, err
	}
	l := newLines()
	l.Lines, l.close = trace.NewLines(&atMost{z, most}, longestRecord, ""), func() { _ = z.Close() }
	return l, nil
}

type atMost struct {
	io.Reader
	left int64
}

func (a *atMost) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, errors.New("it has far more bytes than the row's requests can have")
	}
	n, err := a.Reader.Read(p)
	a.left -= int64(n)
	return n, err
}

// decodeLine decodes by encoding/json alone. The error of a line that ends too early wraps io.ErrUnexpectedEOF.
func decodeLine(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset == int64(len(line)) {
		return fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	return err
}

type Decoder struct{ lines *storedLines }

func NewDecoder() *Decoder { return &Decoder{newLines()} }

// Decode reads a record from its line, which it does not keep.
func (d *Decoder) Decode(line []byte) (*Record, error) {
	r := new(Record)
	if err := d.lines.decode(line, r); err != nil {
		return nil, fmt.Errorf("reading a request record: %w", err)
	}
	return r, nil
}

// RecordWriter writes records as zstd-compressed JSON lines. What it has flushed survives a kill.
type RecordWriter struct {
	z *zstd.Encoder
	n int
	b []byte // room for a line
}

// flushEvery bounds the number of records that a kill loses, at little cost in size.
const flushEvery = 500

// NewRecordWriter writes to w, which stays the caller's to close.
func NewRecordWriter(w io.Writer) (*RecordWriter, error) {
	// A zero frame makes a stream without records differ from an empty file. The fastest level is within 3 % of the
	// default one's size in half of its time.
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
	if err != nil {
		return nil, fmt.Errorf("starting the record stream: %w", err)
	}
	return &RecordWriter{z: z}, nil
}

func (w *RecordWriter) Write(r *Record) error {
	if w.n == 0 {
		first := *r
		first.Schema = schemaRecord
		r = &first
	}
	w.b = append(r.AppendJSON(w.b[:0]), '\n')
	if _, err := w.z.Write(w.b); err != nil {
		return fmt.Errorf("writing a request record: %w", err)
	}
	if w.n++; w.n%flushEvery == 0 {
		return w.z.Flush()
	}
	return nil
}

// Lines is the number of records so far.
func (w *RecordWriter) Lines() int { return w.n }

// Close ends the stream; the file is whole only after it.
func (w *RecordWriter) Close() error { return w.z.Close() }
