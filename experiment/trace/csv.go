package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

type csvColumns struct {
	time, input, output string
	class, session      string // of newer files; empty = never
}

// csvFormats are the traces published by Azure (dates, with seven digits of the second in 2023 and a zone in 2024), and
// BurstGPT, in seconds, whose older files have neither sessions nor elapsed times.
var csvFormats = map[string]csvColumns{
	Azure: {time: "TIMESTAMP", input: "ContextTokens", output: "GeneratedTokens"},
	BurstGPT: {time: "Timestamp", input: "Request tokens", output: "Response tokens", class: "Model",
		session: "Session ID"},
}

type table struct {
	*Lines
	format   string
	names    csvColumns
	time     func(text string) (time.Duration, error)
	columns  map[string]int
	width    int
	sessions sessions
}

func newTable(l *Lines, header []byte, format string, o Options) (*table, error) {
	cells, err := cells(string(header))
	if err != nil {
		return nil, err
	}
	clock := o.clock(time.Second)
	t := &table{Lines: l, format: format, names: csvFormats[format], time: clock.parse, columns: map[string]int{},
		width: len(cells)}
	if format == Azure {
		t.time = parseDate
	}
	for i, name := range cells {
		if name != "" {
			t.columns[name] = i
		}
	}
	needed := []string{t.names.time, t.names.input, t.names.output}
	for _, name := range needed {
		if _, ok := t.columns[name]; !ok {
			return nil, fmt.Errorf("no column %q in the header\nhint: the first line must contain the column names %s",
				name, strings.Join(needed, ","))
		}
	}
	return t, nil
}

func cells(line string) ([]string, error) {
	fields := strings.Split(line, ",")
	if strings.Contains(line, `"`) {
		var err error
		if fields, err = csv.NewReader(strings.NewReader(line)).Read(); err != nil {
			return nil, errors.New("invalid CSV: unbalanced quotes")
		}
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

func (t *table) info() Info { return Info{Format: t.format, Timed: true} }

func (t *table) next(e *Entry) error {
	line, err := t.Lines.Next()
	if err != nil {
		return err
	}
	e.Line = t.Number
	fields, err := cells(string(line))
	if err != nil {
		return err
	}
	if len(fields) != t.width {
		return fmt.Errorf("%d columns, the header has %d", len(fields), t.width)
	}
	if e.At, err = t.time(fields[t.columns[t.names.time]]); err != nil {
		return err
	}
	if i, ok := t.columns[t.names.class]; ok {
		e.Class = fields[i]
	}
	if i, ok := t.columns[t.names.session]; ok && fields[i] != "" {
		e.Session, e.Turn = t.sessions.next(fields[i])
	}
	if e.Input, err = t.tokens(fields, t.names.input); err != nil {
		return err
	}
	e.Output, err = t.tokens(fields, t.names.output)
	return err
}

func (t *table) tokens(fields []string, column string) (int, error) {
	text := fields[t.columns[column]]
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not an integer", column, text)
	}
	return n, nil
}
