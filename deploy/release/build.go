package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build compiles bench for a platform, free of the environment's own settings and of paths of this machine.
func build(work, platform, commit string) (binary string, err error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return "", fmt.Errorf("platform %q is not OS/ARCH", platform)
	}
	binary = filepath.Join(work, system+"-"+arch, "bench")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.stamp="+commit, "-o", binary, "./cmd/bench")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building for %s: %w\n%s", platform, err, text)
	}
	return binary, nil
}

// versionOf is the version that a binary reports.
func versionOf(binary string) (string, error) {
	text, err := exec.Command(binary, "version").Output()
	if err != nil {
		return "", fmt.Errorf("bench version: %w", err)
	}
	fields := strings.FieldsFunc(string(text), func(r rune) bool { return r == ' ' || r == ',' })
	if len(fields) < 2 || fields[0] != "bench" {
		return "", fmt.Errorf("bench version printed %q", text)
	}
	return fields[1], nil
}

// paperwork is what an archive has beside the binary.
func paperwork(binary string) ([]file, error) {
	var files []file
	for _, f := range []struct{ name, from string }{
		{"CHANGELOG.md", "CHANGELOG.md"}, {"LICENSE", "LICENSE"}, {"licenses.txt", "cmd/bench/licenses.txt"},
	} {
		text, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: f.name, text: text, mode: 0o644})
	}
	for _, f := range []struct {
		name string
		args []string
	}{
		{"completions/_bench", []string{"completion", "zsh"}},
		{"completions/bench.bash", []string{"completion", "bash"}},
		{"completions/bench.fish", []string{"completion", "fish"}},
	} {
		text, err := exec.Command(binary, f.args...).Output()
		if err != nil {
			return nil, fmt.Errorf("bench %s: %w", strings.Join(f.args, " "), err)
		}
		files = append(files, file{name: f.name, text: text, mode: 0o644})
	}
	return files, nil
}
