package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const hosted = "example.com/acme/bench"

// TestModule: deploy/module moves the whole tree to another path, and back.
func TestModule(t *testing.T) {
	dir := tree(t)
	before := contents(t, dir)
	for _, hostless := range []string{"bad/name", "bench2"} {
		if out, err := exec.Command(filepath.Join(dir, "deploy/module"), hostless).CombinedOutput(); err == nil || !strings.Contains(string(out), "no host") {
			t.Errorf("%s: %v, %s", hostless, err, out)
		}
	}
	run(t, dir, nil, "make", "-s", "module", "MODULE="+hosted)
	imports := strings.Fields(run(t, dir, nil, "go", "list", "-test", "-f", `{{join .Imports "\n"}}`, "./..."))
	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(hosted) + `(/|$)`)
	n := 0
	for _, path := range imports {
		if ours.MatchString(path) {
			n++
		} else if path == "bench" || strings.HasPrefix(path, "bench/") {
			t.Errorf("%s is still imported", path)
		}
	}
	if n < 100 {
		t.Errorf("only %d imports of %s", n, hosted)
	}
	if unformatted := run(t, dir, nil, "gofmt", "-l", "cmd", "sweep", "report", "experiment"); unformatted != "" {
		t.Errorf("not gofmt-ed:\n%s", unformatted)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "README.md")); !strings.Contains(string(text), "go install "+hosted+"/cmd/bench@latest") {
		t.Error("README.md does not install it")
	}
	run(t, dir, nil, "deploy/module", "bench")
	for name, after := range contents(t, dir) {
		if before[name] != after {
			t.Errorf("%s is not as it was", name)
		}
	}
}

// contents are the files below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGoInstall installs bench from a module proxy in files, as a user does from the public one.
func TestGoInstall(t *testing.T) {
	long(t)
	dir := tree(t)
	run(t, dir, nil, "make", "-s", "module", "MODULE="+hosted)
	run(t, dir, nil, "go", "vet", "./...")
	run(t, dir, nil, "go", "test", "./docs/...")

	v := module.Version{Path: hosted, Version: "v1.2.3"}
	proxy := t.TempDir()
	versions := filepath.Join(proxy, hosted, "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	packed, err := os.Create(filepath.Join(versions, v.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(packed, v, dir); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": v.Version + "\n", v.Version + ".mod": string(mod),
		v.Version + ".info": fmt.Sprintf(`{"Version": %q}`, v.Version)} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	bin, cache := t.TempDir(), strings.TrimSpace(run(t, dir, nil, "go", "env", "GOMODCACHE"))
	env := []string{"GOBIN=" + bin, "GOMODCACHE=" + t.TempDir(), "GOFLAGS=-modcacherw", "GOSUMDB=off",
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache/download")}
	run(t, t.TempDir(), env, "go", "install", hosted+"/cmd/bench@"+v.Version)
	if got := run(t, t.TempDir(), nil, filepath.Join(bin, "bench"), "version"); !strings.HasPrefix(got, "bench v1.2.3, go1.") {
		t.Errorf("bench version prints %q", got)
	}
	info, err := os.Stat(filepath.Join(bin, "bench"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("go install of %s: %.1f MB", v, float64(info.Size())/1e6)
}
