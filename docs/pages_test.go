package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bench/experiment/metric"
)

// mostWords are the longest that pages may become: a page that grows loses something else, or its reader.
var mostWords = map[string]int{
	"README.md": 200, "start.md": 900, "coming-from.md": 900, "recipes.md": 700, "matrix.md": 2450, "slo.md": 900, "reading.md": 1500,
	"findings.md": 900, "nightly.md": 939, "traces.md": 800, "live.md": 700, "tile.md": 400, "scale.md": 850,
	"telemetry.md": 500, "predict.md": 1520, "results.md": 1000, "size.md": 640, "mock.md": 495, "inside.md": 730, "grafana/README.md": 168,
}

const (
	mostWordsInAll    = 15256 // without findings.md, which is generated
	mostLinesOfReadme = 150
)

func TestLengthOfPages(t *testing.T) {
	all := 0
	for name, text := range markdown(t, ".") {
		words := len(strings.Fields(text))
		if name != "findings.md" {
			all += words
		}
		if most := mostWords[name]; words > most {
			t.Errorf("%s has %d words, at most %d", name, words, most)
		}
	}
	if all > mostWordsInAll {
		t.Errorf("the pages have %d words, at most %d", all, mostWordsInAll)
	}
	readme, err := os.ReadFile("../README.md")
	if n := strings.Count(string(readme), "\n"); err != nil || n >= mostLinesOfReadme {
		t.Errorf("README.md has %d lines, fewer than %d: %v", n, mostLinesOfReadme, err)
	}
}

// markdown are the pages below a folder, by their path from there.
func markdown(t *testing.T, root string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "results") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		relative, _ := filepath.Rel(root, name)
		pages[filepath.ToSlash(relative)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	fences   = regexp.MustCompile("(?ms)^```.*?^```$")
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	anchors  = regexp.MustCompile(`<a id="([^"]+)">`)
	inCode   = regexp.MustCompile(`\b(?:docs|benchmarks)(?:/[a-zA-Z-]+){1,2}\.md(?:#[a-z-]+)?`)
)

// TestLinks: every link of the manual, and every page that the program or its scripts name, leads to a file, and to a
// heading in it.
func TestLinks(t *testing.T) {
	pages := markdown(t, root)
	places := map[string]bool{}
	for name, text := range pages {
		for _, anchor := range anchorsOf(text) {
			places[name+"#"+anchor] = true
		}
	}
	check := func(from, to string) {
		if file, _, hasAnchor := strings.Cut(to, "#"); hasAnchor && !places[to] {
			t.Errorf("%s leads to %s, which has no such heading", from, to)
		} else if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("%s leads to %s, which does not exist", from, to)
		}
	}
	for name, text := range pages {
		for _, link := range links.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			switch to := link[1]; {
			case strings.Contains(to, "://"):
			case strings.HasPrefix(to, "#"):
				check(name, name+to)
			default:
				check(name, path.Join(path.Dir(name), to))
			}
		}
	}
	for name, text := range sources(t) {
		for _, page := range inCode.FindAllString(text, -1) {
			check(name, page)
		}
	}
}

// anchorsOf are the anchors that GitHub gives the headings of a page, and those that it has besides.
func anchorsOf(text string) (names []string) {
	seen := map[string]int{}
	for _, h := range headings.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(h[1]), "")
		name = strings.ReplaceAll(name, " ", "-")
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, seen[name]-1)
		}
		names = append(names, name)
	}
	for _, a := range anchors.FindAllStringSubmatch(text, -1) {
		names = append(names, a[1])
	}
	return names
}

// sources are the files that can name a page: code, scripts, matrices.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, dir := range []string{"cmd", "experiment", "report", "sweep", "internal", "deploy", "matrices", "Makefile", ".goreleaser.yaml"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && d.Name() == "testdata" {
					return fs.SkipDir
				}
				return err
			}
			text, err := os.ReadFile(name)
			files[name] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// A latency that an SLO can limit is defined for readers, and listed among the limits.
func TestLatenciesAreDescribed(t *testing.T) {
	pages := markdown(t, ".")
	for _, name := range metric.Latencies {
		word := regexp.MustCompile("[` ]" + name + "[` ]")
		for _, page := range []string{"reading.md", "slo.md"} {
			if !word.MatchString(pages[page]) {
				t.Errorf("%s does not name the latency %s", page, name)
			}
		}
	}
}
