package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// walker reads a JSON file value by value: one document, several in a row (JSONL is one of them), or lists of
// documents. Only single values are held in memory, so that a file of one document can have any size.
type walker struct {
	counter *lineCounter
	json    *json.Decoder
	path    []string // keys and indices of the current value, for errors
	wrong   Problems // mistakes of single objects, which were passed over
}

// mistake is an error in one object, behind which the walker can go on.
type mistake struct{ error }

// Unwrap returns the error.
func (m mistake) Unwrap() error { return m.error }

// mistaken makes an error of the current value a mistake, with its path.
func (w *walker) mistaken(err error) error {
	if err == nil || errors.As(err, &unreadable{}) {
		return err
	}
	return mistake{w.located(err)}
}

// passed collects a mistake of an object that begins at that line; any other error stays.
func (w *walker) passed(line int, err error) error {
	var m mistake
	if !errors.As(err, &m) {
		return err
	}
	w.wrong.add(atLine{line, m.error})
	return nil
}

// end is the mistakes that were collected, and err, which ended the walk; io.EOF if all is well.
func (w *walker) end(err error) error {
	if err != io.EOF {
		err = w.located(err)
	}
	if len(w.wrong.list) == 0 {
		return err
	}
	if err != io.EOF {
		w.wrong.add(atLine{w.at(), err})
	}
	return &w.wrong
}

// newWalker reads r, which begins at that line of the file.
func newWalker(r io.Reader, line int) *walker {
	m := &lineCounter{r: r, line: line}
	d := json.NewDecoder(m)
	d.UseNumber()
	return &walker{counter: m, json: d}
}

// at is the line of the current value.
func (w *walker) at() int { return w.counter.line }

// maxNesting bounds the depth of lists and objects that are walked through.
const maxNesting = 32

var (
	errNested = fmt.Errorf("more than %d levels of lists and objects\nhint: check that the file is a trace", maxNesting)
	errList   = errors.New("expected a list or an object")
)

// document calls object at the beginning of the next document, or of each document in a list of them; io.EOF
// at the end of the file.
func (w *walker) document(object func() error) error {
	w.mark()
	token, err := w.json.Token()
	if err != nil {
		if err == io.EOF {
			return io.EOF
		}
		return readable(err)
	}
	line := w.at()
	return w.passed(line, w.opened(token, object))
}

// opened walks through a list, or calls object for an object, whose first token was read.
func (w *walker) opened(token json.Token, object func() error) error {
	if len(w.path) > maxNesting {
		return errNested
	}
	switch token {
	case json.Delim('{'):
		return object()
	case json.Delim('['):
		for i := 0; w.json.More(); i++ {
			w.mark()
			line := w.at()
			if err := w.passed(line, w.within(strconv.Itoa(i), func() error {
				token, err := w.json.Token()
				if err != nil {
					return readable(err)
				}
				return w.opened(token, object)
			})); err != nil {
				return err
			}
		}
		_, err := w.json.Token()
		return readable(err)
	}
	return errList
}

// mostKeys bounds the keys that are compared with later ones of their object.
const mostKeys = 64

// keys calls value with each key of an object whose opening brace was read. value reads the key's value.
func (w *walker) keys(value func(key string) error) error {
	seen := make([]string, 0, 16)
	var first error // a mistake: the keys behind it are passed over
	for w.json.More() {
		token, err := w.json.Token()
		if err != nil {
			return readable(err)
		}
		w.mark()
		key, ok := token.(string)
		if !ok {
			return errors.New("an object's key is not a string")
		}
		err = w.within(key, func() error {
			switch {
			case first != nil:
				return w.skip()
			case slices.Contains(seen, key):
				first = w.mistaken(errors.New("duplicate key\nhint: remove one of the two"))
				return w.skip()
			}
			return value(key)
		})
		switch {
		case errors.As(err, &mistake{}):
			first = err
		case err != nil:
			return err
		}
		if len(seen) < mostKeys {
			seen = append(seen, key)
		}
	}
	if _, err := w.json.Token(); err != nil { // closing brace
		return readable(err)
	}
	return first
}

// fields decodes the values of an object whose opening brace was read: each into the pointer, or by the function, that
// its key has. Other keys are passed over.
func (w *walker) fields(into map[string]any) error {
	return w.keys(func(key string) error {
		switch to := into[key].(type) {
		case nil:
			return w.skip()
		case func() error:
			return to()
		default:
			return w.decode(to)
		}
	})
}

// objects calls object for each object of the list, or for the object, that comes next.
func (w *walker) objects(object func() error) error {
	token, err := w.json.Token()
	switch {
	case err != nil:
		return readable(err)
	case token == nil: // null
		return nil
	}
	return w.opened(token, object)
}

func (w *walker) decode(v any) error {
	err := w.json.Decode(v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return w.mistaken(mistyped(wrong))
	}
	return readable(err)
}

// text decodes the next value: a string, or the text of a number, true or false; null is empty.
func (w *walker) text(to *string) error {
	var raw json.RawMessage
	if err := w.decode(&raw); err != nil {
		return err
	}
	switch raw[0] {
	case '"':
		return json.Unmarshal(raw, to)
	case '{', '[':
		return w.mistaken(errors.New("expected a string"))
	case 'n':
		return nil
	}
	*to = string(raw)
	return nil
}

// skip passes over the next value.
func (w *walker) skip() error {
	var nothing json.RawMessage
	return w.decode(&nothing)
}

// within calls read with key added to the path, which stays at an error.
func (w *walker) within(key string, read func() error) error {
	w.path = append(w.path, key)
	err := read()
	if err != nil && !errors.As(err, &mistake{}) {
		return err
	}
	w.path = w.path[:len(w.path)-1]
	return err
}

// mark notes that a value ends here, so that its successor has a line and a bounded size.
func (w *walker) mark() { w.counter.begin(w.json.InputOffset(), w.json.Buffered()) }

// located adds the path to an error.
func (w *walker) located(err error) error {
	if len(w.path) == 0 || err == io.EOF {
		return err
	}
	var b strings.Builder
	for i, key := range w.path {
		if _, err := strconv.Atoi(key); err == nil {
			fmt.Fprintf(&b, "[%s]", key)
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(shown(key))
	}
	return fmt.Errorf("%s: %w", &b, err)
}

// readable describes a decoding error without the text of the file.
func readable(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("unexpected end of file")
	case errors.As(err, &wrong):
		return mistyped(wrong)
	}
	return err
}

// mistyped names the field and the type it should have.
func mistyped(wrong *json.UnmarshalTypeError) error {
	field := wrong.Field
	if field == "" {
		field = "the value"
	}
	return fmt.Errorf("%s is %s, but must be %s", field, article(wrong.Value), wanted(wrong.Type))
}
