package report

import (
	"errors"
	"regexp"
	"slices"
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
	run := &Run{Run: record.Run{Rows: []record.Row{row, {ID: "alone-r1"}}}}
	for i := range run.Rows {
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: run.Rows[i].ID})
	}
	table := workersTable(run)
	var lines []string
	for _, cells := range table.Rows {
		var texts []string
		for _, c := range cells {
			texts = append(texts, c.Text)
		}
		lines = append(lines, strings.Join(texts, " | "))
	}
	want := "chat-r1 | 0 load-a | 1,200 | 3 | 3 | 0.210 | 98.4 | 31.0 | 0 | ±0.140\nchat-r1 | 1 load-b | 1,199 | – | 2 | – | – | – | 0 | ±0.210, 350 late"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A run by load workers has them in text, Markdown and metadata, and its leader is not called the client.
func TestWorkersShown(t *testing.T) {
	run := fixtureRun()
	for i := range run.Rows {
		run.Rows[i].Workers = []record.Worker{{Worker: 0, Host: "load-a", LagP99: new(0.21), TTFTP50: new(98.4), StartSkewUs: 140},
			{Worker: 1, Host: "load-b", LagP99: new(0.4), TTFTP50: new(351.0), StartSkewUs: 90}}
	}
	var text, md strings.Builder
	if err := errors.Join(Text(&text, run, Screen{Width: 120}), Markdown(&md, run)); err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{text.String(), md.String()} {
		if line := regexp.MustCompile(`1 load-b .*0\.400 .*351 .*±0\.0900`); !line.MatchString(shown) {
			t.Errorf("no line of the workers in\n%s", shown)
		}
	}
	if !strings.Contains(text.String(), "load workers: 2 on 2 hosts") || !strings.Contains(md.String(), "load workers: 2 on 2 hosts") {
		t.Error("the head does not name the load workers")
	}
	if rows := reproduceTable(run).Rows; !slices.ContainsFunc(rows, func(row []Cell) bool { return row[1].Text == "bench work --join URL" }) {
		t.Errorf("no command of a worker in %v", rows)
	}
	m := metadata(run)
	if m["load workers"] != "2 on 2 hosts" || m["leader"] == "" || m["client"] != "" || m["client machine"] != "" {
		t.Errorf("%q", m)
	}
	if rows := clientTable(run).Rows; len(rows) > 0 {
		t.Errorf("the leader is in the table of clients: %v", rows)
	}
	alone := fixtureRun()
	if m := metadata(alone); m["load workers"] != "" || m["client machine"] == "" {
		t.Errorf("without workers: %q", m)
	}
}
