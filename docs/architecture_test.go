// Package docs holds no code: this test lies beside inside.md because it holds the tree to the tables
// of that page.
package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path that our imports begin with, from go.mod: deploy/module can change it.
var module = modulePath()

// mayImport is the table of docs/inside.md, each of our packages with those of ours that it may
// import: whatever is not listed is forbidden. Folders are relative to the root, "." is the root.
var mayImport = map[string][]string{
	".":               {}, // the model table; for cmd alone
	"deploy":          {}, // tests alone
	"internal/golden": {}, // tests alone
	"internal/listen": {},
	"internal/packed": {},
	"internal/yaml":   {},
	"docs":            {}, // tests alone
	"docs/schema":     {}, // tests alone
	"cmd/bench":       {everything},
	"sweep": {
		"experiment", "experiment/endpoint", "experiment/record", "experiment/series", "experiment/server",
		"experiment/metric", "experiment/stats", "experiment/target", "experiment/telemetry", "experiment/text",
		"experiment/tune", "experiment/unit", "experiment/verdict", "experiment/workload", "sweep/matrix",
	},
	"sweep/matrix": {
		"experiment", "experiment/endpoint", "experiment/metric", "experiment/roofline", "experiment/series",
		"experiment/server", "experiment/target", "experiment/text", "experiment/tune", "experiment/workload",
		"sweep/strict",
	},
	"sweep/live": {
		"experiment", "experiment/endpoint", "experiment/metric", "experiment/openai", "experiment/record", "experiment/stats",
		"experiment/text", "experiment/unit", "experiment/verdict", "experiment/workload", "sweep", "sweep/forecast",
		"sweep/matrix",
	},
	"sweep/workers": {
		"experiment", "experiment/endpoint", "experiment/openai", "experiment/record", "experiment/telemetry",
		"experiment/text", "experiment/workload",
	},
	"sweep/strict": {"experiment/text"},
	"sweep/peers":  {"experiment/text", "internal/yaml"},
	"sweep/revisions": {
		"experiment/bisect", "experiment/metric", "experiment/record", "experiment/server", "experiment/stats",
		"experiment/text", "experiment/unit", "sweep",
	},
	"sweep/predict": {
		"experiment", "experiment/endpoint", "experiment/load", "experiment/mock", "experiment/openai",
		"experiment/record", "experiment/roofline", "experiment/telemetry", "experiment/tune", "experiment/workload", "sweep",
		"sweep/matrix",
	},

	"sweep/forecast": {
		"experiment", "experiment/endpoint", "experiment/prompts", "experiment/record", "experiment/stats",
		"experiment/text", "experiment/unit", "experiment/workload", "sweep", "sweep/matrix",
	},

	"report": {
		"experiment", "experiment/diagnosis", "experiment/metric", "experiment/published", "experiment/record",
		"experiment/roofline", "experiment/series", "experiment/stats", "experiment/telemetry", "experiment/text",
		"experiment/tune", "experiment/unit", "experiment/verdict", "report/compare", "report/parallel",
		"report/shadow",
	},
	"report/verify": {"experiment/record", "report"},
	"report/why": {
		"experiment", "experiment/check", "experiment/metric", "experiment/record", "experiment/series", "experiment/stats", "experiment/text",
		"experiment/twin", "experiment/unit", "experiment/verdict", "report", "report/compare", "report/parallel",
	},
	"report/size": {
		"experiment", "experiment/record", "experiment/roofline", "experiment/series", "experiment/text",
		"experiment/twin", "experiment/unit", "experiment/verdict", "report", "report/parallel",
	},
	"report/referee": {
		"experiment/mock", "experiment/record", "experiment/stats", "experiment/text", "experiment/unit", "report",
		"report/foreign",
	},
	"report/rehearse": {"experiment", "experiment/stats", "experiment/unit", "report", "report/compare"},
	"report/browse": {
		"experiment/text", "experiment/unit", "report", "report/compare", "report/foreign", "report/page",
	},
	"report/compare": {
		"experiment", "experiment/metric", "experiment/record", "experiment/stats", "experiment/unit",
		"experiment/verdict", "report/parallel",
	},
	"report/shadow": {
		"experiment/metric", "experiment/record", "experiment/stats", "experiment/unit", "live/recording",
		"report/compare",
	},
	"report/page": {
		"experiment", "experiment/diagnosis", "experiment/metric", "experiment/record", "experiment/roofline",
		"experiment/series", "experiment/stats", "experiment/telemetry", "experiment/text", "experiment/unit",
		"experiment/verdict", "internal/packed", "report", "report/compare", "report/parallel", "report/shadow",
	},
	"report/parallel": {},
	"report/export": {
		"experiment", "experiment/metric", "experiment/record", "experiment/stats", "experiment/text",
		"experiment/telemetry", "experiment/unit", "experiment/verdict", "experiment/workload", "internal/yaml", "report",
		"report/compare",
	},
	// for tests
	"internal/loadgentest": {},
	"internal/fixturetest": {"experiment", "experiment/record", "experiment/workload"},
	"internal/reporttest": {
		"experiment", "experiment/record", "experiment/roofline", "experiment/stats", "experiment/telemetry",
		"experiment/workload", "live/recording", "report/compare", "report/parallel", "report/shadow",
	},
	"report/foreign": {
		"experiment", "experiment/metric", "experiment/record", "experiment/roofline", "experiment/stats",
		"experiment/unit", "experiment/verdict", "experiment/workload", "internal/yaml", "live/recording", "report",
		"report/compare", "report/shadow",
	},

	"experiment/endpoint": {
		"experiment", "experiment/check", "experiment/collect", "experiment/load", "experiment/measured", "experiment/openai",
		"experiment/prompts", "experiment/record", "experiment/response", "experiment/selftest", "experiment/stats",
		"experiment/target", "experiment/telemetry", "experiment/text", "experiment/unit", "experiment/verdict",
		"experiment/workload",
	},
	"experiment/diagnosis": {
		"experiment", "experiment/check", "experiment/metric", "experiment/record", "experiment/series",
		"experiment/stats", "experiment/telemetry", "experiment/tune", "experiment/unit", "experiment/verdict",
	},
	"experiment/series": {
		"experiment", "experiment/check", "experiment/metric", "experiment/published", "experiment/record",
		"experiment/roofline", "experiment/stats", "experiment/twin", "experiment/unit", "experiment/verdict",
		"experiment/workload",
	},
	"experiment/verdict": {
		"experiment", "experiment/check", "experiment/metric", "experiment/record", "experiment/stats",
		"experiment/unit", "experiment/workload",
	},
	"experiment/check": {
		"experiment", "experiment/metric", "experiment/record", "experiment/selftest", "experiment/stats",
		"experiment/telemetry", "experiment/unit", "experiment/workload",
	},
	"experiment/record": {
		"experiment", "experiment/metric", "experiment/roofline", "experiment/scan", "experiment/selftest",
		"experiment/stats", "experiment/telemetry", "experiment/text", "experiment/trace", "experiment/twin",
		"experiment/unit", "experiment/workload",
	},
	"experiment": {
		"experiment/metric", "experiment/response", "experiment/roofline", "experiment/stats", "experiment/target",
		"experiment/telemetry", "experiment/text", "experiment/unit", "experiment/workload",
	},

	"experiment/load":     {"experiment/openai", "experiment/workload"},
	"experiment/openai":   {"experiment/scan", "experiment/target"},
	"experiment/measured": {"experiment/openai", "experiment/record"},
	"live/recording":      {"experiment/record", "experiment/scan", "experiment/trace"},
	"live/proxy": {
		"experiment/measured", "experiment/openai", "experiment/record", "experiment/target", "experiment/trace",
		"internal/listen", "live/recording",
	},
	"experiment/selftest": {"experiment/text", "experiment/unit"},
	"experiment/selftest/runner": {
		"experiment/load", "experiment/openai", "experiment/selftest", "experiment/server", "experiment/stats",
		"experiment/workload",
	},
	"experiment/server":    {"experiment/processes", "experiment/text"},
	"experiment/telemetry": {},
	"experiment/collect":   {"experiment/processes", "experiment/telemetry"},
	"experiment/mock":      {"experiment/kv", "experiment/roofline", "internal/listen"},
	"experiment/kv":        {},
	"experiment/hostile":   {},
	"experiment/workload":  {"experiment/prompts", "experiment/trace"},
	"experiment/prompts":   {},
	"experiment/trace":     {"experiment/text"},

	"experiment/bisect":    {},
	"experiment/response":  {},
	"experiment/text":      {},
	"experiment/metric":    {},
	"experiment/processes": {},
	"experiment/published": {"experiment/unit", "internal/packed"},
	"experiment/roofline":  {"experiment/published", "experiment/text", "experiment/unit"},
	"experiment/scan":      {},
	"experiment/stats":     {},
	"experiment/target":    {},
	"experiment/tune":      {"experiment/workload"},
	"experiment/twin":      {},
	"experiment/unit":      {},
}

