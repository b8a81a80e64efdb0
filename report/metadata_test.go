package report

import (
	"fmt"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// metadata is the table by its first column.
func metadata(run *Run) map[string]string {
	m := map[string]string{}
	for _, row := range metadataTable(run, new(run.Analyze())).Rows {
		m[row[0].Text] = row[1].Text
	}
	return m
}

func TestMetadataWhereRowsAgree(t *testing.T) {
	run := fixtureRun()
	for i := range run.Rows {
		run.Rows[i].Sampling = map[string]any{"temperature": 0, "seed": 1}
		if run.removed(run.Rows[i].ID) {
			run.Rows[i].Clock.Stamps = "user" // has no say
		}
	}
	m := metadata(run)
	if m["timestamps"] != "kernel" || m["sampling, as sent"] != `{"seed":1,"temperature":0}` {
		t.Errorf("%q, %q", m["timestamps"], m["sampling, as sent"])
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
	for _, row := range metadataTable(run, new(run.Analyze())).Rows {
		if strings.Contains(row[0].Text, "rows differ") {
			got = append(got, row[0].Text+": "+row[1].Text)
		}
	}
	want := []string{"timestamps (rows differ: 7 of 8): kernel", "timestamps (rows differ: 1 of 8): mixed"}
	for i := range maxValues {
		want = append(want, fmt.Sprintf(`sampling, as sent (rows differ: 1 of 8): {"temperature":%d}`, i))
	}
	want = append(want, "sampling, as sent (rows differ): 3 more values: see <row>.json")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The load of the client is shown for each row that was sampled.
func TestClientTable(t *testing.T) {
	run := fixtureRun()
	run.Rows[0].Client = &telemetry.Usage{CPUMean: new(0.62), SchedP99: new(0.2)}
	run.Rows[1].Client = nil
	for i, want := range []string{"– 0.200 0 kernel", "– – 0 kernel"} {
		var got []string
		for _, c := range clientTable(run).Rows[i][3:7] {
			if c.Tag != "" {
				c.Text += " (" + c.Tag + ")"
			}
			got = append(got, c.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
}

// What decides how far figures can be compared is shown, or said to be not specified.
func TestMetadataOfTarget(t *testing.T) {
	run := fixtureRun()
	run.Manifest.Target = record.TargetInfo{API: "chat", PromptForm: "text", Tokenizer: "by two probes", Connections: "one for each request"}
	m := metadata(run)
	for what, want := range map[string]string{
		"connections": "one for each request", "api, prompt form": "chat, text", "tokenizer of text prompts": "by two probes",
		"SIMULATED": "simulated server not specified", // the rows say so where the target does not
	} {
		if m[what] != want {
			t.Errorf("%s: %q, want %q", what, m[what], want)
		}
	}
	run.Manifest.Target = record.TargetInfo{}
	m = metadata(run)
	if m["connections"] != "not specified" || m["api, prompt form"] != "not specified, not known" {
		t.Errorf("%q, %q", m["connections"], m["api, prompt form"])
	}
}
