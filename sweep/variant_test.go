package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/sweep/matrix"
)

// endpoints is tiny on several servers.
func endpoints(bases ...string) string {
	return strings.Replace(tiny, "[defaults]", fmt.Sprintf("[target]\nendpoints = [\"%s\"]\n[defaults]", strings.Join(bases, `", "`)), 1)
}

// sweepVariants runs a matrix that reaches its servers itself.
func sweepVariants(t *testing.T, text string, o Options) (*Result, error) {
	t.Helper()
	m := mustParse(t, text)
	o.Reach = func(ctx context.Context, v *matrix.Variant) (*endpoint.Server, record.RooflineSource, error) {
		s, err := endpoint.Reach(ctx, m.Target, v.Endpoint, "", experiment.APIs(m.Points, m.Target), nil)
		return s, record.RooflineSource{}, err
	}
	return Run(t.Context(), m, o)
}

func TestSeveralEndpoints(t *testing.T) {
	a, _ := startMock(t, mock.Config{Model: "a"})
	b, _ := startMock(t, mock.Config{Model: "b"})
	text := endpoints(a, b)
	var events []string
	result, err := sweepVariants(t, text, Options{Out: t.TempDir(), Event: log(&events)})
	if err != nil {
		t.Fatal(err)
	}
	m := result.Manifest
	if len(m.Servers) != 2 || m.Servers[0].Identity == m.Servers[1].Identity || m.Servers[1].ReadyS != 0 || m.Servers[1].EndedAt.IsZero() || m.State != "done" {
		t.Errorf("%+v", m.Servers)
	}
	if len(events) != 1+2*4 { // started, and each row's two
		t.Errorf("%q", events)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(b, "http://"), "/v1")
	row, ok := directory{path: result.Dir}.row("b,endpoint=" + matrix.Escape(name) + "-r1")
	if !ok || row.Server.Start != 2 || row.Spec.Variant != "endpoint="+name || row.Server.Metrics == nil || row.Server.Metrics.Engine != "vllm" {
		t.Fatalf("%+v", row)
	}
	if m := row.Server.Metrics; m.Source != strings.TrimSuffix(b, "/v1")+"/metrics" {
		t.Errorf("%+v", m)
	}

	// Each endpoint has an identity of its own: a resume begins with whichever lacks a row, and takes no
	// offence.
	again, err := sweepVariants(t, text, Options{Resume: result.Dir})
	if err != nil || len(again.Manifest.Servers) != 3 {
		t.Fatalf("%v, %+v", err, again)
	}
	d := directory{path: result.Dir}
	if err := d.setAside("away", func(id string) bool { return id == row.ID }); err != nil {
		t.Fatal(err)
	}
	events = nil
	again, err = sweepVariants(t, text, Options{Resume: result.Dir, Event: log(&events)})
	if err != nil || len(again.Manifest.Servers) != 4 || again.Manifest.Servers[3].Variant != row.Spec.Variant || len(events) != 1+3+2 {
		t.Errorf("%v, %+v, %q", err, again.Manifest.Servers, events)
	}
}

// Interleaved endpoints are reached anew for each block. A server that changes between two blocks ends the
// run; a resume with leave redoes all rows of both, once.
func TestInterleavedEndpointChanges(t *testing.T) {
	a, _ := startMock(t, mock.Config{Model: "a"})
	b, stop := startMock(t, mock.Config{Model: "b"})
	text := strings.Replace(endpoints(a, b), "\n", "\norder = \"interleaved\"\n", 1)
	change := func(e Event) {
		if f := e.Finished; f != nil && f.Index == 3 { // of A B B A
			stop()
			startMockAt(t, strings.TrimSuffix(strings.TrimPrefix(b, "http://"), "/v1"), mock.Config{Model: "c"})
		}
	}
	text = strings.ReplaceAll(text, "[[row]]\n", "[[row]]\nrepeats = 2\n")
	var changed *ServerChangedError
	result, err := sweepVariants(t, text, Options{Out: t.TempDir(), Event: change})
	if !errors.As(err, &changed) {
		t.Fatalf("got %v", err)
	}
	if _, err = sweepVariants(t, text, Options{Resume: result.Dir}); !errors.As(err, &changed) {
		t.Errorf("got %v", err)
	}
	var order strings.Builder
	again, err := sweepVariants(t, text, Options{Resume: result.Dir, AcceptServerChange: true, Event: func(e Event) {
		if e.Begun != nil {
			order.WriteByte("AB"[strings.Count(e.Begun.Spec.Variant, b[strings.LastIndexByte(b, ':'):len(b)-len("/v1")])])
		}
	}})
	if err != nil || again.Manifest.State != "done" || again.Manifest.Order != "interleaved" {
		t.Fatalf("got %v, %+v", err, again)
	}
	for _, p := range again.Manifest.Plan {
		if _, ok := (directory{path: again.Dir}).row(p.ID); !ok {
			t.Errorf("%s is missing: it was set aside twice", p.ID)
		}
	}
	if !strings.HasSuffix("ABBABAAB", order.String()) || order.Len() < 4 {
		t.Errorf("order of the resume: %s", &order)
	}
}

// An endpoint that another server has taken is refused at a resume, and with leave only its own rows are
// measured again.
func TestEndpointChanges(t *testing.T) {
	a, _ := startMock(t, mock.Config{Model: "a"})
	b, stop := startMock(t, mock.Config{Model: "b"})
	text := endpoints(a, b)
	result, err := sweepVariants(t, text, Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	startMockAt(t, strings.TrimSuffix(strings.TrimPrefix(b, "http://"), "/v1"), mock.Config{Model: "c"})
	d := directory{path: result.Dir}
	name := matrix.Escape(strings.TrimSuffix(strings.TrimPrefix(b, "http://"), "/v1"))
	missing := func(id string) bool { return id == "a,endpoint="+name+"-r1" }
	if err := d.setAside("away", missing); err != nil {
		t.Fatal(err)
	}
	var changed *ServerChangedError
	if _, err = sweepVariants(t, text, Options{Resume: result.Dir}); !errors.As(err, &changed) {
		t.Errorf("got %v", err)
	}
	if again, err := sweepVariants(t, text, Options{Resume: result.Dir, AcceptServerChange: true}); err != nil || again.Manifest.State != "done" {
		t.Errorf("got %v", err)
	}
}
