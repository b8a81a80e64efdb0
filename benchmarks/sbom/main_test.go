package main

import (
	"os"
	"strings"
	"testing"
)

// TestLicensed: each part has the license of licenses.txt, whose texts are all of known ones or notices.
func TestLicensed(t *testing.T) {
	file, err := os.ReadFile("../../cmd/bench/licenses.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts := parse(string(file))
	for name, all := range texts {
		if got := licensesOf(all[0])[0].License; got.ID == "" && !strings.Contains(name, "ECharts") {
			t.Errorf("%s: which license is\n%.200s", name, got.Text.Content)
		}
	}
	name, version := "github.com/spf13/cobra", ""
	for known := range texts {
		if v, ok := strings.CutPrefix(known, name+" "); ok {
			version = v
		}
	}
	bom := `{"bomFormat":"CycloneDX","metadata":{"component":{"name":"bench","version":"v1"}},"components":[
		{"name":"` + name + `","version":"` + version + `","evidence":{}},{"name":"std","version":"go1.26"}]}`
	got, err := licensed([]byte(bom), texts)
	if err != nil || strings.Count(string(got), `"id": "Apache-2.0"`) != 2 || strings.Count(string(got), `"id": "BSD-3-Clause"`) != 1 ||
		strings.Contains(string(got), "evidence") {
		t.Errorf("error %v\n%s", err, got)
	}
	if _, err := licensed([]byte(strings.Replace(bom, version, "v0", 1)), texts); err == nil {
		t.Error("a part without a license is fine")
	}
}
