package report

import (
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/telemetry"
)

func TestWorkersTable(t *testing.T) {
	row := record.Row{ID: "chat-r1", Workers: []record.Worker{
		{Worker: 0, Host: "load-a", Concurrency: 3, Sent: 1200, MaxInFlight: 3, LagP99: new(0.21), TTFTP50: new(98.4), StartSkewUs: 140,
			Client: &telemetry.Usage{MachineBusy: new(0.31)}},
		{Worker: 1, Host: "load-b", Sent: 1199, MaxInFlight: 2, StartSkewUs: 210, StartLateUs: 350_000},
	}}
	run := &Run{Rows: []record.Row{row, {ID: "alone-r1"}}}
	for i := range run.Rows {
		run.Manifest.Rows = append(run.Manifest.Rows, record.PlannedRow{ID: run.Rows[i].ID})
	}
	table := run.workersTable()
	var lines []string
	for _, cells := range table.Rows {
		var texts []string
		for _, c := range cells {
			texts = append(texts, c.Text)
		}
		lines = append(lines, strings.Join(texts, " | "))
	}
	want := "chat-r1 | 0 load-a | 1,200 | 3 | 3 | 0.21 | 98.4 | 31 | ±0.14\nchat-r1 | 1 load-b | 1,199 | – | 2 | – | – | – | ±0.21, 350 late"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
