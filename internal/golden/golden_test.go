// Package golden holds the figures of bench: what its binary writes for stored runs and for matrices in virtual time, compared to
// the byte with testdata/golden. A change of the code that should leave figures alone leaves these files alone.
//
//	go test ./internal/golden             all but what takes more than a few seconds
//	make golden-all                       all of it
//	go test ./internal/golden -update     writes the files anew: read the diff before committing it
//
// BENCH=FILE compares another binary, such as that of an earlier commit.
package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	update = flag.Bool("update", false, "write testdata/golden anew")
	all    = flag.Bool("all", false, "the slow cases, too")
)

// binary is the bench under test.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "golden")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary = os.Getenv("BENCH"); binary == "" {
		binary = filepath.Join(dir, "bench")
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "bench/cmd/bench") // as make build does
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building bench: %v\n%s", err, out)
			return 1
		}
	}
	os.Setenv("TMPDIR", "/tmp") // of the results: lines wrap by the length of their path
	return m.Run()
}

// readSources looks at each file that bench is built from, so that go test runs the cases again when one of them changes: go
// notes which files a test looks at, but not what go build reads.
var readSources = sync.OnceValue(func() error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "results" || d.Name() == "benchmarks") {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			_, err = os.Stat(path)
		}
		return err
	})
})

// root is the repository, in which all commands run: the paths in their output are relative to it.
const root = "../.."

const (
	modes  = "internal/golden/testdata/modes"
	stored = "internal/golden/testdata/runs"
)

// TestStored reads runs that are stored, in each format.
func TestStored(t *testing.T) {
	runs := []string{example}
	entries, err := filepath.Glob(filepath.Join(root, stored, "*", "*Z"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, err := filepath.Rel(root, e)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, "nightly") { // compared below
			runs = append(runs, filepath.ToSlash(name))
		}
	}
	for _, run := range runs {
		golden(t, filepath.Base(filepath.Dir(run)), func(c *testCase) {
			c.documents("report", run)
			c.print("findings.txt", "report", run, "--findings")
			c.print("points.csv", "report", run, "--format", "csv")
			c.print("again.json", "report", run, "--recompute", "--format", "json")
			c.print("slo.txt", "report", run, "--slo", "ttft_p95=20ms,tpot_p95=3ms", "--format", "text")
		})
	}
}

// TestCompared compares pairs of stored runs, and follows several over time.
func TestCompared(t *testing.T) {
	nights := stored + "/nightly"
	good, slow := nights+"/20261124T175608Z", nights+"/20261124T175626Z"
	for _, pair := range []struct{ name, base, new string }{
		{"equal", good, nights + "/20261124T175613Z"},
		{"slower", good, slow},
		{"nights", nights + "/20261124T1756[01]*Z", slow},
	} {
		golden(t, "compare-"+pair.name, func(c *testCase) { c.documents("compare", pair.base, pair.new) })
	}
	golden(t, "compare-sides", func(c *testCase) { c.documents("compare", stored+"/endpoints/20261124T175501Z") })
	golden(t, "gate", func(c *testCase) {
		c.print("gate.txt", "compare", good, slow, "--gate", "--junit", c.file("gate.xml"))
		c.keep("gate.xml")
	})
	golden(t, "history", func(c *testCase) {
		if err := os.CopyFS(c.file("nightly"), os.DirFS(filepath.Join(root, nights))); err != nil { // history caches what it reads
			c.Fatal(err)
		}
		c.documents("history", c.file("nightly"))
	})
}

// TestRecorded reads live traffic that was recorded, with a candidate beside it.
func TestRecorded(t *testing.T) {
	golden(t, "recorded", func(c *testCase) {
		live := stored + "/live.jsonl.zst"
		c.documents("report", live)
		c.print("findings.txt", "report", live, "--findings")
		c.print("points.csv", "report", live, "--format", "csv")
		c.print("slo.txt", "report", live, "--slo", "ttft_p95=20ms", "--format", "text")
		c.print("trace.txt", "trace", live)
		c.print("trace.json", "trace", live, "--format", "json")
	})
}

// TestModes runs a matrix of each mode of a row in virtual time.
func TestModes(t *testing.T) {
	files, err := filepath.Glob("testdata/modes/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".toml")
		if name == "search" && !*all {
			continue
		}
		golden(t, name, func(c *testCase) { c.rows(c.predict(modes + "/" + name + ".toml")) })
	}
}

