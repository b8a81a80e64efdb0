package trace

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// Reader returns the requests of a trace in order. It is not safe for concurrent use.
type Reader struct {
	Info   Info
	counts Counts // of the rows read so far

	name     string
	o        Options
	rand     *rand.Rand
	src      source
	sessions grouped // nil = not yet known how to group the rows of src
	stored   *spill  // nil = rows come from the file
	close    []io.Closer

	first, last time.Duration // timestamps of the file's first row and of the last row read
	started     bool
	entries     spread[Entry]
	runs        spread[Session]
	given       int   // sessions returned so far
	err         error // ended the reading
}

type source interface {
	// next fills e, with At as the file has it and Line; io.EOF at the end.
	next(e *Entry) error
	at() int
}

// Open opens the file of options that pass their Check. Jitter draws from r; without jitter r is unused.
func Open(o Options, r *rand.Rand) (*Reader, error) {
	f, err := os.Open(o.File)
	if err != nil {
		return nil, fmt.Errorf("opening the trace: %w", err)
	}
	t, err := New(f, o, r)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	t.close = append(t.close, f)
	return t, nil
}

// New reads a trace from f; o.File is only used in errors.
func New(f io.Reader, o Options, r *rand.Rand) (*Reader, error) {
	t := &Reader{name: o.File, o: o, rand: r}
	plain, err := Decompressed(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	t.close = append(t.close, plain)
	l := OfTrace(plain)
	if err := t.begin(l); err != nil {
		_ = t.Close()
		return nil, t.placed(err, l.Number)
	}
	if err := o.fits(t.Info); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return t, nil
}

func (o Options) fits(i Info) error {
	if !i.Timed && (o.Start > 0 || o.End > 0 || o.Jitter > 0 || o.Speed != 0) {
		return fmt.Errorf("start, end, speed and jitter require timestamps, which the %s format does not have\n"+
			"hint: remove start, end, speed and jitter", i.Format)
	}
	for _, x := range []struct {
		wrong    bool
		key, why string
	}{
		{o.TimeUnit != "" && slices.Contains([]string{formatWeka, formatOTel, formatAzure}, i.Format), "time_unit",
			"sets it"},
		{o.BlockTokens > 0 && i.Format == formatWeka, "block_tokens", "sets it"},
		{o.BlockTokens > 0 && i.BlockTokens == 0, "block_tokens", "has no blocks"},
		{o.BytesPerToken > 0 && !i.Estimated, "bytes_per_token", "has token counts"},
	} {
		if x.wrong {
			return fmt.Errorf("%s does not apply to the %s format, which %s\nhint: remove %s", x.key, i.Format, x.why,
				x.key)
		}
	}
	return nil
}

func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.close {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Next returns the next request that is kept, and io.EOF at the end. Any other error names the file and the
// line, and is returned by every later call. The caller owns the blocks. Requests of a trace whose sessions
// have no common clock come session by session.
func (r *Reader) Next() (Entry, error) {
	if r.o.Jitter > 0 {
		return r.entries.read(r, r.kept, func(e *Entry) *time.Duration { return &e.At })
	}
	return r.kept()
}

func (r *Reader) kept() (Entry, error) {
	for r.err == nil {
		e, err := r.row()
		if err != nil {
			r.err = r.malformed(err)
			break
		}
		if r.o.End > 0 && e.At >= r.o.End {
			r.err = io.EOF // rows after the window are not read
			break
		}
		r.counts.Read++
		if r.keep(&e) {
			return e, nil
		}
	}
	return Entry{}, r.err
}

// row is the next row, checked.
func (r *Reader) row() (e Entry, err error) {
	if err = r.src.next(&e); err == nil {
		err = r.check(&e)
	}
	return e, err
}

// check checks a row, and makes its time relative to the first row.
func (r *Reader) check(e *Entry) error {
	switch {
	case e.Input < 0 || e.Output < 0:
		return fmt.Errorf("negative length: input %d tokens, output %d tokens", e.Input, e.Output)
	case e.Input > maxTokens || e.Output > maxTokens:
		return fmt.Errorf("input %d or output %d exceeds the limit of %d tokens", e.Input, e.Output, maxTokens)
	}
	if !r.started {
		r.started, r.first, r.last = true, e.At, e.At
	}
	if e.At < r.last {
		return unreadable{fmt.Errorf("timestamps go back: %v after the first row, but the previous row is at %v\n"+
			"hint: sort the file by time", e.At-r.first, r.last-r.first)}
	}
	r.last = e.At
	e.At -= r.first
	return checkBlocks(e, r.Info.BlockTokens)
}

// checkBlocks compares the number of hash ids with the prompt's tokens, which reveals a wrong block size.
func checkBlocks(e *Entry, size int) error {
	n := len(e.Blocks)
	if e.Blocks == nil || n == (e.Input+size-1)/size {
		return nil
	}
	text := fmt.Sprintf("%d hash ids for a prompt of %d tokens, but blocks of %d tokens make %d", n, e.Input, size,
		(e.Input+size-1)/size)
	likely := 1
	for n > 0 && n*likely < e.Input {
		likely *= 2
	}
	if n == 0 || (e.Input+likely-1)/likely != n {
		return fmt.Errorf("%s\nhint: check input_length and hash_ids", text)
	}
	return unreadable{fmt.Errorf("%s\nhint: a block size of %[2]d fits this row: set block_tokens = %[2]d", text,
		likely)}
}

func (r *Reader) keep(e *Entry) bool {
	switch {
	case e.Input == 0 || e.Output == 0:
		r.counts.Empty++
		return false
	case e.At < r.o.Start || !r.o.keeps(e):
		r.counts.Filtered++
		return false
	}
	r.truncate(e)
	if r.Info.Timed {
		e.At = r.o.scaled(e.At - r.o.Start)
	}
	return true
}

func (r *Reader) truncate(e *Entry) {
	if limit := r.o.CapInput; limit > 0 && e.Input > limit {
		r.counts.CutInput++
		e.Input = limit
		if e.Blocks != nil {
			e.Blocks = e.Blocks[:(limit+r.Info.BlockTokens-1)/r.Info.BlockTokens]
		}
	}
}

const mostProblems = 20

// problems are the mistakes of a trace, each with its file and line.
type problems []error

func (p problems) Error() string {
	texts := make([]string, len(p))
	for i, err := range p {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\nerror: ")
}

func (p problems) Unwrap() []error { return p }

// unreadable is an error behind which no row can be read, or that later rows have, too.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// malformed adds file and line to an error of the current row, and of a format with one row a line the mistakes of all
// later rows, up to a bound.
func (r *Reader) malformed(err error) error {
	if err == io.EOF {
		return err
	}
	found, more := problems{r.placed(err, r.src.at())}, 0
	switch r.src.(type) {
	case *jsonl, *logfile, *table:
	default:
		return found[0]
	}
	for stop := (unreadable{}); !errors.As(err, &stop); {
		if _, err = r.row(); err == io.EOF {
			break
		}
		if err != nil && len(found) < mostProblems {
			found = append(found, r.placed(err, r.src.at()))
		} else if err != nil {
			more++
		}
	}
	if more > 0 {
		found = append(found, fmt.Errorf("%s: %d more rows are malformed", r.name, more))
	}
	if len(found) == 1 {
		return found[0]
	}
	return found
}
