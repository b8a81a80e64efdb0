package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// job is one of the examples of deploy/, as its scheduler runs it with a program in place of bench.
type job struct {
	home string // nightly.toml, and the outputs
	run  func(endpoint string) (code int, printed string)
}

// bare runs a command with only the given environment.
func bare(t *testing.T, dir string, env []string, name string, args ...string) (code int, printed string) {
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

// deployed is a file of deploy/, with paths and addresses of this machine.
func deployed(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			t.Fatalf("%s has no %s", name, pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(string(text))
}

// decoded is a YAML file as maps and lists.
func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// under follows keys of maps and indexes of lists.
func under[T any](t *testing.T, v any, path ...any) T {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	out, ok := v.(T)
	if !ok {
		t.Fatalf("%v is %T", path, v)
	}
	return out
}

// benchVersion is a tag of repository. Its build takes the bench of this test; a later commit does not build.
const benchVersion = "v1"

// repository is what BENCH_REPOSITORY names.
func repository(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "deploy"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "Makefile"), "build:\n\tcp "+program+" bench\n")
	write(t, filepath.Join(dir, "deploy", "bench-nightly"), deployed(t, "bench-nightly"))
	if err := os.Chmod(filepath.Join(dir, "deploy", "bench-nightly"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a"}, args...)
		if code, printed := bare(t, dir, env, "git", args...); code != 0 {
			t.Fatal(printed)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "a")
	git("tag", benchVersion)
	write(t, filepath.Join(dir, "Makefile"), "build:\n\tfalse\n")
	git("commit", "-q", "-a", "-m", "b")
	return "file://" + dir
}

// cron runs the line of deploy/crontab.
func cron(t *testing.T, home, program string) job {
	scripts, err := filepath.Abs("../../deploy")
	if err != nil {
		t.Fatal(err)
	}
	return job{home, func(endpoint string) (int, string) {
		env := []string{"HOME=" + home, "LOGNAME=bench", "SHELL=/bin/sh"} // and PATH, as the crontab has it
		table := deployed(t, "crontab", "/srv/bench", home, "/opt/bench/deploy", scripts,
			"/opt/bench", filepath.Dir(program), "http://127.0.0.1:8000", endpoint)
		line := ""
		for l := range strings.Lines(table) {
			if fields := strings.Fields(l); len(fields) > 5 {
				line = strings.Join(fields[5:], " ")
			} else {
				env = append(env, strings.TrimSpace(l))
			}
		}
		if strings.Contains(line, "%") {
			t.Error("cron takes % for the end of a line")
		}
		return bare(t, home, env, "/bin/sh", "-c", line)
	}}
}

// github runs the steps of deploy/github-actions.yml. After a failed step only those with if: always() run.
func github(t *testing.T, home, program string) job {
	url := repository(t, program)
	return job{home, func(endpoint string) (int, string) {
		doc := decoded(t, deployed(t, "github-actions.yml", "/srv/bench", home,
			"http://127.0.0.1:8000", endpoint, "${{ vars.BENCH_REPOSITORY }}", url,
			"${{ vars.BENCH_VERSION }}", benchVersion))
		temp := t.TempDir()
		added := filepath.Join(temp, "path")
		write(t, added, "")
		failed, all := 0, ""
		for _, step := range under[[]any](t, doc, "jobs", "nightly", "steps") {
			text, runs := step.(map[string]any)["run"].(string)
			if !runs || failed != 0 && step.(map[string]any)["if"] != "always()" {
				continue
			}
			more, err := os.ReadFile(added)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(temp, "step.sh"), text)
			env := []string{"PATH=" + strings.ReplaceAll(string(more), "\n", ":") + "/usr/bin:/bin",
				"HOME=" + temp, "CI=true", "RUNNER_TEMP=" + temp,
				"GITHUB_PATH=" + added, "GITHUB_STEP_SUMMARY=" + filepath.Join(home, "summary.md")}
			for name := range under[map[string]any](t, doc, "jobs", "nightly", "env") {
				env = append(env, name+"="+under[string](t, doc, "jobs", "nightly", "env", name))
			}
			code, printed := bare(t, home, env, "bash", "--noprofile", "--norc", "-eo", "pipefail",
				filepath.Join(temp, "step.sh"))
			failed, all = max(failed, code), all+printed
		}
		return failed, all
	}}
}

// gitlab runs the script of deploy/gitlab-ci.yml as the shell executor does.
func gitlab(t *testing.T, home, program string) job {
	url := repository(t, program)
	return job{home, func(endpoint string) (int, string) {
		doc := decoded(t, deployed(t, "gitlab-ci.yml", "/srv/bench", home,
			"http://127.0.0.1:8000", endpoint))
		var script strings.Builder
		script.WriteString("set -eo pipefail\n")
		for _, part := range []string{"before_script", "script"} {
			for _, line := range under[[]any](t, doc, "nightly", part) {
				script.WriteString(line.(string) + "\n")
			}
		}
		env := []string{"PATH=/usr/bin:/bin", "HOME=" + home, "CI=true",
			"BENCH_REPOSITORY=" + url, "BENCH_VERSION=" + benchVersion}
		return bare(t, home, env, "bash", "-c", script.String())
	}}
}

// kubernetes runs the container of deploy/kubernetes/cronjob.yaml, with the files of its ConfigMap.
func kubernetes(t *testing.T, home, program string) job {
	files := t.TempDir()
	write(t, filepath.Join(files, "bench-nightly"), deployed(t, "bench-nightly"))
	return job{home, func(endpoint string) (int, string) {
		matrix, err := os.ReadFile(filepath.Join(home, "nightly.toml"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(files, "nightly.toml"), string(matrix))
		_, text, _ := strings.Cut(deployed(t, "kubernetes/cronjob.yaml"), "---\n")
		c := under[map[string]any](t, decoded(t, text), "spec", "jobTemplate", "spec", "template", "spec", "containers", 0)
		local := strings.NewReplacer("/nightly/", files+"/", "/results", home, "http://vllm:8000", endpoint)
		var words []string
		for _, part := range []string{"command", "args"} {
			for i := range under[[]any](t, c, part) {
				words = append(words, local.Replace(under[string](t, c, part, i)))
			}
		}
		env := []string{"PATH=" + filepath.Dir(program) + ":/usr/bin:/bin", "HOME=" + home}
		return bare(t, local.Replace(under[string](t, c, "workingDir")), env, words[0], words[1:]...)
	}}
}
