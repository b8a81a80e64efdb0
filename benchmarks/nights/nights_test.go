package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ten is sixty nights in short.
var ten = setting{
	Name: "ten", Nights: 0.003, Walk: 0.001, Season: 0.005, Spread: 0.003, Slow: 0.06,
	Slowed:   []string{"batch"},
	calendar: calendar{failed: 4, slow: 6, fixed: 8, noisy: 9, newServer: 10},
}

// TestMain: the script of a test calls this program in place of bench sweep.
func TestMain(m *testing.M) {
	settings = append(settings, ten)
	if len(os.Args) > 1 && os.Args[1] == "-sweep" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestTenNights: one alarm, on the right night, with the right point; the failed row's night, the noisy one
// and the new server's raise none.
func TestTenNights(t *testing.T) {
	if testing.Short() {
		t.Skip("ten runs of bench")
	}
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "bench")
	if text, err := exec.Command("go", "-C", "../..", "build", "-o", program, "./cmd/bench").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	script, err := filepath.Abs("../../deploy/bench-nightly")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := &history{setting: &ten, seed: 1, dir: dir, script: script, bench: program, self: self, nights: 10}
	nights, err := h.run()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range nights {
		want := map[int]int{4: 1, 6: 3}[o.Night]
		if o.Exit != want {
			t.Errorf("%s\n%s", o.String(), o.Printed)
		}
	}
	counts := &tally{}
	counts.add(&ten, 1, nights)
	if c := *counts; c.atOnce != 1 || c.again+c.falseAlarms+c.wrongPoint != 0 || c.failed != 1 ||
		c.newBase != 1 || c.quietly != 1 {
		t.Errorf("%+v", c)
	}
	page, err := os.ReadFile(filepath.Join(dir, "trends.html"))
	if err != nil || !strings.Contains(string(page), "batch") {
		t.Errorf("no trend: %v", err)
	}
}

// TestNightsRepeat: a history is the same at every call.
func TestNightsRepeat(t *testing.T) {
	a, b := settings[0].nights(60, 7), settings[0].nights(60, 7)
	if a[59].points["chat"] != b[59].points["chat"] || a[59].points["chat"] == settings[0].nights(60,
		8)[59].points["chat"] {
		t.Error("a seed is not a history")
	}
}
