package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The codes of findings, which users match on and which findings.md explains. A code is for what a reader does: a check
// that asks for what another one asks for has its code, and its text names the cause.
const (
	codes = `accuracy answers arrivals between_runs buffered client_bound client_machine closed_loop concurrency disturbed errors
		faster_than_bound foreign gateway gpu_throttled heterogeneous output_length prefix_cache prompts rate_not_achieved
		reasoning recording replicas server_logs server_stalled sessions_cut shadow shared_server synthetic_speculation
		token_counts token_times unsteady users_left workers`
	mostCodes = 40
)

// inSource are the places of a code: a check's, and a finding's.
var inSource = regexp.MustCompile(`(?m)^\t\{"(\w+)", (?:perWorker|check)|record\.Finding\{Code: "(\w+)"`)

func TestCodesOfFindings(t *testing.T) {
	want := slices.Compact(slices.Sorted(slices.Values(strings.Fields(codes))))
	if len(want) > mostCodes {
		t.Errorf("%d codes, at most %d: give a finding the code of one that asks for the same", len(want), mostCodes)
	}
	made := map[string]bool{}
	for _, dir := range []string{"../experiment", "../report"} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/fixture/") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range inSource.FindAllStringSubmatch(string(text), -1) {
				made[m[1]+m[2]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Sorted(maps.Keys(made)); !slices.Equal(got, want) {
		t.Errorf("the sources have\n%q, want\n%q", got, want)
	}
	var listed []string
	page, err := os.ReadFile("findings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^`(\\w+)` \\| (.+) \\| (.+)$").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1])
	}
	if slices.Sort(listed); !slices.Equal(listed, want) {
		t.Errorf("findings.md lists, with what to do,\n%q, want each once:\n%q", listed, want)
	}
}
