package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// metadata is the table by its first column.
func metadata(run *Run) map[string]string {
	m := map[string]string{}
	for _, row := range run.metadataTable().rows {
		m[row[0].text] = row[1].text
	}
	return m
}

func TestMetadataWhereRowsAgree(t *testing.T) {
	run := fixtureRun()
	for i := range run.Rows {
		run.Rows[i].Sampling = map[string]any{"temperature": 0, "seed": 1}
		if run.Removed(run.Rows[i].ID) {
			run.Rows[i].Clock.Stamps = "user" // has no say
		}
	}
	m := metadata(run)
	if m["token times"] != "kernel stamps" || m["sampling, as sent"] != `{"seed":1,"temperature":0}` {
		t.Errorf("%q, %q", m["token times"], m["sampling, as sent"])
	}
}

func TestMetadataWhereRowsDiffer(t *testing.T) {
	run := &Run{}
	for i := range 8 {
		row := record.Row{ID: fmt.Sprint("r", i), Clock: record.Clock{Stamps: "kernel"}, Sampling: map[string]any{"temperature": i}}
		if i == 7 {
			row.Clock.Stamps = "mixed"
		}
		run.Rows = append(run.Rows, row)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, State: "done"})
	}
	var got []string
	for _, row := range run.metadataTable().rows {
		if strings.Contains(row[0].text, "rows differ") {
			got = append(got, row[0].text+": "+row[1].text)
		}
	}
	want := []string{"token times (rows differ: 7 of 8): kernel stamps", "token times (rows differ: 1 of 8): mixed stamps"}
	for i := range differing {
		want = append(want, fmt.Sprintf(`sampling, as sent (rows differ: 1 of 8): {"temperature":%d}`, i))
	}
	want = append(want, "sampling, as sent (rows differ): 3 further values: see the rows' files")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The client's line is of the rows that were sampled, each figure that of the row with the most of it.
func TestMetadataOfTheClient(t *testing.T) {
	run := fixtureRun()
	for i := range run.Rows {
		run.Rows[i].Client = nil
	}
	if got, there := metadata(run)["client, at most in a row"]; there {
		t.Errorf("no row was sampled: %q", got)
	}
	run.Rows[0].Client = &telemetry.Usage{CPUMean: new(0.62), SchedP99: new(0.2), GCs: 3, GCPauses: 1.2, Files: new(1012)}
	run.Rows[1].Client = &telemetry.Usage{CPUMean: new(0.5), SchedP99: new(0.3), GCs: 9, GCPauses: 0.5}
	if got, want := metadata(run)["client, at most in a row"], "0.620 cores, sched p99 300 µs, GC 1.20 ms in 3 pauses, 1,012 fds"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What decides how far figures can be compared is shown, or said to be not stated.
func TestMetadataOfTarget(t *testing.T) {
	run := fixtureRun()
	run.Manifest.Target = record.TargetInfo{API: "chat", PromptForm: "text", Tokenizer: "by two probes", Connections: "one for each request"}
	m := metadata(run)
	for what, want := range map[string]string{
		"connections": "one for each request", "api, prompt form": "chat, text", "text prompts were sized by": "by two probes",
		"SIMULATED": "what it simulates is not stated", // the rows say so where the target does not
	} {
		if m[what] != want {
			t.Errorf("%s: %q, want %q", what, m[what], want)
		}
	}
	run.Manifest.Target = record.TargetInfo{}
	m = metadata(run)
	if m["connections"] != "not stated" || m["api, prompt form"] != "not stated, not stated" {
		t.Errorf("%q, %q", m["connections"], m["api, prompt form"])
	}
}

func TestConnectionsFindingIsShown(t *testing.T) {
	run := fixtureRun()
	run.Rows[0].Findings = []record.Finding{{Code: "connections", Text: "40 of 40 requests opened a connection", Hint: "compare only with runs that connect as often"}}
	var md, text bytes.Buffer
	if err := Markdown(&md, run); err != nil {
		t.Fatal(err)
	}
	if err := Text(&text, run, false); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"HTML": string(page1(t, run)), "Markdown": md.String(), "text": text.String()} {
		for _, want := range []string{"connections", "40 of 40 requests opened a connection", "compare only with runs that connect as often"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}
