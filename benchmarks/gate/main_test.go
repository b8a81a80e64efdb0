package main

import (
	"math"
	"strings"
	"testing"
)

// atMost is the largest count that a share explains: 3.5 standard errors above it.
func atMost(share float64, of int) int {
	n := float64(of)
	return int(share*n + 3.5*math.Sqrt(share*(1-share)*n))
}

func find(t *testing.T, name string) Setting {
	t.Helper()
	for _, s := range settings() {
		if s.String() == name {
			return s
		}
	}
	t.Fatalf("no setting %q", name)
	return Setting{}
}

// Equal nights are called different in at most 5 %, and planted regressions are found.
func TestGate(t *testing.T) {
	const n = 100
	for _, c := range []struct {
		setting          string
		undecided, found float64 // largest and smallest share; 0 = none is promised
	}{
		{"5 base nights x 5: nights 2 %, repeats 0.5 %, 0 earlier", 0, 0},
		{"1 base night x 5: nights 2 %, repeats 0.5 %, 0 earlier", 0, 0},
		{"recipe 5 x 3: nights 0, repeats 1 %, 0 earlier", 0.1, 0.9},
		{"recipe 5 x 3: nights 0.5 %, repeats 0.5 %, 10 earlier", 0.1, 0.9},
		{"drift: random walk, steps 1 %, 0 earlier", 0, 0},
		{"pairs: 10, walk with steps of 2 %, repeats 1 %, 0 earlier", 0.1, 0.9},
	} {
		t.Run(c.setting, func(t *testing.T) {
			t.Parallel()
			tallies, err := trials{n: n, seed: 7, changes: []change{changes[0],
				{Size: 0.05}}}.simulate(find(t, c.setting))
			if err != nil {
				t.Fatal(err)
			}
			quiet, slow := tallies[0], tallies[1]
			if most := atMost(0.05, n); quiet.Changed > most || quiet.Fail > most {
				t.Errorf("%d of %d equal nights are called different, %d fail", quiet.Changed, n, quiet.Fail)
			}
			if c.undecided > 0 && quiet.Undecided > atMost(c.undecided, n) {
				t.Errorf("%d of %d equal nights are undecided", quiet.Undecided, n)
			}
			if c.found > 0 && n-slow.Fail > atMost(1-c.found, n) {
				t.Errorf("5 %% slower fails in %d of %d", slow.Fail, n)
			}
		})
	}
}

// The same seed gives the same trials, and both formats have a line or five for each setting.
func TestTables(t *testing.T) {
	for format, lines := range map[string]int{"md": 4 + len(earlier), "csv": 1 + len(earlier)*len(changes)} {
		var first, again strings.Builder
		for _, out := range []*strings.Builder{&first, &again} {
			if err := run([]string{"-trials", "2", "-format", format, "-match", "^recipe.*nights 0.5 %"},
				out); err != nil {
				t.Fatal(err)
			}
		}
		if first.String() != again.String() || strings.Count(first.String(), "\n") != lines {
			t.Errorf("%s: %d lines, want %d:\n%s", format, strings.Count(first.String(), "\n"), lines,
				first.String())
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, args := range [][]string{{"-format", "pdf"}, {"-match", "("}, {"-nights", "3"}} {
		if err := run(args, &strings.Builder{}); err == nil {
			t.Errorf("%q is no mistake", args)
		}
	}
}
