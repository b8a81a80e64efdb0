package sweep

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
)

// TestMain lets the test binary be the process that is killed: with BENCH_TEST_SWEEP it runs a sweep and
// nothing else.
func TestMain(m *testing.M) {
	if base := os.Getenv("BENCH_TEST_SWEEP"); base != "" {
		if err := child(base, os.Getenv("BENCH_TEST_OUT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// killed has a second row that is long enough to be killed in its middle.
const killed = tiny + "[[row]]\nname = \"c\"\nrate = 50\nrequests = 50\n"

func child(base, out string) error {
	m, err := parse("test.toml", killed)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := endpoint.Reach(ctx, m.Target, base, "", experiment.APIs(m.Points, m.Target), nil)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = Run(ctx, m, Options{Out: out, Server: s})
	return err
}

func TestKillAndResume(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	out := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BENCH_TEST_SWEEP="+base, "BENCH_TEST_OUT="+out)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	start := time.Now()
	var dir string
	for dir == "" { // until the row that is to be cut has begun
		if found, _ := filepath.Glob(filepath.Join(out, "tiny", "*", "c-r1"+record.RequestsSuffix+partial)); len(found) == 1 {
			dir = filepath.Dir(found[0])
		}
		if time.Since(start) > time.Minute {
			t.Fatal("the sweep did not come to its third row")
		}
		time.Sleep(2 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the sweep ended before it was killed")
	}

	m := manifestOf(t, dir)
	if m.State != "running" || states(m) != "a-r1 done, b-r1 done, c-r1 planned" || m.Attempts[0].Ended != "" {
		t.Fatalf("%s: %s", m.State, states(m))
	}
	before := files(t, dir)
	var events []string
	again := complete(t, base, killed, Options{Resume: dir, Event: log(&events)})
	if diff := cmp.Diff([]string{"started", "kept a-r1", "kept b-r1", "begun c-r1", "finished c-r1"}, events); diff != "" {
		t.Error(diff)
	}
	after := files(t, dir)
	for _, name := range tinyFiles[:7] {
		if before[name] != after[name] {
			t.Errorf("%s was touched", name)
		}
	}
	if _, left := after["c-r1"+record.TelemetrySuffix+partial]; left {
		t.Error("the telemetry of the cut attempt is still there")
	}
	if _, left := after["c-r1"+record.RequestsSuffix+partial]; left || again.Manifest.State != "done" {
		t.Errorf("after the resume: %s", again.Manifest.State)
	}
	newSalt(t, m, dir, "c-r1")
}
