package sweep

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bench/experiment/mock"
	"bench/experiment/record"
)

// TestAnotherModelUnderTheSameName: a resume refuses it, says what differs, and changes nothing. A restart of the same
// server is accepted, and what the kept rows were measured on stays.
func TestAnotherModelUnderTheSameName(t *testing.T) {
	base, stop := startMock(t, mock.Config{Root: "/models/a"})
	at := strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1")
	result := complete(t, base, tiny, Options{Out: t.TempDir()})
	d := directory{result.Dir}
	if err := d.setAside("away", func(id string) bool { return id == "b-r1" }); err != nil {
		t.Fatal(err)
	}
	before := files(t, result.Dir)
	stop()

	_, stop = startMockAt(t, at, mock.Config{Root: "/models/b", Vocab: 31500})
	_, err := sweepTo(t, t.Context(), base, tiny, Options{Resume: result.Dir})
	if changed := new(ServerChangedError); !errors.As(err, &changed) || len(changed.Changes) != 2 {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"\n  meta.n_vocab: 32000 → 31500\n", "\n  root: /models/a → /models/b\n", "hint: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	for name, text := range before {
		if files(t, result.Dir)[name] != text {
			t.Errorf("a refused resume changed %s", name)
		}
	}
	stop()

	startMockAt(t, at, mock.Config{Root: "/models/a"})
	again := complete(t, base, tiny, Options{Resume: result.Dir})
	m := again.Manifest
	if len(m.Attempts) != 2 || m.Attempts[0].Target == nil || m.Attempts[1].Target == nil {
		t.Fatalf("%+v", m.Attempts)
	}
	if text(t, m.Target) != text(t, *m.Attempts[0].Target) || text(t, m.Target) == text(t, *m.Attempts[1].Target) {
		t.Error("the target is not the one of the kept row")
	}
	for id, attempt := range map[string]int{"a-r1": 1, "b-r1": 2} {
		if row, ok := d.row(id); !ok || row.Server.Attempt != attempt {
			t.Errorf("%s is of attempt %d", id, row.Server.Attempt)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestResumeOfEarlierVersion: its identity was of fewer facts, and its attempts and servers kept no target.
func TestResumeOfEarlierVersion(t *testing.T) {
	a, stop := startMock(t, mock.Config{Model: "a"})
	b, _ := startMock(t, mock.Config{Model: "b"})
	age := func(t *testing.T, dir string) {
		t.Helper()
		var m record.Manifest
		d := directory{dir}
		if err := d.readJSON(manifestFile, &m); err != nil {
			t.Fatal(err)
		}
		for i := range m.Attempts {
			m.Attempts[i].Target = nil
		}
		for i := range m.Servers {
			m.Servers[i].Identity, m.Servers[i].Target = m.Servers[i].Target.HashV1(), nil
		}
		m.Target.Identity, m.Target.PromptAPI = m.Target.HashV1(), ""
		if err := d.writeJSON(manifestFile, &m); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "b-r1.json")); err != nil && len(m.Servers) == 0 {
			t.Fatal(err)
		}
	}
	one := complete(t, a, tiny, Options{Out: t.TempDir()})
	age(t, one.Dir)
	complete(t, a, tiny, Options{Resume: one.Dir})

	two, err := sweepVariants(t, endpoints(a, b), Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	age(t, two.Dir)
	if _, err := sweepVariants(t, endpoints(a, b), Options{Resume: two.Dir}); err != nil {
		t.Error(err)
	}
	stop()
	startMockAt(t, strings.TrimSuffix(strings.TrimPrefix(a, "http://"), "/v1"), mock.Config{Model: "c"})
	age(t, one.Dir)
	for _, run := range []func() error{
		func() error { _, err := sweepTo(t, t.Context(), a, tiny, Options{Resume: one.Dir}); return err },
		func() error { _, err := sweepVariants(t, endpoints(a, b), Options{Resume: two.Dir}); return err },
	} {
		if changed := new(ServerChangedError); !errors.As(run(), &changed) {
			t.Errorf("a changed server: got %v", run())
		}
	}
}
