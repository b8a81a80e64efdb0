package page

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	fixture "bench/internal/reporttest"
	"bench/report"
)

// A page of a recording with a candidate begins with the verdict on it; its chart and tables are in the first tab.
func TestCandidate(t *testing.T) {
	run := fixtureRun()
	run.Shadow = fixture.Live{Requests: 2000, Share: 0.3, Slower: 0.05, Seed: 1}.Compared()
	html := string(page1(t, run))
	own := withoutScripts(html)
	verdict, row := strings.Index(own, "<h2>B: TPOT"), strings.Index(own, `class="chosen"`)
	if verdict < 0 || verdict > row {
		t.Errorf("the verdict is at %d, the row's at %d", verdict, row)
	}
	for _, id := range []string{"r0-candidate", "r0-candidate-changes", "r0-shadow", "r0-shadow-load", "r0-shadow-left-out", "r0-shadow-findings"} {
		if !strings.Contains(own, `id="`+id+`"`) {
			t.Errorf("%s is missing", id)
		}
	}
	if tabs := regexp.MustCompile(`<nav class="tabs"[^>]*><a href="#r0-(\w+)">`).FindStringSubmatch(own); tabs == nil || tabs[1] != report.TabCandidate {
		t.Errorf("the first tab is %v", tabs)
	}
	if strings.Contains(string(page1(t, fixtureRun())), "r0-candidate") {
		t.Error("a run without a candidate has its tab")
	}
}

// A comparison that has no pair yet is a page, too: it is what the live page shows at first.
func TestCandidateWithoutPairs(t *testing.T) {
	run := fixtureRun()
	run.Shadow = fixture.Live{Share: 1}.Compared()
	if !bytes.Contains(page1(t, run), []byte("B: no pair to compare")) {
		t.Error("the page does not state that there is no pair")
	}
}
