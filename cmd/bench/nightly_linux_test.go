package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"bench/experiment/mock"
)

// nightlyMatrix has too few requests for a p99: its gate is undecided, however busy this machine is.
const nightlyMatrix = `name = "nightly"
[gate]
ttft_p99 = "+5%"
[defaults]
requests = 20
repeats = 2
[[row]]
name = "a"
input = 16
output = 4
concurrency = 1
`

// example is a code block of docs/nightly.md, with paths of this machine.
func example(t *testing.T, language, home, base string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/nightly.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(page), "\n```"+language+"\n")
	if !ok {
		t.Fatalf("the page has no %s", language)
	}
	block, _, _ = strings.Cut(block, "```")
	program, err := exec.LookPath("bench")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("/srv/bench", home, "http://127.0.0.1:8000", base, "/usr/local/bin", home+":"+filepath.Dir(program)).Replace(block)
}

// bare runs a command with only the given environment.
func bare(t *testing.T, dir string, env []string, name string, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// nightly returns a directory with a matrix, and a server that stop ends.
func nightly(t *testing.T) (home, base string, stop func()) {
	t.Helper()
	for _, name := range []string{"flock", "bash"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	base, end := startMock(mock.Config{})
	stop = sync.OnceFunc(end)
	t.Cleanup(stop)
	home = t.TempDir()
	write(t, filepath.Join(home, "nightly.toml"), nightlyMatrix)
	return home, base, stop
}

// The cron job of docs/nightly.md works in cron's bare environment, and prints only why a night does not
// pass.
func TestNightlyCron(t *testing.T) {
	home, base, stop := nightly(t)
	script, crontab := example(t, "sh", home, base), example(t, "crontab", home, base)
	env := []string{"HOME=" + home, "LOGNAME=bench", "SHELL=/bin/sh"} // and PATH, as the crontab has it
	job := ""
	for line := range strings.Lines(crontab) {
		if fields := strings.Fields(line); len(fields) > 5 {
			job = strings.Join(fields[5:], " ")
		} else {
			env = append(env, strings.TrimSpace(line))
		}
	}
	if strings.Contains(job, "%") {
		t.Error("cron takes % for the end of a line")
	}
	program := filepath.Join(home, "bench-nightly")
	night := func() (int, string) {
		write(t, program, script)
		return bare(t, home, env, "/bin/sh", "-c", job)
	}
	if code, said := night(); code != codeUsage || !strings.Contains(said, "nothing matches base/*") {
		t.Errorf("the first night: exit code %d, it printed\n%s", code, said)
	}
	if err := os.Mkdir(filepath.Join(home, "results", "nightly", "20260101T020000Z"), 0o755); err != nil { // its server never started
		t.Fatal(err)
	}
	if code, said := night(); code != codeNotMet || !strings.Contains(said, "gate not met") || !strings.Contains(said, "UNDECIDED: inconclusive: n=") {
		t.Errorf("a night that is not decided: exit code %d, it printed\n%s", code, said)
	}
	script = strings.Replace(script, " --gate ", " --gate --on-undecided pass ", 1)
	if code, said := night(); code != codeDone || said != "" {
		t.Errorf("a night that passes: exit code %d, it printed\n%s", code, said)
	}
	for name, want := range map[string]string{"gate.xml": "<skipped", "trends.html": "nightly", "nightly.log": "new: 2 repeats"} {
		if text, err := os.ReadFile(filepath.Join(home, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q: %v", name, want, err)
		}
	}
	// A sweep with a failed row is compared, and the night does not pass.
	real, err := exec.LookPath("bench")
	if err != nil {
		t.Fatal(err)
	}
	failing := filepath.Join(home, "bench") // first in the PATH
	write(t, failing, "#!/bin/sh\n"+real+" \"$@\"\ncode=$?\n[ \"$1\" = sweep ] && exit 1\nexit $code\n")
	if code, said := night(); code != codeFailed || !strings.Contains(said, "gate: ") {
		t.Errorf("a night with a failed row: exit code %d, it printed\n%s", code, said)
	}
	if _, err := os.Stat(filepath.Join(home, "gate.xml")); err != nil {
		t.Error(err)
	}
	if err := os.Remove(failing); err != nil {
		t.Fatal(err)
	}
	// Without a run of this night, nothing of an earlier one is left to be taken for its own.
	stop()
	if code, said := night(); code != codeFailed || !strings.Contains(said, "hint: is the server up?") || strings.Contains(said, "gate: ") {
		t.Errorf("a night without a server: exit code %d, it printed\n%s", code, said)
	}
	for _, name := range []string{"gate.xml", "trends.html"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s of an earlier night is left", name)
		}
	}
	lock, err := os.Open(filepath.Join(home, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if code, said := night(); code != codeFailed || said != "the job of the night before still runs\n" {
		t.Errorf("beside another: exit code %d, it printed\n%s", code, said)
	}
}

// The steps of the CI job in docs/nightly.md work in the shell of the CI.
func TestNightlyCI(t *testing.T) {
	home, base, _ := nightly(t)
	program, err := exec.LookPath("bench")
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, step := range strings.Split(example(t, "yaml", home, base), "\n      - ")[1:] {
		if text, ok := strings.CutPrefix(step, "run: "); ok {
			steps = append(steps, strings.ReplaceAll(strings.TrimPrefix(text, "|\n"), "\n          ", "\n"))
		}
	}
	if len(steps) != 2 {
		t.Fatalf("steps %q", steps)
	}
	summary := filepath.Join(home, "summary.md")
	env := []string{"PATH=" + filepath.Dir(program) + ":/usr/bin:/bin", "GITHUB_WORKSPACE=" + home, "GITHUB_STEP_SUMMARY=" + summary}
	for i, want := range []int{codeUsage, codeNotMet} {
		for j, step := range steps {
			write(t, filepath.Join(home, "step.sh"), step)
			code, said := bare(t, home, env, "bash", "-e", "step.sh")
			if j == 0 && code != codeDone || j == 1 && code != want {
				t.Errorf("job %d, step %d: exit code %d, it printed\n%s", i+1, j+1, code, said)
			}
		}
	}
	for name, want := range map[string]string{"gate.xml": `type="undecided"`, "summary.md": "| figure "} {
		if text, err := os.ReadFile(filepath.Join(home, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q: %v", name, want, err)
		}
	}
}
