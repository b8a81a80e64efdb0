package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/telemetry"
)

// Bounds on the memory for an untrusted stream.
const (
	longestRecord = 16 << 20  // bytes of JSON; an answer of a million tokens takes 8 MiB
	widestWindow  = 128 << 20 // zstd --long; RecordWriter's is 128 KiB
)

// Types of telemetry that readers of a row need; package telemetry itself collects them.
type (
	Sample    = telemetry.Sample
	Gauge     = telemetry.Gauge
	GPUDevice = telemetry.GPUDevice
)

// ReadRecords calls each for every record of a stream, in the order of their ends. A stream that a kill cut
// gives the records before the cut, then an error that wraps io.ErrUnexpectedEOF.
func ReadRecords(r io.Reader, each func(*Record) error) error {
	in := bufio.NewReader(r)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return fmt.Errorf("opening the record stream: it is empty: %w", io.ErrUnexpectedEOF)
	}
	return readStream(in, "record", "request record", func(l *storedLines, line []byte, r *Record) error {
		err := l.decode(line, r)
		l.share(r)
		return err
	}, each)
}

// ReadSamples is ReadRecords for the samples of a row's telemetry, in the order of the file.
func ReadSamples(r io.Reader, each func(*Sample) error) error {
	decode := func(_ *storedLines, line []byte, s *Sample) error { return decodeLine(line, s) }
	return readStream(bufio.NewReader(r), "telemetry", "telemetry sample", decode, each)
}

// readStream calls each for every entry of a stream; decode fills one entry from its line.
func readStream[T any](in *bufio.Reader, stream, entry string, decode func(*storedLines, []byte, *T) error, each func(*T) error) error {
	lines, err := openLines(in)
	if err != nil {
		return fmt.Errorf("opening the %s stream: %w", stream, err)
	}
	defer lines.close()
	for n := 1; ; n++ {
		line, err := lines.next()
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

// storedLines are the lines of a stored stream.
type storedLines struct {
	in    *bufio.Reader
	close func()
	long  []byte // memory of a line longer than the reader's buffer
	rest  []byte // memory of a line without its gaps

	words map[string]string // texts that records share
}

// mostWords bounds the number of shared texts of an untrusted stream.
const mostWords = 1000

// share makes records share the text of the same phase, outcome and so on: a tenth of the memory of millions
// of records.
func (l *storedLines) share(r *Record) {
	for _, text := range []*string{&r.Class, &r.Phase, &r.Outcome, &r.Finish, &r.Error} {
		if word, known := l.words[*text]; known {
			*text = word
		} else if len(l.words) < mostWords {
			l.words[*text] = *text
		}
	}
}

func openLines(r io.Reader) (*storedLines, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(widestWindow))
	if err != nil {
		return nil, err
	}
	return &storedLines{in: bufio.NewReaderSize(z, 64<<10), close: z.Close, words: map[string]string{}}, nil
}

// next is the next line that is not empty, valid until the next call; io.EOF after the last.
func (l *storedLines) next() ([]byte, error) {
	for {
		line, err := l.whole()
		if line = bytes.TrimSpace(line); len(line) > 0 && (err == nil || err == io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *storedLines) whole() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	for l.long = l.long[:0]; err == bufio.ErrBufferFull; line, err = l.in.ReadSlice('\n') {
		if l.long = append(l.long, line...); len(l.long) > longestRecord {
			return nil, fmt.Errorf("longer than %d MiB", longestRecord>>20)
		}
	}
	l.long = append(l.long, line...)
	return l.long, err
}

var gapsKey, inPlace = []byte(`"gaps_us":[`), strconv.AppendInt(nil, inPlaceOfGaps, 10)

// inPlaceOfGaps replaces the removed gaps; no gap is that long.
const inPlaceOfGaps = 1<<62 + 1

// decode reads one record. Most of a line are its gaps, which are decoded separately, since encoding/json
// reads each byte several times. The key can't be inside a text, whose quotes are escaped.
func (l *storedLines) decode(line []byte, r *Record) error {
	from := bytes.Index(line, gapsKey)
	if from < 0 {
		return decodeLine(line, r)
	}
	from += len(gapsKey)
	gaps, n, ok := readNumbers(line[from:])
	behind := line[from+n:]
	if !ok || bytes.Contains(behind, gapsKey) || bytes.LastIndexByte(line[:from], '{') > 0 {
		return decodeLine(line, r)
	}
	l.rest = append(append(append(l.rest[:0], line[:from]...), inPlace...), behind...)
	if err := decodeLine(l.rest, r); err != nil {
		return err
	}
	if r.Gaps.Len() != 1 || r.Gaps.take() != inPlaceOfGaps { // the key occurs again, in capitals
		*r = Record{}
		return decodeLine(line, r)
	}
	r.Gaps = gaps
	return nil
}

// decodeLine decodes by encoding/json alone. The error of a line that ends too early wraps
// io.ErrUnexpectedEOF.
func decodeLine(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset == int64(len(line)) {
		return fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	return err
}

// readNumbers reads a list of non-negative integers up to its closing bracket; n is its length in bytes. ok
// is false for any other text.
func readNumbers(text []byte) (list Packed, n int, ok bool) {
	var room packing
	b, count := room[:0], 0
	for {
		x, digits := uint64(0), n
		for n < len(text) && text[n]-'0' <= 9 {
			x = 10*x + uint64(text[n]-'0')
			n++
		}
		if digits = n - digits; digits == 0 || digits > 18 || digits > 1 && text[n-digits] == '0' || n == len(text) {
			return Packed{}, 0, false
		}
		b = binary.AppendUvarint(b, x)
		count++
		switch text[n] {
		case ',':
			n++
		case ']':
			return Packed{b: b, n: count}.clone(), n, true
		default:
			return Packed{}, 0, false
		}
	}
}
