package report

import (
	"bytes"
	"strings"
	"testing"

	"bench/experiment/record"
)

// The error of the server is at the end of an invalid finding: no width cuts it.
func TestInvalidFindingIsWhole(t *testing.T) {
	run := fixtureRun()
	run.Rows[0].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid,
		Text: "20 of 40 requests failed (20 status): percentiles cover the others; first error: 503 the model is not loaded"}}
	for _, width := range []int{40, 80, 120} {
		var b bytes.Buffer
		if err := Text(&b, run, Screen{Width: width}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, "first error: 503 the model is not loaded") {
			t.Errorf("%d columns: the reason is cut:\n%s", width, b.String())
		}
	}
}
