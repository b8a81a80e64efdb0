package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestStartIsLight: what a package needs for one command alone, it makes at that command's first use. A start of
// bench allocates, in all our packages, no more than their small tables; allocations are the same on any machine.
func TestStartIsLight(t *testing.T) {
	const most, mostOfOne, mostBytes = 2600, 1000, 200_000
	idle := exec.Command(os.Args[0], "-test.run=^$")
	idle.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := idle.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, trace)
	}
	module := buildInfo().Main.Path
	ours, total := 0, 0
	for line := range strings.Lines(string(trace)) {
		var name string
		var at, clock float64
		var bytes, allocations int
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs",
			&name, &at, &clock, &bytes, &allocations); n < 5 {
			continue
		}
		if name == "golang.org/x/crypto/x509roots/fallback" {
			t.Error("the root certificates are parsed at every start: see useRoots")
		}
		if name != "main" && !strings.HasPrefix(name, module+"/") {
			continue
		}
		ours++
		total += allocations
		if allocations > mostOfOne || bytes > mostBytes {
			t.Errorf("%s makes %d allocations of %d bytes at the start, more than %d or %d: make it at the first use", name,
				allocations, bytes, mostOfOne, mostBytes)
		}
	}
	if ours < 10 || total > most {
		t.Errorf("%d of our packages make %d allocations at the start, more than %d", ours, total, most)
	}
}
