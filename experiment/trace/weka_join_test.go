package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWekaJoins: of two overlapping requests of the main agent behind a subagent's end, both wait for it; a request some
// milliseconds before its subagent's begin counts on the session's clock.
func TestWekaJoins(t *testing.T) {
	for _, first := range []string{"1.6", "1.599"} {
		line := fmt.Sprintf(`{"id":"s","block_size":64,"requests":[{"t":0,"type":"n","in":128,"out":10,"hash_ids":[1,2],"api_time":1.5},`+
			`{"t":1.6,"type":"subagent","duration_ms":3000,"requests":[{"t":%s,"type":"n","in":64,"out":10,"hash_ids":[9],"api_time":3.0}]},`+
			`{"t":5.0,"type":"n","in":192,"out":10,"hash_ids":[1,2,3],"api_time":2.0},{"t":5.1,"type":"n","in":192,"out":11,"hash_ids":[1,2,4],"api_time":2.0},`+
			`{"t":7.5,"type":"n","in":192,"out":12,"hash_ids":[1,2,5],"api_time":1.0}]}`, first)
		r, err := New(strings.NewReader(line+"\n"), Options{File: "weka.jsonl"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.NextSession()
		if err != nil || len(s.Nodes) != 5 {
			t.Fatal(s, err)
		}
		if n := s.Nodes[1]; n.Agent != 1 || n.At.Round(time.Millisecond*10) != 1600*time.Millisecond {
			t.Errorf("%s: the subagent's request: %+v", first, n)
		}
		for i, want := range map[int][]int{2: {1}, 3: {1}, 4: {2, 3}} {
			if got := s.Nodes[i].Parents; !slices.Equal(got, want) {
				t.Errorf("%s: node %d waits for %v, want %v", first, i, got, want)
			}
		}
	}
}
