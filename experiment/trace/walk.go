package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// walker reads a JSON file value by value: one document, several in a row (JSONL is one of them), or lists of
// documents. Only single values are held in memory, so that a file of one document can have any size.
type walker struct {
	counter *lineCounter
	json    *json.Decoder
	lists   int      // that are open around the documents
	path    []string // keys and indices of the current value in its document, for errors
}

func newWalker(r io.Reader, line int) *walker {
	m := &lineCounter{r: r, line: line}
	d := json.NewDecoder(m)
	d.UseNumber()
	return &walker{counter: m, json: d}
}

func (w *walker) at() int { return w.counter.line }

// maxNesting bounds the depth of lists and objects that are walked through.
const maxNesting = 32

var (
	errNested = fmt.Errorf("more than %d levels of lists and objects\nhint: check that the file is a trace", maxNesting)
	errList   = errors.New("expected a list or an object")
)

// next calls object at the beginning of the next object of the file: of a sequence, or of lists of them; io.EOF at the
// end. Any other error has the path of its value.
func (w *walker) next(object func() error) error {
	for {
		more := w.json.More() // peeks at the next byte, so that the rest of it is buffered
		w.mark()
		token, err := w.json.Token()
		switch {
		case err == io.EOF && w.lists == 0:
			return io.EOF
		case err != nil:
			return readable(err)
		case token == json.Delim(']') && !more:
			w.lists--
		case token == json.Delim('[') && w.lists < maxNesting:
			w.lists++
		default:
			return w.located(w.opened(token, object))
		}
	}
}

func (w *walker) opened(token json.Token, object func() error) error {
	if len(w.path)+w.lists > maxNesting {
		return errNested
	}
	switch token {
	case json.Delim('{'):
		return object()
	case json.Delim('['):
		for i := 0; w.json.More(); i++ {
			if err := w.within(strconv.Itoa(i), func() error { return w.objects(object) }); err != nil {
				return err
			}
		}
		_, err := w.json.Token()
		return readable(err)
	}
	return errList
}

// keys calls value with each key of an object whose opening brace was read. value reads the key's value.
func (w *walker) keys(value func(key string) error) error {
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
		if err := w.within(key, func() error { return value(key) }); err != nil {
			return err
		}
	}
	_, err := w.json.Token() // closing brace
	return readable(err)
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
	w.mark()
	token, err := w.json.Token()
	switch {
	case err != nil:
		return readable(err)
	case token == nil: // null
		return nil
	}
	return w.opened(token, object)
}

func (w *walker) decode(v any) error { return readable(w.json.Decode(v)) }

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
		return errors.New("expected a string")
	case 'n':
		return nil
	}
	*to = string(raw)
	return nil
}

func (w *walker) skip() error {
	var nothing json.RawMessage
	return w.decode(&nothing)
}

// within calls read with key added to the path, which stays at an error.
func (w *walker) within(key string, read func() error) error {
	w.path = append(w.path, key)
	err := read()
	if err == nil {
		w.path = w.path[:len(w.path)-1]
	}
	return err
}

// mark notes that a value ends here, so that its successor has a line and a bounded size.
func (w *walker) mark() { w.counter.begin(w.json.InputOffset(), w.json.Buffered()) }

func (w *walker) located(err error) error {
	if len(w.path) == 0 || err == nil || err == io.EOF {
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
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("unexpected end of file")
	}
	return mistyped(err)
}

func decode(line []byte, v any) error {
	if err := json.Unmarshal(line, v); err != nil {
		return misread(err)
	}
	return nil
}

// mistyped describes a value of another type, in the terms of the file.
func mistyped(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%s is %s, but must be %s", cmp.Or(wrong.Field, "the value"), article(wrong.Value),
		wanted(wrong.Type))
}

func misread(err error) error {
	switch wrong := mistyped(err); {
	case wrong != err:
		return wrong
	case strings.HasPrefix(err.Error(), "json: invalid number literal"):
		return errors.New("timestamp is a string, but must be a number")
	}
	return fmt.Errorf("not a JSON object: %w", err)
}

func article(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	return map[string]string{"string": "a string", "bool": "true or false", "array": "a list", "object": "an object",
		"number": "a number"}[value]
}

func wanted(t reflect.Type) string {
	if t == reflect.TypeFor[json.Number]() {
		return "a number"
	}
	const integer = "an integer, like 512"
	kinds := map[reflect.Kind]string{reflect.Float64: "a number", reflect.Int: integer, reflect.Int64: integer,
		reflect.Uint64: "an integer from 0 to 18446744073709551615", reflect.Slice: "a list",
		reflect.Struct: "an object", reflect.Bool: "true or false"}
	return cmp.Or(kinds[t.Kind()], "a string")
}
