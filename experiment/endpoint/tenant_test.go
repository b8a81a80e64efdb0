package endpoint

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// Each class's requests, their priming too, have its headers and key, over the target's; those of others have the target's.
func TestTenants(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	f := &fake{}
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			mu.Lock()
			h := r.Header
			seen[strings.Join([]string{h.Get("Authorization"), h.Get("X-Tenant"), h.Get("X-Common")}, " ")]++
			mu.Unlock()
		}
		if h := r.Header.Get("Authorization"); h == "Bearer key-of-gold" && r.Header.Get("X-Request-Id") == "" {
			f.ServeHTTP(w, r) // priming
			return
		} else if h == "Bearer key-of-gold" { // it echoes the key
			refusal(w, 400, "refused: "+h)
			return
		}
		f.ServeHTTP(w, r)
	}))
	spec := closedLoop(60)
	spec.Input, spec.Output = workload.Length{}, workload.Length{}
	class := func(name string) workload.Class {
		return workload.Class{Name: name, Weight: 1, Input: workload.Fixed(40), Output: workload.Fixed(2)}
	}
	gold, bulk, plain := class("gold"), class("bulk"), class("plain")
	gold.Headers, gold.APIKeyEnv = map[string]string{"x-tenant": "gold"}, "GOLD_KEY"
	gold.Prefix = &workload.Prefix{Tokens: 16, State: workload.Warm}
	bulk.Headers = map[string]string{"x-tenant": "bulk"}
	spec.Mix = []workload.Class{gold, bulk, plain}
	tgt := experiment.Target{}
	tgt.Headers = map[string]string{"X-Tenant": "all", "X-Common": "yes", "authorization": "Bearer of-all"}
	s, err := Reach(t.Context(), tgt, base, "", []string{"completions"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	var refused []string
	run := func() (*record.Row, error) {
		return s.Run(t.Context(), RunConfig{Spec: &spec, ID: "r", Salt: "s", Each: func(r *record.Record) error {
			if r.Class == "gold" {
				refused = append(refused, r.Error)
			}
			return nil
		}})
	}
	if _, err := run(); err == nil || !strings.Contains(err.Error(), "export GOLD_KEY") {
		t.Fatalf("without the key: %v", err)
	}
	s.Keys = map[string]string{"GOLD_KEY": "key-of-gold"}
	mu.Lock()
	clear(seen)
	mu.Unlock()
	row, err := run()
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"Bearer key-of-gold gold yes", "Bearer of-all bulk yes", "Bearer of-all all yes"} {
		if seen[want] < 5 {
			t.Errorf("no %q in %v", want, seen)
		}
	}
	if len(seen) != 3 || row.FailedPriming > 0 {
		t.Errorf("%v, %d of priming failed", seen, row.FailedPriming)
	}
	if text := strings.Join(refused, " "); !strings.Contains(text, "refused") || strings.Contains(text, "key-of-gold") {
		t.Errorf("the errors of gold's requests are %q", text)
	}
	if got := s.Hide("key-of-gold"); strings.Contains(got, "gold") {
		t.Error(got)
	}
}
