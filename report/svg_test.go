package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func picture1(t *testing.T, run *Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSVG(t *testing.T) {
	got := picture1(t, fixture())
	golden(t, "curve.golden.svg", []byte(got))
	d := xml.NewDecoder(strings.NewReader(got))
	elements := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("it is no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	if elements["script"] > 0 || elements["polyline"] < 5 {
		t.Errorf("elements %v", elements)
	}
}

func TestSVGOfNothing(t *testing.T) {
	if got := picture1(t, &Run{}); strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error(got)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, fixture()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema string
		Runs   []struct {
			Outcome struct{ Verdict, SLO string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != SchemaPage || len(got.Runs) != 1 || got.Runs[0].Outcome.Verdict != "FAIL" {
		t.Errorf("%+v", got)
	}
}
