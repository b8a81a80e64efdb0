package verdict

import (
	"encoding/json"
	"os"
	"testing"

	"bench/experiment/record"
)

// failedRequest is a request of the window that ended with a failing outcome 10 µs after it was sent.
func failedRequest(at int64, outcome string) *record.Record {
	sent := record.At(at)
	return &record.Record{Phase: record.PhaseWindow, Arrival: sent, Ready: sent, Sent: sent, End: record.At(at + 10),
		PromptRequested: 10,
		Outcome:         outcome, Error: outcome + " it was"}
}

// readJSONLines are the records of a file of plain JSON lines.
func readJSONLines(t testing.TB, name string) []*record.Record {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*record.Record
	for d := json.NewDecoder(f); d.More(); {
		var r record.Record
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s, record %d: %v", name, len(out)+1, err)
		}
		out = append(out, &r)
	}
	return out
}
