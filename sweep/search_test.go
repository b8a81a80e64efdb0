package sweep

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/sweep/matrix"
)

// hunt looks for the number of slots up to which no request is refused.
const hunt = `name = "hunt"
[slo]
error_rate = 0
[defaults]
input = 16
output = 24
requests = 40
[[row]]
name = "s"
concurrency = { search = "slo", min = 2, max = 16, tolerance = "25%" }
`

// nine is a server that refuses every second request of a row with more slots than that, and the function
// that it learns of rows by: what is found does not depend on how busy this machine is.
func nine(t *testing.T) (base string, begun func(Event)) {
	t.Helper()
	var slots, asked atomic.Int64
	behind, _ := startMock(t, mock.Config{})
	base = refusing(t, behind, func() bool { return asked.Add(1)%2 == 0 && slots.Load() > 9 })
	return base, func(e Event) {
		if e.Begun != nil {
			slots.Store(int64(e.Begun.Spec.Concurrency))
		}
	}
}

var hunted = []string{"6-r1", "12-r1", "8-r1"}

// loads are those of the rows that a run's plan has, with their repeats.
func loads(m record.Manifest) []string {
	var out []string
	for _, p := range m.Plan {
		out = append(out, p.ID)
	}
	return trimmed(out)
}

func trimmed(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = strings.TrimPrefix(id, "s,concurrency=")
	}
	return out
}

// TestSearch holds that every probe is a row with its own files, in the plan before it runs, and that the
// answer is in the manifest; and that a resume takes what is there.
func TestSearch(t *testing.T) {
	base, begun := nine(t)
	var events []string
	var found []record.Found
	out := t.TempDir()
	event := func(e Event) {
		begun(e)
		if e.Found != nil {
			found = append(found, *e.Found)
			return
		}
		if e.Begun != nil {
			dir := files(t, onlyDir(t, out))["run.json"]
			if !strings.Contains(dir, e.Begun.ID) {
				t.Errorf("%s is run, and not in the plan", e.Begun.ID)
			}
		}
		log(&events)(e)
	}
	result := complete(t, base, hunt, Options{Out: out, Event: event})
	m := manifestOf(t, result.Dir)
	if len(m.Searches) != 1 || len(found) != 1 || m.Searches[0].State != "found" || m.State != "done" {
		t.Fatalf("%s: %+v", m.State, m.Searches)
	}
	f := m.Searches[0]
	t.Log(f.Text)
	if *f.Low > 9 || *f.High < 10 || *f.High > *f.Low*1.25 || f.Probes != len(m.Plan) || f.Text != found[0].Text {
		t.Errorf("%+v", f)
	}
	// A busy machine can disturb a probe so that it has no answer: the search then repeats one of the ends.
	all := loads(m)
	if diff := cmp.Diff(hunted, all[:min(len(hunted), len(all))]); diff != "" {
		t.Error(diff)
	}
	for _, extra := range all[len(hunted):] {
		if extra != "9-r1" && extra != "10-r1" && extra != "8-r2" && extra != "10-r2" {
			t.Errorf("%s was probed: %v", extra, all)
		}
	}
	for _, p := range m.Plan {
		row, ok := directory{path: result.Dir}.row(p.ID)
		if !ok || p.State != "done" || row.Spec.Search == nil || row.SpecHash != p.SpecHash {
			t.Errorf("%+v: %v", p, ok)
		}
	}

	events, found = nil, nil
	again := complete(t, base, hunt, Options{Resume: result.Dir, Event: event})
	if slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "begun") }) || len(events) != 1+len(m.Plan) {
		t.Errorf("a search that is over went on: %q", events)
	}
	if diff := cmp.Diff(m.Searches, manifestOf(t, again.Dir).Searches); diff != "" {
		t.Error(diff)
	}
}

func onlyDir(t *testing.T, out string) string {
	t.Helper()
	runs := names(t, out+"/hunt")
	if len(runs) != 1 {
		t.Fatalf("runs: %v", runs)
	}
	return out + "/hunt/" + strings.TrimSuffix(runs[0], "/")
}

