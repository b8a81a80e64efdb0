package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"bench/sweep"
)

func TestMetricsListen(t *testing.T) {
	quiet := func() watcher {
		return watcher{func(sweep.Event) {}, &strings.Builder{}, func() {}, func(*sweep.Result) {}}
	}
	w := quiet()
	if err := w.expose(t.Context(), ":0", "chat"); err != nil {
		t.Fatal(err)
	}
	defer w.ended(nil)
	w.event(sweep.Event{Started: &sweep.Started{Dir: "results/a", Total: 5}})
	at := strings.TrimPrefix(strings.TrimSpace(w.notes.(*strings.Builder).String()), "metrics: ")
	if !strings.HasPrefix(at, "http://127.0.0.1:") {
		t.Errorf("a port alone is open to others: %s", at)
	}
	get := func(url string) (int, string) {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if code, text := get(at); code != 200 || !strings.Contains(text, "\nbench_rows 5\n") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := get(strings.TrimSuffix(at, "/metrics")); code != 404 {
		t.Errorf("got %d", code)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(at, "http://"), "/metrics")
	other := quiet()
	if err := other.expose(t.Context(), address, "chat"); codeOf(err) != codeFailed || !strings.Contains(err.Error(), "hint:") {
		t.Errorf("a port that is taken: %v", err)
	}
}
