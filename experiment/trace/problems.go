package trace

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

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
