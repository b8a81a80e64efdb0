package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/sweep/matrix"
)

// TestAnotherModelUnderTheSameName: a resume refuses it, says what differs, and changes nothing. A restart of the same
// server is accepted, and what the kept rows were measured on stays.
func TestAnotherModelUnderTheSameName(t *testing.T) {
	base, stop := startMock(t, mock.Config{Root: "/models/a"})
	at := strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1")
	result := complete(t, base, tiny, Options{Out: t.TempDir()})
	d := directory{path: result.Dir}
	if err := d.setAside("away", func(id string) bool { return id == "b-r1" }); err != nil {
		t.Fatal(err)
	}
	before := files(t, result.Dir)
	stop()

	_, stop = startMockAt(t, at, mock.Config{Root: "/models/b", Vocab: 31500})
	_, err := sweepTo(t, t.Context(), base, tiny, Options{Resume: result.Dir})
	if changed := new(ServerChangedError); !errors.As(err, &changed) || len(changed.changes) != 2 {
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
	if jsonOf(t, m.Target) != jsonOf(t, *m.Attempts[0].Target) || jsonOf(t, m.Target) == jsonOf(t, *m.Attempts[1].Target) {
		t.Error("the target is not the one of the kept row")
	}
	for id, attempt := range map[string]int{"a-r1": 1, "b-r1": 2} {
		if row, ok := d.row(id); !ok || row.Server.Attempt != attempt {
			t.Errorf("%s is of attempt %d", id, row.Server.Attempt)
		}
	}
}

// TestAnotherServerBesideTheFirst: a resume refuses another model on a further replica and on the endpoint of a class.
func TestAnotherServerBesideTheFirst(t *testing.T) {
	first, _ := startMock(t, mock.Config{})
	other, stop := startMock(t, mock.Config{})
	at := strings.TrimSuffix(strings.TrimPrefix(other, "http://"), "/v1")
	replicas := fmt.Sprintf("[target]\nreplicas = [%q, %q]\n", first, other)
	class := fmt.Sprintf(`name = "classes"
[[row]]
name = "b"
concurrency = 2
requests = 6
[[row.mix]]
name = "x"
weight = 1
input = 16
output = 4
endpoint = %q
[[row.mix]]
name = "y"
weight = 1
input = 16
output = 4
`, other)
	matrices := map[string]string{"replica 1": tiny + replicas, "endpoint " + at: class}
	dirs := map[string]string{}
	for name, text := range matrices {
		dirs[name] = completeAll(t, first, text, Options{Out: t.TempDir()}).Dir
		completeAll(t, first, text, Options{Resume: dirs[name]}) // it is the same
	}
	stop()
	startMockAt(t, at, mock.Config{Vocab: 31500})
	for name, text := range matrices {
		m := mustParse(t, text)
		_, err := Run(t.Context(), m, Options{Resume: dirs[name], Server: reachAll(t, first, m)})
		if want := "\n  " + name + " meta.n_vocab: 32000 → 31500\n"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// completeAll is complete on a server and the others that the matrix names.
func completeAll(t *testing.T, base, text string, o Options) *Result {
	t.Helper()
	m := mustParse(t, text)
	o.Server = reachAll(t, base, m)
	result, err := Run(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func reachAll(t *testing.T, base string, m *matrix.Matrix) *endpoint.Server {
	t.Helper()
	s := reach(t, base, m)
	if err := s.ReachOthers(t.Context(), m.Points); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRoutingIsPartOfAPoint: rows under another routing are measured again. Targets without it keep their hashes.
func TestRoutingIsPartOfAPoint(t *testing.T) {
	hash := func(set func(*experiment.Target)) string {
		m := mustParse(t, tiny)
		set(&m.Target)
		return (&results{m: m}).hash(&m.Points[0])
	}
	urls := []string{"http://a:8000", "http://b:8000", "http://c:8000"}
	one := hash(func(*experiment.Target) {})
	two := hash(func(t *experiment.Target) { t.Replicas = urls[:2] })
	distinct := map[string]bool{one: true, two: true}
	for _, set := range []func(*experiment.Target){
		func(t *experiment.Target) { t.Replicas = urls },
		func(t *experiment.Target) { t.Replicas, t.Routing = urls[:2], experiment.Sticky },
		func(t *experiment.Target) { t.SessionHeader = "off" },
		func(t *experiment.Target) { t.Traceparent = true },
	} {
		distinct[hash(set)] = true
	}
	if len(distinct) != 6 {
		t.Errorf("%d hashes of 6 targets", len(distinct))
	}
	if hash(func(t *experiment.Target) { t.Replicas, t.Routing = urls[:2], experiment.RoundRobin }) != two {
		t.Error("the default routing has another hash than the key")
	}
	if got := routingOf(experiment.Target{}); got != nil {
		t.Errorf("one server has %v in its hash", got)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
