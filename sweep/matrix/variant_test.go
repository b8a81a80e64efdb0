package matrix

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/target"
)

// tiny are two rows of some 50 ms.
const tiny = `name = "tiny"
[defaults]
input = 16
output = 4
[[row]]
name = "a"
concurrency = 2
requests = 6
[[row]]
name = "b"
rate = 200
requests = 10
`

// knobby has two knobs of two values; its server is not started by these tests.
const knobby = `name = "k"
%s
[target]
endpoint = "http://127.0.0.1:1"
[server]
command = ["x", "{a}", "{b}"]
[server.knobs]
%s
b = [1, 2]
a = ["x", "y"]
[[row]]
name = "r"
input = 16
output = 4
concurrency = [1, 2]
requests = 5
repeats = 2
`

func order(m *Matrix) string {
	var out []string
	for i := range m.Points {
		out = append(out, ID(&m.Points[i]))
	}
	return strings.Join(out, " ")
}

func TestVariantOrder(t *testing.T) {
	m := mustParse(t, fmt.Sprintf(knobby, "", ""))
	want := "r,concurrency=1,b=1,a=x-r1 r,concurrency=2,b=1,a=x-r1 r,concurrency=1,b=1,a=x-r2 r,concurrency=2,b=1,a=x-r2 " +
		"r,concurrency=1,b=2,a=x-r1 r,concurrency=2,b=2,a=x-r1 r,concurrency=1,b=2,a=x-r2 r,concurrency=2,b=2,a=x-r2 " +
		"r,concurrency=1,b=1,a=y-r1 r,concurrency=2,b=1,a=y-r1 r,concurrency=1,b=1,a=y-r2 r,concurrency=2,b=1,a=y-r2"
	if diff := cmp.Diff(want, order(m)); diff != "" {
		t.Error(diff)
	}
	if n := m.Starts(); n != 3 {
		t.Errorf("%d starts", n)
	}
	if note := m.Attribution(); !strings.HasSuffix(note, ": b=2 a=x and b=1 a=y") {
		t.Errorf("note %q", note)
	}
	blocked := mustParse(t, fmt.Sprintf(knobby, `order = "blocked"`, ""))
	if n := blocked.Starts(); len(blocked.Points) != 12 || n < 5 || n > 6 { // once in each round; the last of one may be the first of the next
		t.Errorf("%d points, %d starts: %s", len(blocked.Points), n, order(blocked))
	}
	for i := range blocked.Points {
		if p := blocked.Points[i]; p.Repeat != 1+i/6 {
			t.Errorf("point %d is of round %d", i, p.Repeat)
		}
	}
	if again := mustParse(t, fmt.Sprintf(knobby, `order = "blocked"`, "")); order(again) != order(blocked) {
		t.Error("the order is another one each time")
	}
	if note := mustParse(t, tiny).Attribution(); note != "" {
		t.Errorf("one server: %q", note)
	}
}

func TestCheckWorkers(t *testing.T) {
	m := mustParse(t, tiny)
	if err := m.CheckWorkers(m.Points); err != nil {
		t.Error(err)
	}
	m.Target.Headers = map[string]string{"X-Env": "prod", http.CanonicalHeaderKey("x-api-key"): "k", "Cookie": "c"}
	m.Target.Replicas = []string{"http://a:8000", "http://b:8000?api_key=k"}
	m.Target.ExtraBody = map[string]any{"max_tokens": 3, "api_key": "k"}
	m.Points[0].Mix = append(m.Points[0].Mix, experiment.Spec{}.Classes()...)
	m.Points[0].Mix[0].Name, m.Points[0].Mix[0].Extra = "chat", map[string]any{"password": "p"}
	err := m.CheckWorkers(m.Points)
	if err == nil {
		t.Fatal("secrets were accepted")
	}
	for _, want := range []string{"[target.headers] Cookie", "[target.headers] X-Api-Key", "the endpoint " + target.Redact(m.Target.Replicas[1]), "[target.extra_body] api_key", "extra_body of chat password"} {
		if !strings.Contains(err.Error(), want+": ") {
			t.Errorf("%q is not in the error:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "X-Env") || strings.Contains(err.Error(), "max_tokens") {
		t.Errorf("too much is refused:\n%v", err)
	}
}
