package foreign

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	"bench/live/recording"
	"bench/report"
	"bench/report/shadow"
)

const liveRow = "live"

// headSize is in bytes: in so many a recording is recognized.
const headSize = 64 << 10

var liveDefinitions = map[string]string{
	"ttft":           "from the arrival of the request at the proxy",
	"e2e":            "from the arrival of the request at the proxy",
	"session_time":   "recognised conversations: it contains what their users did between requests",
	"requests_per_s": "from the arrival of the first request to the end of the last",
}

// Recording makes a run with one row of live traffic. It is safe for concurrent use.
type Recording struct {
	Shadow shadow.Pairs // knows when the comparison is decided

	name string
	most int // requests that are kept; 0 = all

	mu      sync.Mutex
	records []*record.Record
	dropped int
	blocked int // callers who delayed the reading of their answer
}

// NewRecording keeps at least the latest `most` requests, at most twice as many; 0 = all.
func NewRecording(name string, h recording.Header, most int) *Recording {
	v := &Recording{name: name, most: most}
	v.Shadow.Header = h
	return v
}

// Add takes a request, in order of ends. It keeps nothing of x.
func (v *Recording) Add(x *recording.Exchange) {
	v.Shadow.Add(x)
	if x.Request.Outcome == "" { // its answer could not be read: neither completed nor failed
		return
	}
	r := x.Request
	r.Phase, r.Model, r.PromptRequested = record.PhaseWindow, x.Class, x.Input
	if x.Session > 0 {
		r.Session, r.Turn = new(x.Session-1), new(max(0, x.Turn-1))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	// A slow caller takes no bytes for a hundredth of the answer's time, and for 10 ms.
	if x.BlockedUs >= max(10_000, (x.Request.End.Us()-x.Request.Sent.Us())/100) {
		v.blocked++
	}
	v.records = append(v.records, &r)
	if v.most > 0 && len(v.records) > 2*v.most {
		n := len(v.records) - v.most
		v.dropped += n
		v.records = append(make([]*record.Record, 0, 2*v.most+1), v.records[n:]...)
	}
}

// Run is the run of what was added so far. Its rows are new; its records are not to be changed.
func (v *Recording) Run(c recording.Counts) *report.Run {
	v.mu.Lock()
	records, dropped, blocked := slices.Clone(v.records), v.dropped, v.blocked
	v.mu.Unlock()
	slices.SortStableFunc(records, func(a, b *record.Record) int { return cmp.Compare(a.Arrival.Us(), b.Arrival.Us()) })
	countTurns(records)
	row := v.row(records)
	var t experiment.Target // a recording does not have it
	row = verdict.Again(row, records, t, record.NewRooflineSource(nil, roofline.Hardware{}, "", t))
	row.Findings = append(row.Findings, liveFindings(c, dropped, blocked)...)
	if v.most == 0 && c.EndedAt == nil {
		row.Findings = append(row.Findings, record.Finding{Code: "recording", Severity: record.Caution,
			Text: "the file is cut: the recording goes on, its process was killed, or its disk was full",
			Hint: "the figures are of the requests before"})
	}
	record.SortFindings(row.Findings)
	run := &report.Run{Dir: v.name, Run: record.Run{Rows: []record.Row{*row}, Definitions: liveDefinitions,
		Manifest: v.manifest(row)}}
	run.Records = func(*record.Row) ([]*record.Record, error) { return records, nil }
	run.Shadow = v.Shadow.Compare(c)
	return run
}

// countTurns sets the number of turns in the record of each first turn, of which it makes a copy.
func countTurns(records []*record.Record) {
	turns := map[int]int{}
	for _, r := range records {
		if r.Session != nil {
			turns[*r.Session]++
		}
	}
	for i, r := range records {
		if r.Session != nil && *r.Turn == 0 {
			first := *r
			first.Turns = turns[*r.Session]
			records[i] = &first
		}
	}
}

// row is the row before it is evaluated. Its spec has nothing but the rate that arrived.
func (v *Recording) row(records []*record.Record) *record.Row {
	start := v.Shadow.Header.Recorded.StartedAt
	row := &record.Row{Schema: record.SchemaRow, ID: liveRow, Observed: true, Epoch: start,
		PromptForm: "as callers sent them", Window: windowOf(records), Findings: []record.Finding{}}
	row.StartedAt = start.Add(time.Duration(row.Window.StartUs) * time.Microsecond)
	row.EndedAt = start.Add(time.Duration(row.Window.EndUs) * time.Microsecond)
	row.Spec.Name, row.Spec.Repeat, row.Spec.Stop = liveRow, 1, "natural"
	if s := row.Window.Seconds(); s > 0 && len(records) > 0 {
		rate := float64(len(records)) / s
		step := math.Pow(10, math.Floor(math.Log10(rate))-2) // of its third digit
		row.Spec.Rate = workload.Rate(math.Round(rate/step) * step)
	}
	return row
}

// windowOf is from the arrival of the first request to the end of the last: the recorder may wait for traffic.
func windowOf(records []*record.Record) (w record.Window) {
	if len(records) > 0 {
		w.StartUs = records[0].Arrival.Us()
	}
	for _, r := range records {
		w.EndUs = max(w.EndUs, r.End.Us())
	}
	w.EndUs = max(w.EndUs, w.StartUs+1)
	return w
}

func (v *Recording) manifest(row *record.Row) record.Manifest {
	m := record.Manifest{Schema: record.SchemaRun, Run: v.name, Matrix: "live traffic", State: "done",
		StartedAt: row.StartedAt, EndedAt: row.EndedAt,
		Client:      record.ClientInfo{Version: v.Shadow.Header.Recorded.Bench},
		Plan:        []record.Planned{{ID: row.ID, Name: row.Spec.Name, State: "done"}},
		Unspecified: []string{"model", "hardware", "gpus", "precision"},
		Notes:       []string{"recorded by bench trace record: times are of the proxy's clock, beside the server"}}
	for _, metric := range []string{"ttft", "e2e", "session_time", "requests_per_s"} {
		m.Notes = append(m.Notes, metric+" is "+liveDefinitions[metric])
	}
	return m
}

func liveFindings(c recording.Counts, dropped, blocked int) (out []record.Finding) {
	for _, x := range []struct {
		n          int
		severity   record.Severity
		text, hint string // the text begins with the number
	}{
		{c.Unrecorded, record.Caution, fmt.Sprintf("of %d requests are not in the file: the disk was full or slow, so "+
			"busy times are missing first", c.Requests), "give the recording a faster or larger disk"},
		{c.Unreadable, record.Caution,
			"answers are not in the figures: their encoding is not read, or they are too large",
			"let the server answer without this encoding"},
		{c.Refused, record.Note, "requests were refused by the proxy: larger than 64 MiB, or a loop", ""},
		{c.Unreachable, record.Caution, "requests did not reach the server", "read the server's log"},
		{blocked, record.Note, "callers read slowly: their gaps and E2E contain the callers' delay", ""},
		{dropped, record.Note, "earlier requests are only in the file: the figures are of the latest",
			"bench report FILE has all of them"},
	} {
		if x.n > 0 {
			out = append(out, record.Finding{Code: "recording", Severity: x.severity,
				Text: fmt.Sprint(x.n, " ", x.text), Hint: x.hint})
		}
	}
	return out
}

func openRecording(files fs.FS, file, shown string) (*report.Run, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 || !recording.Is(head[:n]) {
		return nil, nil
	}
	v := NewRecording(shown, recording.Header{}, 0)
	h, c, err := recording.Read(io.MultiReader(bytes.NewReader(head[:n]), f), func(x *recording.Exchange) error {
		v.Add(x)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", shown, err)
	}
	v.Shadow.Header = h
	return v.Run(c), nil
}
