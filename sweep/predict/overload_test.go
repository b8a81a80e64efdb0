package predict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// drained is a row of a server that carries 15.9 requests/s, under a limit of TTFT: the row, its records as JSON, and how
// many were sent behind the window.
func drained(t *testing.T, rate int, limit string) (row *record.Row, records []byte, behind int) {
	t.Helper()
	m, p, err := planned(t, fmt.Sprintf(head+`
[slo]
ttft_p95 = %q
[[row]]
name = "open"
input = 16
output = 36
rate = %d
arrival = "poisson"
warmup = "10s"
duration = "10s"
`, limit, rate))
	if err != nil {
		t.Fatal(err)
	}
	p.servers[""].config = mock.Config{StepBase: 20 * time.Millisecond, StepPerSeq: time.Millisecond / 2,
		MaxNumSeqs: 16, Queue: 10_000}
	dir, rows := carriedOut(t, m, p)
	row = rows["open"]
	f, err := os.Open(filepath.Join(dir, row.ID+".requests.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text bytes.Buffer
	err = record.ReadRecords(f, func(r *record.Record) error {
		if r.Phase == record.PhaseCooldown {
			behind++
		}
		return json.NewEncoder(&text).Encode(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	return row, text.Bytes(), behind
}

// The load of a row that the warm-up has overloaded ends soon after its window, of which nothing has ended: after the
// longest time that a request of the window can run beside one behind it. So no figure changes.
func TestOverloadOfTheWarmup(t *testing.T) {
	const longest = 0.98 // 35 steps of 28 ms
	for _, rate := range []int{40, 64} {
		on, _, runsOn := drained(t, rate, "1h")
		row, _, behind := drained(t, rate, "500ms")
		most := int(float64(rate) * longest * 2.5)
		if behind > most || behind < most/3 || runsOn < int(float64(rate)*row.Time.DrainS)*9/10 {
			t.Errorf("rate %d: %d behind the window, %d if the load runs on for %g s", rate, behind, runsOn, row.Time.DrainS)
		}
		if v := row.SLO[0]; v.Verdict != stats.Fail || !v.Overload {
			t.Errorf("rate %d: %s: %s", rate, v.Verdict, v.Why)
		}
		if a, b := figures(t, row), figures(t, on); a != b {
			t.Errorf("rate %d: figures\n%s\nif the load runs on\n%s", rate, a, b)
		}
	}
}

func figures(t *testing.T, row *record.Row) string {
	s := row.Summary
	s.Goodput = nil // counts what is within the limit
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s drain %g s", text, row.Time.DrainS)
}

// At nine tenths of what the server carries nothing changes, to the byte, also where the row misses its limit.
func TestOverloadBelow(t *testing.T) {
	_, on, runsOn := drained(t, 14, "1h")
	row, records, behind := drained(t, 14, "30ms")
	if behind == 0 || !bytes.Equal(records, on) || row.SLO[0].Verdict != stats.Fail || row.SLO[0].Overload {
		t.Errorf("%d behind the window, %d if the load runs on: %s %s", behind, runsOn, row.SLO[0].Verdict, row.SLO[0].Why)
	}
}
