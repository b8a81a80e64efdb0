package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Columns that the CSV formats need; other columns are ignored.
var (
	azureColumns = []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}
	burstColumns = []string{"Timestamp", "Request tokens", "Response tokens"}
)

const (
	burstModel   = "Model"
	burstSession = "Session ID"
)

// table reads a CSV file by column names.
type table struct {
	lines   *lines
	columns map[string]int
	width   int
}

func newTable(l *lines, header []byte, needed []string) (*table, error) {
	names, err := cells(string(header))
	if err != nil {
		return nil, err
	}
	t := &table{lines: l, columns: map[string]int{}, width: len(names)}
	for i, name := range names {
		t.columns[name] = i
	}
	for _, name := range needed {
		if _, ok := t.columns[name]; !ok {
			return nil, fmt.Errorf("no column %q in the header\nhint: the first line must contain the column names %s", name, strings.Join(needed, ","))
		}
	}
	return t, nil
}

// cells splits a line. A line without quotes, as nearly all are, is split at its commas.
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

func (t *table) at() int { return t.lines.line }

// next returns the fields of the next row, and sets e.Line.
func (t *table) next(e *Entry) ([]string, error) {
	line, err := t.lines.next()
	if err != nil {
		return nil, err
	}
	e.Line = t.lines.line
	fields, err := cells(string(line))
	if err == nil && len(fields) != t.width {
		err = fmt.Errorf("%d columns, the header has %d", len(fields), t.width)
	}
	return fields, err
}

func (t *table) tokens(fields []string, column string) (int, error) {
	text := fields[t.columns[column]]
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not an integer", column, text)
	}
	return n, nil
}

func (t *table) lengths(e *Entry, fields, columns []string) (err error) {
	if e.Input, err = t.tokens(fields, columns[1]); err != nil {
		return err
	}
	e.Output, err = t.tokens(fields, columns[2])
	return err
}

// azure reads the traces published by Azure: dates, with seven digits of the second in 2023 and a zone in
// 2024.
type azure struct{ *table }

func newAzure(l *lines, header []byte, o Options) (*azure, error) {
	if o.TimeUnit != "" {
		return nil, errors.New("time_unit does not apply to the azure format, which has dates\nhint: remove time_unit")
	}
	t, err := newTable(l, header, azureColumns)
	return &azure{t}, err
}

func (a *azure) info() Info { return Info{Format: Azure, Timed: true} }

func (a *azure) next(e *Entry) error {
	fields, err := a.table.next(e)
	if err != nil {
		return err
	}
	if e.At, err = parseDate(fields[a.columns[azureColumns[0]]]); err != nil {
		return err
	}
	return a.lengths(e, fields, azureColumns)
}

// burst reads BurstGPT. Older files have neither sessions nor elapsed times.
type burst struct {
	*table
	clock    clock
	sessions sessions
}

func newBurstGPT(l *lines, header []byte, o Options) (*burst, error) {
	t, err := newTable(l, header, burstColumns)
	return &burst{table: t, clock: o.clock(time.Second)}, err
}

func (b *burst) info() Info { return Info{Format: BurstGPT, Timed: true} }

func (b *burst) next(e *Entry) error {
	fields, err := b.table.next(e)
	if err != nil {
		return err
	}
	if e.At, err = b.clock.parse(fields[b.columns[burstColumns[0]]]); err != nil {
		return err
	}
	if i, ok := b.columns[burstModel]; ok {
		e.Class = fields[i]
	}
	if i, ok := b.columns[burstSession]; ok && fields[i] != "" {
		e.Session, e.Turn = b.sessions.next(fields[i])
	}
	return b.lengths(e, fields, burstColumns)
}
