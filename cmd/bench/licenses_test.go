package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bench/internal/packed"
)

var update = flag.Bool("update", false, "write licenses.txt anew")

// TestLicenses: licenses.txt has the licenses of all modules that bench links on any system, and no others.
func TestLicenses(t *testing.T) {
	want := licenseTexts(t)
	if *update {
		var gz bytes.Buffer
		w, _ := gzip.NewWriterLevel(&gz, gzip.BestCompression)
		_, err := io.WriteString(w, want)
		err = errors.Join(err, w.Close(), os.WriteFile("licenses.txt.gz", gz.Bytes(), 0o644), os.WriteFile("licenses.txt", []byte(want), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	shipped, err := os.ReadFile("licenses.txt")
	if err != nil {
		t.Fatal(err)
	}
	if packed.Text(licenses) != want || string(shipped) != want {
		t.Error("licenses.txt is not what go.mod links: make licenses")
	}
}

type module struct{ Path, Version, Dir string }

func linkedModules(t *testing.T) []module {
	t.Helper()
	var all []module
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", ".")
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					module
					Main bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module != nil && !p.Module.Main && !slices.Contains(all, p.Module.module) {
				all = append(all, p.Module.module)
			}
		}
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// licenseTexts writes each distinct text once, below the names of those that it is of.
func licenseTexts(t *testing.T) string {
	t.Helper()
	var order []string
	of := map[string][]string{}
	add := func(name, file string) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := trailing.ReplaceAllString(strings.Trim(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n"), "\n")
		if of[text] == nil {
			order = append(order, text)
		}
		of[text] = append(of[text], name)
	}
	add("bench", "../../LICENSE")
	add("Apache ECharts, in reports", "../../report/page/assets/NOTICE.echarts")
	for _, m := range linkedModules(t) {
		files := licenseFiles(t, m.Dir)
		if len(files) == 0 {
			t.Errorf("%s has no license", m.Path)
		}
		for _, file := range files {
			add(m.Path+" "+m.Version, file)
			if m.Path == "golang.org/x/sys" { // the same text, and not every Go installation has its own
				add("Go's standard library", file)
			}
		}
	}
	var b strings.Builder
	for _, text := range order {
		fmt.Fprintf(&b, "=== %s\n\n%s\n\n", strings.Join(of[text], "\n=== "), text)
	}
	return b.String()
}

var (
	trailing    = regexp.MustCompile(`[ \t]+\n`)
	licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)
)

func licenseFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if licenseFile.MatchString(e.Name()) && !e.IsDir() && !strings.HasSuffix(e.Name(), ".go") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}
