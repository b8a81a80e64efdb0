package yaml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Marshal writes a mapping, in the order of its JSON. Texts are in double quotes.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	w := &writer{in: json.NewDecoder(bytes.NewReader(text))}
	w.in.UseNumber()
	w.value(0, false)
	return append(bytes.TrimLeft(w.out.Bytes(), "\n "), '\n'), nil
}

// writer reads what json.Marshal wrote, which has no errors.
type writer struct {
	in  *json.Decoder
	out bytes.Buffer
}

// value writes a value behind its key, or behind the dash of an item, where a mapping begins in the same line.
func (w *writer) value(indent int, item bool) {
	token, _ := w.in.Token()
	open, nested := token.(json.Delim)
	switch {
	case !nested:
		w.out.WriteString(" " + scalar(token))
		return
	case !w.in.More():
		w.out.WriteString(map[json.Delim]string{'{': " {}", '[': " []"}[open])
	}
	for first := true; w.in.More(); first = false {
		if first && item && open == '{' {
			w.out.WriteString(" ")
		} else {
			w.out.WriteString("\n" + strings.Repeat(" ", indent))
		}
		if open == '{' {
			key, _ := w.in.Token()
			w.out.WriteString(keyText(key.(string)) + ":")
		} else {
			w.out.WriteString("-")
		}
		w.value(indent+2, open == '[')
	}
	_, _ = w.in.Token()
}

// keyText quotes keys with other characters than letters and _, and those that are no texts in YAML 1.1.
func keyText(key string) string {
	rest := strings.TrimLeft(key, "abcdefghijklmnopqrstuvwxyz_")
	if digits := strings.Trim(rest, "0123456789"); key == "" || digits != "" || len(rest) == len(key) ||
		slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, key) {
		return quoted(key)
	}
	return key
}

// scalar: a number with an exponent and no point is a text in YAML 1.1.
func scalar(token json.Token) string {
	switch x := token.(type) {
	case string:
		return quoted(x)
	case json.Number:
		if head, exponent, ok := strings.Cut(x.String(), "e"); ok && !strings.Contains(head, ".") {
			return head + ".0e" + exponent
		}
	case nil:
		return "null"
	}
	return fmt.Sprint(token)
}

func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text has no error
	return strings.TrimSuffix(b.String(), "\n")
}