// TestShipped runs the shipped matrices in virtual time, on the hardware that they name or else on an H100.
func TestShipped(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "matrices", "*.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".toml")
		// They take most of the time: searches, of which a row of quick is below, and rows like those of chat, but longer.
		if slices.Contains([]string{"tune", "search", "quick", "half-hour"}, name) && !*all {
			continue
		}
		golden(t, "matrix-"+name, func(c *testCase) {
			if run := c.predict(c.onHardware(f)); run != "" {
				c.print("points.csv", "report", run, "--format", "csv")
				c.print("summary.txt", "report", run, "--format", "text")
			}
		})
	}
	for name, row := range map[string][2]string{"mix": {"chat.toml", "F-production-mix"}, "quick-chat": {"quick.toml", "chat"}} {
		golden(t, name, func(c *testCase) {
			run := c.predict(c.onHardware(filepath.Join(root, "matrices", row[0])), "--only", row[1])
			c.print("summary.txt", "report", run, "--format", "text")
		})
	}
}

// A sweep ends with its answer on one screen, in few words.
func TestAnswerIsShort(t *testing.T) {
	for _, name := range []string{"matrix-chat", "mix"} {
		text, err := os.ReadFile(filepath.Join("testdata", "golden", name, "summary.txt"))
		if err != nil {
			t.Fatal(err)
		}
		words := len(regexp.MustCompile(`\S*[\pL\pN]\S*`).FindAll(text, -1))
		if lines := bytes.Count(text, []byte("\n")); words > 200 || lines > 38 {
			t.Errorf("%s: %d words in %d lines:\n%s", name, words, lines, text)
		}
	}
}

// onHardware is a copy of a shipped matrix with a model and hardware in its [target], where it has none.
func (c *testCase) onHardware(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n[target]\n")
	target, rest, _ := strings.Cut(rest, "\n[")
	for _, line := range []string{`hardware = "h100-sxm"`, `model = "llama-3.1-8b"`} {
		key, _, _ := strings.Cut(line, " ")
		if !regexp.MustCompile(`(?m)^` + key + `\s*=\s*"\w`).MatchString(target) {
			target = line + "\n" + regexp.MustCompile(`(?m)^`+key+`\s*=.*\n`).ReplaceAllString(target, "")
		}
	}
	to := c.file(filepath.Base(file))
	if err := os.WriteFile(to, []byte(head+"\n[target]\n"+target+"\n["+rest), 0o600); err != nil {
		c.Fatal(err)
	}
	return to
}

// testCase collects the files of a case, to compare them with those in testdata/golden/<name>.
type testCase struct {
	*testing.T
	name  string
	dir   string            // scratch
	runs  []string          // ids of the runs that the case makes
	files map[string][]byte // by name
}

// golden runs a case, beside others.
func golden(t *testing.T, name string, run func(*testCase)) {
	if err := readSources(); err != nil {
		t.Fatal(err)
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c := &testCase{T: t, name: name, dir: t.TempDir(), files: map[string][]byte{}}
		run(c)
		c.end()
	})
}

func (c *testCase) file(name string) string { return filepath.Join(c.dir, name) }

// bench runs a command. Its exit code and errors are part of its output.
func (c *testCase) bench(args ...string) []byte {
	c.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "COLUMNS=100")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	if err != nil {
		fmt.Fprintf(&out, "\nexit code %d\n%s", exit.ExitCode(), stderr.Bytes())
	}
	return out.Bytes()
}

// print keeps what a command prints.
func (c *testCase) print(name string, args ...string) {
	c.Helper()
	c.add(name, c.bench(args...))
}

// keep keeps a file that a command wrote.
func (c *testCase) keep(name string) {
	c.Helper()
	text, err := os.ReadFile(c.file(name))
	if err != nil {
		c.Fatal(err)
	}
	c.add(name, text)
}

// documents keeps what a command prints in each of its formats.
func (c *testCase) documents(args ...string) {
	c.Helper()
	c.print("text.txt", append(args, "--format", "text")...)
	c.print("text.md", append(args, "--format", "md")...)
	c.print("data.json", append(args, "--format", "json")...)
	c.page(args...)
}

// page keeps the data in a page: the blocks of JSON that its scripts read.
func (c *testCase) page(args ...string) {
	c.Helper()
	file := c.file("page.html")
	if out := c.bench(append(args, "--format", "html", "-o", file)...); bytes.Contains(out, []byte("exit code")) {
		c.add("page.txt", out)
		return
	}
	html, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	var text bytes.Buffer
	blocks := regexp.MustCompile(`(?s)<script type="application/json"([^>]*)>(.*?)</script>`)
	for _, block := range blocks.FindAllSubmatch(html, -1) {
		if bytes.Contains(block[1], []byte("bench-data")) { // data.json has it
			continue
		}
		fmt.Fprintf(&text, "== %s\n%s\n", bytes.TrimSpace(block[1]), block[2])
	}
	c.add("page.txt", text.Bytes())
}