const everything = "*"

// extras are what the core does without: other tools, other machines, live traffic, the view of a running sweep, and the
// reading of many runs. Only the programs, tests and other extras import them. Two more belong here and do not stand here
// yet: live/recording, which report/shadow reads for a candidate beside live traffic, and experiment/published, whose
// figures roofline, series and report set beside a prediction.
var extras = []string{
	"experiment/hostile", "experiment/selftest/runner", "live/proxy", "report/browse", "report/export", "report/foreign",
	"report/referee", "report/rehearse", "report/size", "report/verify", "report/why", "sweep/forecast", "sweep/live", "sweep/peers", "sweep/predict", "sweep/revisions", "sweep/workers",
}

func TestCoreWithoutExtras(t *testing.T) {
	for from, to := range mayImport {
		if slices.Contains(extras, from) || strings.HasPrefix(from, "internal/") {
			continue
		}
		for _, name := range to {
			if slices.Contains(extras, name) {
				t.Errorf("%s, which is of the core, may import %s, which is an extra", from, name)
			}
		}
	}
	for _, name := range extras {
		if _, ok := mayImport[name]; !ok {
			t.Errorf("there is no package %s", name)
		}
	}
}

// root is the way from here to the root of the module.
const root = ".."

// programs are the packages with a main function.
var programs = []string{"cmd/bench"}

