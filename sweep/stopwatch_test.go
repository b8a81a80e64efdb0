package sweep

import (
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stopwatch{since: time.Now().Add(-3 * time.Second)} // reached the server
		spend := func(s float64, part *float64) {
			time.Sleep(time.Duration(s * 1e9))
			w.lap(part)
		}
		spend(1, &w.spent.PrepareS)
		spend(0.5, &w.spent.OwnS)
		time.Sleep(10 * time.Second)
		w.rowLap(&record.TimeSplit{WarmupS: 2, WindowS: 6, DrainS: 1.9, TotalS: 9.9}, false)
		spend(0.25, &w.spent.OwnS)
		spend(4, &w.spent.LostS)
		want := record.TimeSplit{PrepareS: 4, WarmupS: 2, WindowS: 6, DrainS: 1.9, LostS: 4, OwnS: 0.85, TotalS: 18.75}
		if diff := cmp.Diff(want, w.spent); diff != "" || w.lastRow != 14.5 {
			t.Errorf("last row %v s: %s", w.lastRow, diff)
		}
	})
}

// sums holds that the parts of an attempt's time sum to its total, and those of its rows to the attempt's.
func sums(t *testing.T, a *record.Attempt, dir string, rows ...string) {
	t.Helper()
	if a.Time == nil {
		t.Fatal("no time")
	}
	parts, ofRows := 0.0, &record.TimeSplit{}
	for _, p := range a.Time.Parts() {
		parts += p.Seconds
	}
	for _, id := range rows {
		row, ok := directory{path: dir}.row(id)
		if !ok {
			t.Fatal(id)
		}
		ofRows.Add(row.Time)
	}
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-5 }
	if !near(parts, a.Time.TotalS) || !near(a.Time.WindowS, ofRows.WindowS) || !near(a.Time.WarmupS, ofRows.WarmupS) || !near(a.Time.DrainS, ofRows.DrainS) ||
		!near(a.Time.SettleS, ofRows.SettleS) || a.Time.OwnS < ofRows.OwnS || a.Time.PrepareS <= ofRows.PrepareS {
		t.Errorf("parts %v: %+v; rows: %+v", parts, a.Time, ofRows)
	}
	if most := a.EndedAt.Sub(a.StartedAt).Seconds(); !(a.LastRowS > 0 && a.LastRowS <= a.Time.TotalS && a.Time.TotalS > most-0.1) {
		t.Errorf("last row at %v s of %v s, by the clock %v s", a.LastRowS, a.Time.TotalS, most)
	}
}

func TestTimeOfAttempts(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	text := tiny + "[[row]]\nname = \"c\"\nrate = 100\nrequests = 40\n"
	ctx, event := interrupt(t.Context(), "c-r1")
	result, err := sweepTo(t, ctx, base, text, Options{Out: t.TempDir(), Event: event})
	if !endpoint.Interrupted(err) {
		t.Fatalf("got %v", err)
	}
	complete(t, base, text, Options{Resume: result.Dir})
	m := manifestOf(t, result.Dir)
	if len(m.Attempts) != 2 || m.Attempts[0].Time.LostS == 0 || m.Attempts[1].Time.LostS != 0 {
		t.Fatalf("%+v", m.Attempts)
	}
	sums(t, &m.Attempts[0], result.Dir, "a-r1", "b-r1")
	sums(t, &m.Attempts[1], result.Dir, "c-r1")
}

// TestTimeOfCutRow: of a killed attempt the records that it had written count, whole or not.
func TestTimeOfCutRow(t *testing.T) {
	var records []*record.Record
	for i := range int64(600) { // more than are flushed at a time
		records = append(records, fixture.OKRequest(0, 1e6, 2e6+i*1e4))
	}
	file := fixture.Encode(t, records)
	const name = "c-r1" + record.RequestsSuffix + partial
	killed := record.Attempt{StartedAt: time.Now().Add(-time.Minute), Time: &record.TimeSplit{WindowS: 10, TotalS: 10}}
	interrupted := killed
	interrupted.Ended = "interrupted"
	older := killed
	older.Time = nil
	later := killed
	later.StartedAt = time.Now().Add(time.Minute)
	for _, tt := range []struct {
		name    string
		attempt record.Attempt
		content []byte
		lost    float64
	}{
		{"killed after the last record", killed, file, 7.99},
		{"killed before it was flushed", killed, file[:len(file)-2], 6.99},
		{"nothing written", killed, nil, 0},
		{"interrupted: counted already", interrupted, file, 0},
		{"file of the attempt before", later, file, 0},
		{"without its time", older, file, 0},
	} {
		d := directory{path: t.TempDir()}
		if err := os.WriteFile(d.file(name), tt.content, 0o600); err != nil {
			t.Fatal(err)
		}
		before := []record.Attempt{tt.attempt}
		got := d.countCut(before)[0].Time
		if tt.attempt.Time == nil {
			if got != nil {
				t.Errorf("%s: %+v", tt.name, got)
			}
			continue
		}
		if got.LostS != tt.lost || got.TotalS != record.RoundSeconds(10+tt.lost) || before[0].Time.LostS != 0 {
			t.Errorf("%s: %+v, want %v s lost", tt.name, got, tt.lost)
		}
	}
}
