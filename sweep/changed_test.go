package sweep

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/mock"
	"bench/experiment/record"
)

// What differs between two versions of a point is named by the keys of the row, and a file by its name.
func TestChanges(t *testing.T) {
	const row = `name = "m"
[slo]
ttft_p95 = "100ms"
[[row]]
name = "a"
concurrency = 1
requests = 4
[[row.mix]]
name = "chat"
weight = 1
input = 16
output = { dist = "uniform", min = 2, max = 4 }
`
	was := mustParse(t, row)
	is := mustParse(t, strings.NewReplacer(`ttft_p95 = "100ms"`, "ttft_p95 = \"1.5s\"\n[slo.each]\ne2e = \"2s\"", "max = 4", "max = 8", "requests = 4", "requests = 5\nexpect = \"more\"").Replace(row))
	want := []string{"mix.chat.output.max: 4 → 8", "requests: 4 → 5", "slo.each.e2e: none → 2 s", "slo.ttft_p95: 100 ms → 1.5 s"}
	if diff := cmp.Diff(want, changes(specFacts(&was.Points[0]), specFacts(&is.Points[0]))); diff != "" {
		t.Error(diff)
	}
	file := func(sum, prompts string) map[string]string {
		return map[string]string{"prompts.file": "p.jsonl", "prompts.sha256": sum, "prompts.head.prompts": prompts, "seed": sum}
	}
	want = []string{"prompts.head.prompts: 61 → 62", "prompts.file: the content of p.jsonl differs", "seed: 1 → 2"}
	if diff := cmp.Diff(want, changes(file("1", "61"), file("2", "62"))); diff != "" {
		t.Error(diff)
	}
	unknown := map[string]string{"prompts.file": "p.jsonl"}
	known := map[string]string{"prompts.file": "p.jsonl", "prompts.sha256": "1"}
	if got := append(changes(unknown, known), changes(known, unknown)...); len(got) > 0 {
		t.Errorf("of a sum that one side lacks: %q", got)
	}
}

// A resumed run says what of [target] made it measure rows again.
func TestChangedTarget(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	first := complete(t, base, tiny, Options{Out: t.TempDir()})
	var lines []string
	o := Options{Resume: first.Dir, Event: func(e Event) {
		if e.Started != nil {
			lines = e.Started.Changed.Lines()
		}
	}}
	complete(t, base, strings.Replace(tiny, "[defaults]", "[target.extra_body]\ntemperature = 0.5\n[defaults]", 1), o)
	want := []string{"measured again: 2 of 2 finished rows; the old results move to replaced-1:", "  target.extra_body.temperature: none → 0.5 (a, b)"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if row, ok := (directory{path: first.Dir + "/replaced-1"}).row("a-r1"); !ok || row.Schema != record.SchemaRow {
		t.Errorf("set aside: %v", ok)
	}
}