// predict runs a matrix in virtual time and returns the directory of its run; empty: it is refused, and why is kept.
func (c *testCase) predict(matrix string, more ...string) string {
	c.Helper()
	out := c.bench(append([]string{"predict", matrix, "--out", c.dir}, more...)...)
	dirs, err := filepath.Glob(filepath.Join(c.dir, "*", "*Z"))
	if err != nil {
		c.Fatal(err)
	}
	if len(dirs) == 0 {
		c.add("refused.txt", bytes.ReplaceAll(out, []byte(c.dir+"/"), nil))
		return ""
	}
	c.runs = append(c.runs, filepath.Base(dirs[0]))
	return dirs[0]
}

// rows keeps the documents of a run, and its report.
func (c *testCase) rows(run string) {
	c.Helper()
	if run == "" {
		return
	}
	documents, err := filepath.Glob(filepath.Join(run, "*.json"))
	if err != nil {
		c.Fatal(err)
	}
	for _, d := range append(documents, filepath.Join(run, "summary.md")) {
		text, err := os.ReadFile(d)
		if err != nil {
			c.Fatal(err)
		}
		c.add(filepath.Base(d), text)
	}
	c.print("points.csv", "report", run, "--format", "csv")
	c.print("text.txt", "report", run, "--findings")
	c.page("report", run)
}

// moment matches what differs from one execution to the next: times of the clock, the time that bench itself took, the machine
// that it ran on, and the salt.
var moment = regexp.MustCompile(`(?m)^\s*"(started_at|sha256|ended_at|salt|prepare_s|own_s|total_s|last_row_s|last_verdict_s|own_cpu_s|` +
	`bench_version|bench_commit|go_version|os|kernel|host|cpu|cores|gomaxprocs|memory_gib|matrix_file|matrix_sha256)":.*\n`)

var (
	clock  = regexp.MustCompile(`20\d\d-\d\d-\d\d[ \nT]+\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)( · [0-9msh.µ]+)?`)
	itself = regexp.MustCompile(`(?m)^(- time|  time    ).*\n( {4,}.*\n)*`) // the line with the time that bench took
)

func (c *testCase) add(name string, text []byte) {
	if indented := new(bytes.Buffer); json.Indent(indented, text, "", " ") == nil {
		text = indented.Bytes()
	}
	for _, run := range c.runs {
		text = bytes.ReplaceAll(text, []byte(run), []byte("RUN"))
	}
	text = bytes.ReplaceAll(text, []byte(c.dir), []byte("DIR"))
	if len(c.runs) > 0 {
		text = moment.ReplaceAll(text, nil)
		text = clock.ReplaceAll(text, []byte("CLOCK"))
		text = itself.ReplaceAll(text, nil)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	c.files[name] = text
}

// end compares the files of the case with the stored ones, or stores them.
func (c *testCase) end() {
	c.Helper()
	dir := filepath.Join("testdata", "golden", c.name)
	if *update {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			c.Fatal(err)
		}
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				c.Fatal(err)
			}
		}
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := c.files[e.Name()]; !ok {
			c.Errorf("%s/%s: bench does not write it any more", c.name, e.Name())
		}
	}
	for name, got := range c.files {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			c.Errorf("%s: %v", c.name, err)
			continue
		}
		if !bytes.Equal(want, got) {
			c.Errorf("%s/%s:\n%s", c.name, name, difference(string(want), string(got)))
		}
	}
}

// difference is the first lines that stand in one text alone, in the order of the texts.
func difference(want, got string) string {
	const most, widest = 20, 300
	var out []string
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, side := range []struct {
		mark        string
		lines, rest []string
	}{{"-", a, b}, {"+", b, a}} {
		other := map[string]int{}
		for _, line := range side.rest {
			other[line]++
		}
		n := 0
		for _, line := range side.lines {
			if other[line]--; other[line] >= 0 {
				continue
			}
			if n++; n <= most {
				out = append(out, side.mark+line[:min(len(line), widest)])
			}
		}
		if n > most {
			out = append(out, fmt.Sprintf("%s… %d lines more", side.mark, n-most))
		}
	}
	if len(out) == 0 {
		return "the same lines in another order"
	}
	return strings.Join(slices.Clip(out), "\n")
}
