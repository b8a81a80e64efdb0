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
)

// Bounds on what reading a stream may take, whoever wrote it.
const (
	longestRecord = 16 << 20  // bytes of JSON; an answer of a million tokens has 8 MiB
	widestWindow  = 128 << 20 // zstd --long; ours is 128 KiB
)

// ReadRecords calls each for every record of a stream, in the order in which they ended. A stream
// cut by a kill gives the records before the cut, then an error that wraps io.ErrUnexpectedEOF.
func ReadRecords(r io.Reader, each func(*Record) error) error {
	in := bufio.NewReader(r)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return fmt.Errorf("opening the record stream: it is empty: %w", io.ErrUnexpectedEOF)
	}
	lines, err := openLines(in)
	if err != nil {
		return fmt.Errorf("opening the record stream: %w", err)
	}
	defer lines.close()
	for n := 1; ; n++ {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		var rec Record
		if err == nil {
			err = lines.decode(line, &rec)
		}
		if err != nil {
			return fmt.Errorf("reading request record %d: %w", n, err)
		}
		lines.share(&rec)
		if err := each(&rec); err != nil {
			return err
		}
	}
}

// storedLines are the lines of a stored stream.
type storedLines struct {
	in    *bufio.Reader
	close func()
	long  []byte // a line that is longer than the reader's buffer
	rest  []byte // a line without its gaps

	words map[string]string // that records have in common
}

// mostWords bounds what is kept for sharing, whoever wrote the stream.
const mostWords = 1000

// share has records of the same phase, outcome and so on use one text for it: of millions these would be a tenth of all.
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

// next is the next line that is not empty, good until the next call; io.EOF behind the last.
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
			return nil, fmt.Errorf("it is longer than %d MiB", longestRecord>>20)
		}
	}
	l.long = append(l.long, line...)
	return l.long, err
}

var gapsKey, inPlace = []byte(`"gaps_us":[`), strconv.AppendInt(nil, inPlaceOfGaps, 10)

// inPlaceOfGaps stands where gaps have been taken out; no gap is that long.
const inPlaceOfGaps = 1<<62 + 1

// decode reads one record. Nearly all of a line are its gaps, and these are read apart: encoding/json looks at each byte
// several times. A quote inside of a text is escaped, so that the key is never found in one.
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
	if r.Gaps.Len() != 1 || r.Gaps.take() != inPlaceOfGaps { // the key is there again, in capitals
		*r = Record{}
		return decodeLine(line, r)
	}
	r.Gaps = gaps
	return nil
}

// decodeLine is decode without a short cut. A line that ends too early was cut.
func decodeLine(line []byte, into any) error {
	err := json.Unmarshal(line, into)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset == int64(len(line)) {
		return fmt.Errorf("%w: %w", err, io.ErrUnexpectedEOF)
	}
	return err
}

// readNumbers reads a list of whole numbers, none of them negative, up to the bracket that closes it, and says how many
// bytes that took; it is not ok where there is anything else.
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