// onlyIn says where a package of others, or one name of it ("os.Exit"), may be used. Tests are
// free of it, but for randomness: a test that can't be repeated is of no use.
var onlyIn = []struct {
	what  []string
	where []string // our packages that may; nil = none
	tests bool     // holds in tests too
	rule  string
}{
	{
		what:  []string{"flag", "github.com/spf13/cobra", "github.com/spf13/cobra/doc", "github.com/spf13/pflag", "os.Args"},
		where: programs, rule: "the command line is read in cmd/bench",
	},
	{
		what: []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "os.Setenv", "os.Unsetenv", "os.Clearenv",
			"syscall.Getenv", "syscall.Environ", "golang.org/x/sys/unix.Getenv", "golang.org/x/sys/unix.Environ"},
		where: []string{"cmd/bench"}, rule: "the environment is read in cmd/bench",
	},
	{what: []string{"os/signal"}, where: []string{"cmd/bench"}, rule: "signals are caught in cmd/bench"},
	{
		what:  []string{"os.Exit", "syscall.Exit", "golang.org/x/sys/unix.Exit"},
		where: programs, rule: "exit codes are cmd/bench's: return an error",
	},
	{
		what: []string{"os/exec", "os.StartProcess", "syscall.ForkExec", "syscall.StartProcess",
			"syscall.Exec"}, where: []string{"experiment/server", "experiment/collect",
			"internal/reporttest"},
		rule: "processes are started in server and collect",
	},
	{
		what: []string{"net/http"},
		where: slices.Concat(programs, []string{"experiment/endpoint", "experiment/mock", "experiment/hostile", "experiment/openai",
			"live/proxy", "experiment/record", "experiment/selftest/runner", "experiment/server",
			"experiment/collect", "internal/listen", "report/browse", "sweep/workers"}),
		rule: "HTTP is spoken to servers, by the simulated one, between leader and workers, in report/browse, live/proxy and internal/listen",
	},
	{
		what: []string{"log", "log/slog", "log/syslog"}, where: []string{"cmd/bench", "live/proxy", "internal/listen"},
		rule: "nothing below cmd logs: return a value or an event", // these two: net/http's own lines are discarded
	},
	{
		what:  []string{"fmt.Print", "fmt.Printf", "fmt.Println", "os.Stdout", "os.Stderr", "os.Stdin"},
		where: programs,
		rule:  "nothing below cmd prints: take an io.Writer",
	},
	{what: []string{"math/rand"}, tests: true, rule: "randomness is math/rand/v2's, from a seeded *rand.Rand"},
}

