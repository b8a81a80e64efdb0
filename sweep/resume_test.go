package sweep

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
)

// interrupt cancels as soon as the row of an ID has some answers.
func interrupt(ctx context.Context, id string) (context.Context, func(Event)) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, func(e Event) {
		if e.Begun == nil || e.Begun.ID != id {
			return
		}
		go func() {
			for e.Begun.Progress.Done.Load() < 2 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
	}
}

func TestInterruptAndResume(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	text := tiny + "[[row]]\nname = \"c\"\nrate = 100\nrequests = 40\n[[row]]\nname = \"d\"\nconcurrency = 1\nrequests = 3\n"
	ctx, event := interrupt(t.Context(), "c-r1")
	result, err := sweepTo(t, ctx, base, text, Options{Out: t.TempDir(), Event: event})
	if !endpoint.Interrupted(err) || result == nil {
		t.Fatalf("got %v, %v", result, err)
	}
	m := manifestOf(t, result.Dir)
	if m.State != "interrupted" || states(m) != "a-r1 done, b-r1 done, c-r1 planned, d-r1 planned" || m.Attempts[0].Ended != "interrupted" {
		t.Errorf("%s: %s", m.State, states(m))
	}
	if diff := cmp.Diff(append(slices.Clone(tinyFiles[:7]), "c-r1.requests.jsonl.zst.partial", "c-r1.telemetry.jsonl.zst.partial", "run.json"), names(t, result.Dir)); diff != "" {
		t.Error(diff)
	}
	before := files(t, result.Dir)
	var events []string
	again := complete(t, base, text, Options{Resume: result.Dir, Event: log(&events)})
	if diff := cmp.Diff([]string{"started", "kept a-r1", "kept b-r1", "begun c-r1", "finished c-r1", "begun d-r1", "finished d-r1"}, events); diff != "" {
		t.Error(diff)
	}
	after := files(t, again.Dir)
	for _, name := range tinyFiles[:7] {
		if before[name] != after[name] {
			t.Errorf("%s was touched", name)
		}
	}
	if _, left := after["c-r1.requests.jsonl.zst.partial"]; left || again.Manifest.State != "done" || len(again.Manifest.Attempts) != 2 {
		t.Errorf("after the resume: %s", again.Manifest.State)
	}
	newSalt(t, m, again.Dir, "c-r1")
}

// newSalt holds that a row was sent with other prompts than in the first attempt.
func newSalt(t *testing.T, first record.Manifest, dir, id string) {
	t.Helper()
	row, ok := directory{path: dir}.row(id)
	if !ok || row.Salt == "" || row.Salt == saltOf(&first, id, 0) {
		t.Errorf("%s was redone with the prompts of the cut attempt: salt %q", id, row.Salt)
	}
}

func TestResumeAfterEdits(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	result := complete(t, base, tiny, Options{Out: t.TempDir()})
	before := files(t, result.Dir)
	edits := []struct {
		name, text string
		plan       string
		same       []string // files that keep their bytes
		events     []string
	}{
		{"what is only said is no change", tiny + "expect = \"little\"\n",
			"a-r1 done, b-r1 done", []string{"a-r1.json", "b-r1.json"}, []string{"started", "kept a-r1", "kept b-r1"}},
		{"a changed row runs anew", strings.Replace(tiny, "requests = 10", "requests = 11", 1),
			"a-r1 done, b-r1 done", []string{"a-r1.json", "a-r1.requests.jsonl.zst", "a-r1.telemetry.jsonl.zst"}, []string{"started", "kept a-r1", "begun b-r1", "finished b-r1"}},
		{"an added point runs, a point without values is removed", strings.Replace(tiny, "rate = 200", "rate = [200, 300]", 1),
			"a-r1 done, b,rate=200-r1 done, b,rate=300-r1 done, b-r1 removed", []string{"a-r1.json"},
			[]string{"started", "kept a-r1", "begun b,rate=200-r1", "finished b,rate=200-r1", "begun b,rate=300-r1", "finished b,rate=300-r1"}},
		{"a removed row stays", tiny[:strings.LastIndex(tiny, "[[row]]")],
			"a-r1 done, b,rate=200-r1 removed, b,rate=300-r1 removed, b-r1 removed", []string{"a-r1.json"}, []string{"started", "kept a-r1"}},
	}
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			var events []string
			result = complete(t, base, e.text, Options{Resume: result.Dir, Event: log(&events)})
			if got := states(manifestOf(t, result.Dir)); got != e.plan {
				t.Errorf("plan: %s", got)
			}
			if diff := cmp.Diff(e.events, events); diff != "" {
				t.Error(diff)
			}
			after := files(t, result.Dir)
			for _, name := range e.same {
				if before[name] != after[name] {
					t.Errorf("%s was touched", name)
				}
			}
		})
	}
}

func TestResumeRefused(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	empty := t.TempDir()
	result := complete(t, base, tiny, Options{Out: t.TempDir()})
	for _, tt := range []struct{ dir, text, want string }{
		{empty, tiny, "contains no run"},
		{filepath.Join(empty, "none"), tiny, "contains no run"},
		{result.Dir, strings.Replace(tiny, `"tiny"`, `"other"`, 1), "is a run of the matrix"},
	} {
		_, err := sweepTo(t, t.Context(), base, tt.text, Options{Resume: tt.dir})
		if refused := new(ResumeError); !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "hint:") {
			t.Errorf("%s: got %v", tt.want, err)
		}
	}
	if left := names(t, empty); len(left) != 0 {
		t.Errorf("a directory that is no run got %v", left)
	}
}

func TestServerChange(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	other, _ := startMock(t, mock.Config{Model: "another"})
	result := complete(t, base, tiny, Options{Out: t.TempDir()})
	before := files(t, result.Dir)

	var changed *ServerChangedError
	if _, err := sweepTo(t, t.Context(), other, tiny, Options{Resume: result.Dir}); !errors.As(err, &changed) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(before, files(t, result.Dir)); diff != "" {
		t.Errorf("a refused resume changed files:\n%s", diff)
	}
	// A redo that is cut must not leave rows of the first server to pass for the second's.
	ctx, event := interrupt(t.Context(), "a-r1")
	if _, err := sweepTo(t, ctx, other, tiny, Options{Resume: result.Dir, AcceptServerChange: true, Event: event}); !endpoint.Interrupted(err) {
		t.Fatalf("got %v", err)
	}
	var events []string
	again := complete(t, other, tiny, Options{Resume: result.Dir, Event: log(&events)})
	if diff := cmp.Diff([]string{"started", "begun a-r1", "finished a-r1", "begun b-r1", "finished b-r1"}, events); diff != "" {
		t.Error(diff)
	}
	if m := again.Manifest; m.Target.Model != "another" || states(m) != "a-r1 done, b-r1 done" {
		t.Errorf("%s: %s", m.Target.Model, states(m))
	}
	aside := filepath.Join(result.Dir, "server-"+changed.was+"-1")
	for name, text := range files(t, aside) {
		if before[name] != text {
			t.Errorf("%s set aside is not what it was", name)
		}
	}
	if n := len(files(t, aside)); n != 6 {
		t.Errorf("%d files set aside", n)
	}
}
