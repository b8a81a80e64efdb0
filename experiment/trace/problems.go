package trace

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

const mostProblems = 20

// Problems are the mistakes of a trace, each with its file and line.
type Problems struct {
	list []error // the first mostProblems
	more int
}

func (p *Problems) add(err error) {
	if len(p.list) == mostProblems {
		p.more++
		return
	}
	p.list = append(p.list, err)
}

func (p *Problems) Error() string {
	texts := make([]string, len(p.list))
	for i, err := range p.list {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\nerror: ")
}

func (p *Problems) Unwrap() []error { return p.list }

// unreadable is an error behind which no row can be read, or that later rows have, too.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

func (p *Problems) located(r *Reader) error {
	if len(p.list) == 1 {
		return r.placed(p.list[0], 0)
	}
	all := &Problems{}
	for _, err := range p.list {
		all.list = append(all.list, r.placed(err, 0))
	}
	if p.more > 0 {
		all.list = append(all.list, fmt.Errorf("%s: %d more rows are malformed", r.name, p.more))
	}
	return all
}

// malformed adds file and line to an error of the current row, and of a format with one row a line the mistakes of all
// later rows.
func (r *Reader) malformed(err error) error {
	if err == io.EOF {
		return err
	}
	first := atLine{r.src.at(), err}
	switch r.src.(type) {
	case *jsonl, *logfile, *table:
	default:
		return r.placed(err, first.line)
	}
	found := &Problems{list: []error{first}}
	for stop := (unreadable{}); !errors.As(err, &stop); {
		if _, err = r.row(); err == io.EOF {
			break
		}
		if err != nil {
			found.add(atLine{r.src.at(), err})
		}
	}
	return found.located(r)
}