// seeded are the names of math/rand/v2 that don't touch its global source.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

func TestArchitecture(t *testing.T) {
	files := 0
	eachGoFile(t, func(name string, text []byte) {
		files++
		if path.Dir(name) == "." && name != "embed.go" {
			t.Errorf("%s: the root holds no Go but embed.go", name)
		}
		for _, v := range violations(t, name, string(text)) {
			t.Error(v)
		}
	})
	if files < 50 {
		t.Errorf("only %d Go files were found: is %s still the root of the module?", files, root)
	}
}

// eachGoFile reads all Go files of the module, tests too.
func eachGoFile(t *testing.T, do func(name string, text []byte)) {
	t.Helper()
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && notOurs(tree, name):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err == nil {
			do(name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// notOurs are folders that the go command leaves out, and other modules.
func notOurs(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

func modulePath() string {
	text, err := os.ReadFile(path.Join(root, "go.mod"))
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module ")
}

// TestArchitectureRules breaks each rule in a file of its own: a checker that can't fail checks nothing. MODULE is ours.
func TestArchitectureRules(t *testing.T) {
	const (
		load = "experiment/load/x.go"
		cmd  = "cmd/bench/x.go"
	)
	for _, c := range []struct {
		name, file, text string
		want             string // part of the one violation; empty: none
	}{
		{"arrow up", load, `import "MODULE/experiment"`, "experiment/load/x.go:2: imports MODULE/experiment"},
		{"arrow sideways", "experiment/stats/x.go", `import "MODULE/experiment/openai"`, "experiment/stats may import none of ours"},
		{"root below cmd", "report/x.go", `import "MODULE"`, "report/x.go:2: imports MODULE: "},
		{"strict is a leaf", "sweep/strict/x.go", `import "MODULE/experiment"`, "sweep/strict may import only experiment/text"},
		{"sweep skips a shelf", "sweep/x.go", `import _ "MODULE/experiment/openai"`, "imports MODULE/experiment/openai"},
		{"mock and client are apart", "experiment/mock/x.go", `import "MODULE/experiment/openai"`, "imports MODULE/experiment/openai"},
		{"new package", "util/x.go", ``, "util/x.go:1: package util is not in docs/inside.md"},
		{"arrow down", "sweep/x.go", `import "MODULE/experiment"`, ""},
		{"cmd wires", cmd, `import ("MODULE"; "MODULE/report"; "MODULE/experiment/mock")`, ""},
		{"test of a package", "experiment/load/x_test.go", `import "MODULE/experiment/mock"`, ""},

		{"flag", load, `import "flag"`, "experiment/load/x.go:2: flag: the command line"},
		{"cobra", "sweep/x.go", `import c "github.com/spf13/cobra"`, "github.com/spf13/cobra: the command line"},
		{"pflag", "report/x.go", `import "github.com/spf13/pflag"`, "github.com/spf13/pflag: the command line"},
		{"flags in cmd", cmd, `import ("flag"; "os"); var _ = flag.Parse; var _ = os.Args`, ""},
		{"environment", load, `import "os"; var x = os.Getenv("HOME")`, "os.Getenv: the environment"},
		{"environment under another name", load, `import sys "os"; var x, _ = sys.LookupEnv("HOME")`, "os.LookupEnv: the environment"},
		{"environment as a value", load, "import . \"os\"", "a dot import of os hides"},
		{"files of os", load, `import "os"; var x, _ = os.Open("x")`, ""},
		{"another os", load, `import "os"; type T struct{ Exit func(int) }; func f(os T) { os.Exit(1) }; var _ os.File`, ""},
		{"signals", "sweep/x.go", `import "os/signal"`, "os/signal: signals"},
		{"exit", "sweep/x.go", "import \"os\"\nfunc f() {\n\tos.Exit(1)\n}", "sweep/x.go:4: os.Exit: exit codes"},
		{"exit in a test's main", "sweep/x_test.go", `import "os"; func f() { os.Exit(1) }`, ""},
		{"processes", "sweep/x.go", `import "os/exec"`, "os/exec: processes"},
		{"processes in cmd", cmd, `import "os/exec"`, "os/exec: processes"},
		{"processes in server", "experiment/server/x.go", `import "os/exec"`, ""},
		{"HTTP in a report", "report/page/x.go", `import "net/http"`, "net/http: HTTP is spoken"},
		{"HTTP in the browser of results", "report/browse/x.go", `import "net/http"`, ""},
		{"log", "sweep/x.go", `import "log"`, "log: nothing below cmd logs"},
		{"slog", "experiment/x.go", `import "log/slog"`, "log/slog: nothing below cmd logs"},
		{"print", "experiment/x.go", `import "fmt"; func f() { fmt.Println() }`, "fmt.Println: nothing below cmd prints"},
		{"print by a builtin", "experiment/x.go", `func f() { println(1) }`, "println: nothing below cmd prints"},
		{"standard output", "report/x.go", `import ("fmt"; "os"); func f() { fmt.Fprintln(os.Stdout) }`, "os.Stdout: nothing below cmd prints"},
		{"print in cmd", cmd, `import "fmt"; func f() { fmt.Println() }`, ""},
		{"print to a writer", "report/x.go", `import ("fmt"; "io"); func f(w io.Writer) { fmt.Fprintln(w) }`, ""},
		{"old rand", cmd, `import "math/rand"`, "math/rand: randomness"},
		{"old rand in a test", "sweep/x_test.go", `import "math/rand"`, "math/rand: randomness"},
		{"global rand", load, `import "math/rand/v2"; var x = rand.IntN(3)`, "rand.IntN draws from the global source"},
		{"global rand as a value", load, `import r "math/rand/v2"; var x = r.Float64`, "rand.Float64 draws from the global source"},
		{"global rand in a test", "sweep/x_test.go", `import "math/rand/v2"; func f() { rand.Shuffle(0, nil) }`, "rand.Shuffle draws"},
		{"seeded rand", load, `import "math/rand/v2"; func f(r *rand.Rand) int { return r.IntN(3) }; var x = rand.New(rand.NewPCG(1, 2))`, ""},
		{"salts", "sweep/x.go", `import "crypto/rand"; var x = rand.Text()`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ours := strings.NewReplacer("MODULE", module)
			c.text, c.want = ours.Replace(c.text), ours.Replace(c.want)
			got := violations(t, c.file, "package x\n"+c.text)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("allowed, but found: %q", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("found %q, want one with %q", got, c.want)
			}
		})
	}
}

// source is one Go file.
type source struct {
	fset  *token.FileSet
	file  *ast.File
	pkg   string // its folder
	test  bool
	names map[string]string // the import behind a name in this file
	found []string
}

// violations lists what a file does against the rules, as file:line: what: rule.
func violations(t *testing.T, name, text string) []string {
	t.Helper()
	s := source{fset: token.NewFileSet(), pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), names: map[string]string{}}
	var err error
	if s.file, err = parser.ParseFile(s.fset, name, text, 0); err != nil {
		t.Fatal(err)
	}
	if _, known := mayImport[s.pkg]; !known {
		s.add(s.file.Package, "package %s is not in docs/inside.md, nor in mayImport", s.pkg)
	}
	for _, spec := range s.file.Imports {
		s.checkImport(spec)
	}
	ast.Inspect(s.file, s.checkNode)
	return s.found
}

func (s *source) add(at token.Pos, format string, args ...any) {
	p := s.fset.Position(at)
	s.found = append(s.found, fmt.Sprintf("%s:%d: ", p.Filename, p.Line)+fmt.Sprintf(format, args...))
}

func (s *source) checkImport(spec *ast.ImportSpec) {
	to, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser has read it
	}
	local := lastName(to)
	if spec.Name != nil {
		local = spec.Name.Name
	}
	if local == "." {
		s.add(spec.Pos(), "a dot import of %s hides what is used of it", to)
	}
	s.names[local] = to
	s.checkOnlyIn(spec.Pos(), to)
	if ours, ok := strings.CutPrefix(to, module+"/"); ok {
		s.checkArrow(spec.Pos(), to, ours)
	} else if to == module {
		s.checkArrow(spec.Pos(), to, ".")
	}
}

// lastName is the name that an import has in a file, by the habit that all of ours follow.
func lastName(to string) string {
	base := path.Base(to)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(to))
	}
	return base
}

