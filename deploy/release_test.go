package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const platform = "linux/amd64"

// released is a release of one platform, and the folder of its source.
func released(t *testing.T, env ...string) (files, source string) {
	t.Helper()
	source, files = tree(t), filepath.Join(t.TempDir(), "dist")
	run(t, source, env, "go", "run", "./deploy/release", "-commit", "0123456789ab", "-platforms", platform, "-out", files)
	return files, source
}

// TestRelease: two folders and two caches of the compiler give equal files; the archive and its SBOM are what bench is.
func TestRelease(t *testing.T) {
	long(t)
	first, source := released(t)
	second, _ := released(t, "GOCACHE="+t.TempDir())
	sums, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if string(sums) != string(again) || strings.Count(string(sums), "\n") != 3 {
		t.Errorf("two builds differ, or have not 3 files:\n%s\n%s", sums, again)
	}
	run(t, second, nil, "sha256sum", "-c", "SHA256SUMS")

	archives, _ := filepath.Glob(filepath.Join(first, "*.tar.gz"))
	dir := t.TempDir()
	run(t, dir, nil, "tar", "xzf", archives[0], "--strip-components=1")
	for _, name := range []string{"LICENSE", "licenses.txt", "CHANGELOG.md", "completions/_bench", "completions/bench.bash", "completions/bench.fish"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s is not in the archive, or empty: %v", name, err)
		}
	}
	goroot := strings.TrimSpace(run(t, dir, nil, "go", "env", "GOROOT"))
	if text, _ := os.ReadFile(filepath.Join(dir, "bench")); strings.Contains(string(text), source) || strings.Contains(string(text), goroot+"/src") {
		t.Error("the binary has paths of this machine")
	}
	if runtime.GOOS+"/"+runtime.GOARCH == platform {
		if got := run(t, dir, nil, "./bench", "version"); !regexp.MustCompile(`^bench v\S+ \(0123456789ab\), go1\.`).MatchString(got) {
			t.Errorf("bench version prints %q", got)
		}
	}
	checkSBOM(t, strings.TrimSuffix(archives[0], ".tar.gz")+".cdx.json", filepath.Join(dir, "bench"))
}

// checkSBOM compares an SBOM with what go version -m reports of the binary.
func checkSBOM(t *testing.T, sbom, binary string) {
	t.Helper()
	var bill struct {
		BOMFormat    string
		Components   []struct{ Name, Version string }
		Dependencies []struct{ DependsOn []string }
	}
	text, err := os.ReadFile(sbom)
	if err == nil {
		err = json.Unmarshal(text, &bill)
	}
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, c := range bill.Components {
		listed[c.Name] = c.Version
	}
	linked := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(run(t, ".", nil, "go", "version", "-m", binary), -1)
	for _, m := range linked {
		if listed[m[1]] != m[2] {
			t.Errorf("%s %s is linked, the SBOM has %q", m[1], m[2], listed[m[1]])
		}
	}
	const beside = 3 // Go's library, ECharts and its part
	if len(linked) < 15 || len(listed) != len(linked)+beside || len(bill.Dependencies[0].DependsOn) != len(listed) {
		t.Errorf("%d components for %d modules", len(listed), len(linked))
	}
}

// TestImage builds the image and runs it: as another user than root, with folders that it may write to.
func TestImage(t *testing.T) {
	long(t)
	if _, err := exec.LookPath("buildah"); err != nil || os.Getuid() != 0 || runtime.GOOS+"/"+runtime.GOARCH != platform {
		t.Skip("building and running the image takes buildah, root and " + platform)
	}
	files, _ := released(t)
	store := t.TempDir()
	buildah := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(run(t, "..", []string{"BUILDAH_ISOLATION=chroot", "STORAGE_DRIVER=vfs"}, "buildah",
			append([]string{"--root", store + "/root", "--runroot", store + "/run"}, args...)...))
	}
	buildah("bud", "-q", "-f", "deploy/Dockerfile", "-t", "bench-test", files)
	saved := filepath.Join(t.TempDir(), "image.tar")
	buildah("push", "-q", "bench-test", "docker-archive:"+saved)
	info, err := os.Stat(saved)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the image has %.1f MB", float64(info.Size())/1e6)
	if info.Size() > 30e6 {
		t.Errorf("the image has %d bytes, more than 30 MB", info.Size())
	}
	box := buildah("from", "localhost/bench-test")
	defer buildah("rm", box)
	inside := func(args ...string) string {
		return buildah(append([]string{"run", box, "--", "/usr/bin/bench"}, args...)...)
	}
	inside("init")
	inside("sweep", "matrices/smoke.toml", "--only", "whole", "--plain")
	mounted := buildah("mount", box)
	defer buildah("umount", box)
	reports, _ := filepath.Glob(filepath.Join(mounted, "home/bench/results/smoke/*/report.html"))
	if len(reports) != 1 {
		t.Fatalf("%d reports", len(reports))
	}
	if owner := run(t, ".", nil, "stat", "-c", "%u:%g", reports[0]); owner != "65532:65532\n" {
		t.Errorf("the report is of %s", owner)
	}
}