// A search that was cut goes on with the probe that was cut; and one whose range changes takes the probes
// that are there.
func TestSearchResume(t *testing.T) {
	base, tell := nine(t)
	ctx, event := interrupt(t.Context(), "s,concurrency=12-r1")
	result, err := sweepTo(t, ctx, base, hunt, Options{Out: t.TempDir(), Event: func(e Event) { tell(e); event(e) }})
	if !endpoint.Interrupted(err) {
		t.Fatal(err)
	}
	m := manifestOf(t, result.Dir)
	if got := states(m); got != "s,concurrency=6-r1 done, s,concurrency=12-r1 planned" || m.Searches[0].State != "searching" {
		t.Fatalf("%s, %+v", got, m.Searches)
	}
	before := files(t, result.Dir)
	resume := func(old, new string) (record.Manifest, []string) {
		var begun []string
		again := complete(t, base, strings.Replace(hunt, old, new, 1), Options{Resume: result.Dir, Event: func(e Event) {
			if tell(e); e.Begun != nil {
				begun = append(begun, e.Begun.ID)
			}
		}})
		return again.Manifest, trimmed(begun)
	}
	wide, begun := resume("min = 2, max = 16", "min = 1, max = 32") // nobody asks at 1, below what passes
	if diff := cmp.Diff([]string{"12-r1", "8-r1", "10-r1"}, begun); diff != "" {
		t.Error(diff)
	}
	if f := wide.Searches[0]; f.State != "found" || f.Search.Max != 32 {
		t.Errorf("%+v", f)
	}
	for _, id := range []string{"s,concurrency=6-r1"} {
		if before[id+".json"] != files(t, result.Dir)[id+".json"] {
			t.Errorf("%s was touched", id)
		}
	}
	narrow, begun := resume("min = 2, max = 16", "min = 8, max = 16")
	if got := states(narrow); len(begun) > 0 || !strings.Contains(got, "s,concurrency=6-r1 removed") || strings.Contains(got, "planned") {
		t.Errorf("%v: %s", begun, got)
	}
	// Another SLO measures all anew.
	if _, begun := resume("error_rate = 0", "error_rate = 1"); !slices.Equal(begun, []string{"6-r1", "12-r1", "16-r1"}) {
		t.Errorf("begun %v", begun)
	}
}

// Each variant, and each value of another axis, has a search of its own.
func TestSearchOfVariants(t *testing.T) {
	a, _ := startMock(t, mock.Config{})
	b, _ := startMock(t, mock.Config{Model: "b"})
	text := strings.Replace(hunt, "[slo]", fmt.Sprintf("[target]\nendpoints = [%q, %q]\n[slo]", a, b), 1)
	text = strings.NewReplacer("min = 2, max = 16", "min = 1, max = 2", "error_rate = 0", "error_rate = 1", "output = 24", "output = [4, 8]", "requests = 40", "requests = 10").Replace(text)
	result, err := sweepVariants(t, text, Options{Out: t.TempDir(), Only: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	m := result.Manifest
	if len(m.Searches) != 4 || len(m.Plan) != 4*2 || len(m.Servers) != 2 {
		t.Fatalf("%d searches, %d rows, %d servers: %s", len(m.Searches), len(m.Plan), len(m.Servers), states(m))
	}
	for _, f := range m.Searches {
		if f.State != "above" || f.Variant == "" || len(f.Others) != 2 {
			t.Errorf("%+v", f)
		}
	}
	// The server of a search without an end is begun with.
	d := directory{path: result.Dir}
	cut := m.Plan[len(m.Plan)-1].ID
	if err := os.Remove(d.file(cut + ".json")); err != nil {
		t.Fatal(err)
	}
	again, err := sweepVariants(t, text, Options{Resume: result.Dir})
	if err != nil || len(again.Manifest.Servers) != 3 || again.Manifest.Servers[2].Variant != m.Servers[1].Variant || states(again.Manifest) != states(m) {
		t.Errorf("%v, %+v\n%s", err, again.Manifest.Servers, states(again.Manifest))
	}
}

// A search stands in the matrix as its first probe, and is held to this machine's limits at its highest load.
func TestSearchStandsForItsProbes(t *testing.T) {
	m := mustParse(t, strings.Replace(hunt, "requests = 40", "requests = 40\nrepeats = 3", 1))
	if len(m.Points) != 1 || matrix.ID(&m.Points[0]) != "s,concurrency=6-r1" {
		t.Fatalf("%+v", m.Points)
	}
	if k := m.Points[0].Search; k.Tolerance != 0.25 || k.Axis != "concurrency" {
		t.Errorf("%+v", k)
	}
	base, _ := startMock(t, mock.Config{})
	if _, err := sweepTo(t, t.Context(), base, strings.Replace(hunt, "max = 16", "max = 65535", 1), Options{Out: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "s concurrency=65535 needs") {
		t.Errorf("got %v", err)
	}
}