func (s *source) checkArrow(at token.Pos, to, ours string) {
	allowed := mayImport[s.pkg]
	if s.test || slices.Contains(allowed, everything) || slices.Contains(allowed, ours) {
		return
	}
	may := "none of ours"
	if len(allowed) > 0 {
		may = "only " + strings.Join(allowed, ", ")
	}
	s.add(at, "imports %s: %s may import %s (docs/inside.md)", to, s.pkg, may)
}

func (s *source) checkOnlyIn(at token.Pos, what string) {
	for _, r := range onlyIn {
		if slices.Contains(r.what, what) && !slices.Contains(r.where, s.pkg) && (r.tests || !s.test) {
			s.add(at, "%s: %s", what, r.rule)
		}
	}
}

func (s *source) checkNode(n ast.Node) bool {
	switch x := n.(type) {
	case *ast.CallExpr:
		if id, ok := x.Fun.(*ast.Ident); ok && id.Obj == nil && (id.Name == "print" || id.Name == "println") && !s.test && s.pkg != "cmd/bench" {
			s.add(id.Pos(), "%s: nothing below cmd prints: take an io.Writer", id.Name)
		}
	case *ast.SelectorExpr:
		id, ok := x.X.(*ast.Ident)
		if !ok || id.Obj != nil { // a variable of the file, not an import
			return true
		}
		from, ok := s.names[id.Name]
		if !ok {
			return true
		}
		s.checkOnlyIn(x.Pos(), from+"."+x.Sel.Name)
		if from == "math/rand/v2" && !slices.Contains(seeded, x.Sel.Name) {
			s.add(x.Pos(), "rand.%s draws from the global source: take a *rand.Rand from rand.New", x.Sel.Name)
		}
	}
	return true
}

// TestWalks checks that inside.md and CONTRIBUTING.md name files that exist: at the root, or below experiment/.
func TestWalks(t *testing.T) {
	var named [][]string
	for _, page := range []string{"inside.md", "../CONTRIBUTING.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all := regexp.MustCompile("`([a-z_/]+/[a-z_]+\\.(?:go|html))`").FindAllStringSubmatch(string(text), -1)
		if len(all) < 15 {
			t.Errorf("%s names only %d files", page, len(all))
		}
		named = append(named, all...)
	}
	for _, m := range named {
		_, atRoot := os.Stat(filepath.Join("..", m[1]))
		_, below := os.Stat(filepath.Join("..", "experiment", m[1]))
		if atRoot != nil && below != nil {
			t.Errorf("%s does not exist", m[1])
		}
	}
}
