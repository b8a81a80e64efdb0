package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/roofline"
)

const head = "name = \"m\"\n[defaults]\nduration = \"1s\"\n"

func ids(points []experiment.Spec) []string {
	var out []string
	for i := range points {
		out = append(out, ID(&points[i]))
	}
	return out
}

func TestExpansion(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"one point", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1", []string{"a-r1"}},
		{"the last key is the fastest, in the order of the file", "[[row]]\nname=\"a\"\nrate=[2,1]\noutput=4\ninput=[8,16]", []string{
			"a,rate=2,input=8-r1", "a,rate=2,input=16-r1", "a,rate=1,input=8-r1", "a,rate=1,input=16-r1"}},
		{"lists of the defaults come after the row's", "output=[4,5]\nrate=1\n[[row]]\nname=\"a\"\ninput=[8,16]\n[[row]]\nname=\"b\"\ninput=8\noutput=4", []string{
			"a,input=8,output=4-r1", "a,input=8,output=5-r1", "a,input=16,output=4-r1", "a,input=16,output=5-r1", "b-r1"}},
		{"a list in a table", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1\nprefix={tokens=4,state=[\"cold\",\"warm\"]}", []string{
			"a,prefix.state=cold-r1", "a,prefix.state=warm-r1"}},
		{"a list in a table of the defaults", "prefix={tokens=[2,4]}\n[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1", []string{
			"a,prefix.tokens=2-r1", "a,prefix.tokens=4-r1"}},
		{"a list in a table with a header", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=[1,2]\n[row.prefix]\ntokens=[2,4]\ngroups=[1,2]", []string{
			"a,rate=1,prefix.tokens=2,prefix.groups=1-r1", "a,rate=1,prefix.tokens=2,prefix.groups=2-r1",
			"a,rate=1,prefix.tokens=4,prefix.groups=1-r1", "a,rate=1,prefix.tokens=4,prefix.groups=2-r1",
			"a,rate=2,prefix.tokens=2,prefix.groups=1-r1", "a,rate=2,prefix.tokens=2,prefix.groups=2-r1",
			"a,rate=2,prefix.tokens=4,prefix.groups=1-r1", "a,rate=2,prefix.tokens=4,prefix.groups=2-r1"}},
		{"a list of prefixes makes a pair", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1\nprefix=[{tokens=4,state=\"cold\"},{tokens=4,state=\"warm\"}]", []string{
			"a,prefix=state_cold-tokens_4-r1", "a,prefix=state_warm-tokens_4-r1"}},
		{"a list of distributions", "[[row]]\nname=\"a\"\ninput=[{dist=\"uniform\",min=3,max=5},{dist=\"lognormal\",p50=300,p95=2000},7]\noutput=4\nrate=1", []string{
			"a,input=uniform-max_5-min_3-r1", "a,input=lognormal-p50_300-p95_2000-r1", "a,input=7-r1"}},
		{"text and true or false", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=[0.5,\"inf\"]\nrequests=3\nstream=[true,false]", []string{
			"a,rate=0.5,stream=true-r1", "a,rate=0.5,stream=false-r1", "a,rate=inf,stream=true-r1", "a,rate=inf,stream=false-r1"}},
		{"repeats go round", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=[1,2]\nrepeats=2\n[[row]]\nname=\"b\"\ninput=8\noutput=4\nrate=1", []string{
			"a,rate=1-r1", "a,rate=2-r1", "b-r1", "a,rate=1-r2", "a,rate=2-r2"}},
		{"a list of one is a series of one", "[[row]]\nname=\"a\"\ninput=[8]\noutput=4\nrate=1", []string{"a,input=8-r1"}},
		{"a mix is no series", "[[row]]\nname=\"a\"\nrate=[1,2]\n[[row.mix]]\nname=\"x\"\nweight=1\ninput=8\noutput=4\n[[row.mix]]\nname=\"y\"\nweight=2\ninput=8\noutput=4", []string{
			"a,rate=1-r1", "a,rate=2-r1"}},
		{"lists that are one value", "[[row]]\nname=\"a\"\ninput={dist=\"empirical\",values=[8,9]}\noutput={dist=\"histogram\",buckets=[{min=1,max=2,weight=1}]}\narrival={process=\"step\",steps=[{rate=1,for=\"1s\"},{rate=2,for=\"1s\"}]}", []string{"a-r1"}},
		{"classes alone beside their mix", "[[row]]\nname=\"a\"\nrate=[4,8]\nisolate=true\n[[row.mix]]\nname=\"x\"\nweight=3\ninput=8\noutput=4\n[[row.mix]]\nname=\"y\"\nweight=1\ninput=8\noutput=4", []string{
			"a,rate=4-r1", "a,rate=4,alone=x-r1", "a,rate=4,alone=y-r1", "a,rate=8-r1", "a,rate=8,alone=x-r1", "a,rate=8,alone=y-r1"}},
		{"forced and natural ends are a pair", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1\nstop=[\"forced\",\"natural\"]", []string{"a,stop=forced-r1", "a,stop=natural-r1"}},
		{"a scenario is a load", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nscenario=\"SingleStream\"", []string{"a-r1"}},
		{"pairs are one value", "[[row]]\nname=\"a\"\npairs=[[8,4],[9,5]]\nrate=1", []string{"a-r1"}},
		{"a list of arrivals", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1\narrival=[\"poisson\",{process=\"bursts\",size=3}]", []string{
			"a,arrival=poisson-r1", "a,arrival=bursts-size_3-r1"}},
		{"a list of steps", "[[row]]\nname=\"a\"\ninput=8\noutput=4\narrival=[{process=\"step\",steps=[{rate=1,for=\"1s\"}]},{process=\"step\",steps=[{rate=2,for=\"1s\"}]}]", []string{
			"a,arrival=step-steps_for_1s-rate_1-r1", "a,arrival=step-steps_for_1s-rate_2-r1"}},
		{"an axis in a process", "[[row]]\nname=\"a\"\ninput=8\noutput=4\narrival={process=\"ramp\",from=1,to=[2,4],over=\"1s\"}", []string{
			"a,arrival.to=2-r1", "a,arrival.to=4-r1"}},
		{"a state for every class of a mix", "[[row]]\nname=\"a\"\nrate=1\nprefix.state=[\"cold\",\"warm\"]\n[[row.mix]]\nname=\"x\"\nweight=1\ninput=80\noutput=4\nprefix={tokens=32}", []string{
			"a,prefix.state=cold-r1", "a,prefix.state=warm-r1"}},
		{"conversations", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1\nsession={turns=[2,3],user=5,think=\"1s\"}", []string{
			"a,session.turns=2-r1", "a,session.turns=3-r1"}},
		{"dotted keys", "[[row]]\nname=\"a\"\ninput=8\noutput=4\nrate=1\nprefix.tokens=[2,4]", []string{"a,prefix.tokens=2-r1", "a,prefix.tokens=4-r1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := mustParse(t, head+tt.text)
			if diff := cmp.Diff(tt.want, ids(m.Points)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFilesOfAnAxis: the points of an axis have the lengths of one reading, and are what each would be alone.
func TestFilesOfAnAxis(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.csv")
	if err := os.WriteFile(file, []byte("in,out\n30,5\n20,6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	row := head + "[[row]]\nname=\"a\"\nrate=%s\n[[row.mix]]\nname=\"x\"\nweight=1\n" +
		"input={dist=\"empirical\",file='" + file + "',column=\"in\"}\noutput=4\n"
	points := mustParse(t, fmt.Sprintf(row, "[1,2,3]")).Points
	for i := range points {
		if read := points[i].Mix[0].Input.File.Read[0]; &read[0] != &points[0].Mix[0].Input.File.Read[0][0] || read[1] != 20 {
			t.Errorf("point %d was read anew: %v", i, read)
		}
		alone := mustParse(t, fmt.Sprintf(row, points[i].Point[0].Value)).Points[0]
		alone.Point = points[i].Point
		if d := cmp.Diff(alone, points[i]); d != "" {
			t.Errorf("point %d is another alone:\n%s", i, d)
		}
	}
	text := strings.Replace(fmt.Sprintf(row, "[1,2,3]"), file, file+"x", 1)
	if _, err := ParseSet("m.toml", []byte(text), nil); err == nil || strings.Count(err.Error(), "reading the lengths") != 1 || !strings.Contains(err.Error(), "m.toml:10:25") {
		t.Errorf("a lost file: %v", err)
	}
}

// A process that states its rates needs none of the row, which then has their mean.
func TestRateOfAProcess(t *testing.T) {
	m := mustParse(t, head+"[[row]]\nname=\"a\"\ninput=8\noutput=4\narrival={process=\"ramp\",from=1,to=[3,5],over=\"10s\"}\n[[row]]\nname=\"b\"\ninput=8\noutput=4\nconcurrency=2")
	if a, b, c := m.Points[0].Rate, m.Points[1].Rate, m.Points[2].Rate; a != 2 || b != 3 || c != 0 {
		t.Errorf("rates %v, %v, %v", a, b, c)
	}
}

// TestMerge holds how defaults, the matrix's SLO, the defaults' and the row's lie over each other.
func TestMerge(t *testing.T) {
	m := mustParse(t, `name = "m"
seed = 7
[slo]
ttft_p95 = "1s"
tpot_p95 = "40ms"
[slo.each]
ttft = "2s"
e2e = "9s"
[defaults]
duration = "5s"
rate = 3
warmup = 5
prefix = { tokens = 4, groups = 9 }
slo = { tpot_p95 = "50ms", e2e_p99 = "5s" }
[[row]]
name = "own"
input = 8
output = 4
rate = 2
seed = 11
prefix = { tokens = 2 }
[row.slo]
ttft_p95 = "3s"
each = { e2e = "1s", tpot = "4ms" }
[[row]]
name = "plain"
input = 8
output = 4
`)
	own, plain := m.Points[0], m.Points[1]
	if own.Rate != 2 || plain.Rate != 3 || own.Warmup.Requests != 5 || own.Seed != 11 || plain.Seed != 7 {
		t.Errorf("defaults: %v %v %v %v %v", own.Rate, plain.Rate, own.Warmup, own.Seed, plain.Seed)
	}
	if own.Prefix.Groups != 0 || plain.Prefix.Groups != 9 { // a table replaces a table
		t.Errorf("prefix: %+v %+v", own.Prefix, plain.Prefix)
	}
	show := func(limits []experiment.Limit) (out []string) {
		for _, l := range limits {
			out = append(out, l.String())
		}
		return out
	}
	for _, c := range []struct{ got, want []string }{
		{show(own.SLO.Limits), []string{"e2e_p99 ≤ 5000 ms", "tpot_p95 ≤ 50 ms", "ttft_p95 ≤ 3000 ms"}},
		{show(own.SLO.Each), []string{"e2e ≤ 1000 ms", "tpot ≤ 4 ms", "ttft ≤ 2000 ms"}},
		{show(plain.SLO.Limits), []string{"e2e_p99 ≤ 5000 ms", "tpot_p95 ≤ 50 ms", "ttft_p95 ≤ 1000 ms"}},
		{show(plain.SLO.Each), []string{"e2e ≤ 9000 ms", "ttft ≤ 2000 ms"}},
		{show(m.SLO.Limits), []string{"tpot_p95 ≤ 40 ms", "ttft_p95 ≤ 1000 ms"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestShippedMatrices holds that what comes with bench is read without a problem.
func TestShippedMatrices(t *testing.T) {
	t.Chdir("../..") // their files are named from there
	files, err := filepath.Glob("matrices/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	table, err := os.ReadFile("model_configs.json")
	if err != nil {
		t.Fatal(err)
	}
	models, err := roofline.ParseModels(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := ParseSet(file, text, nil, Extension{Table: "mock", Into: &mock.Config{Models: models}}); err != nil {
			t.Error(err)
		} else if s := FindSecrets(m.Text); s.Masked != m.Text {
			t.Errorf("%s: something was taken for a secret:\n%s", file, cmp.Diff(m.Text, s.Masked))
		}
	}
}

func TestBlockedOrder(t *testing.T) {
	text := "order = \"blocked\"\n" + head + "repeats = 3\n[[row]]\nname=\"a\"\ninput=[1,2,3,4,5,6]\noutput=[1,2]\nrate=1\n"
	m := mustParse(t, text)
	again := mustParse(t, text)
	other := mustParse(t, "seed = 2\n"+text)
	listed := mustParse(t, strings.Replace(text, "blocked", "listed", 1))
	if diff := cmp.Diff(ids(m.Points), ids(again.Points)); diff != "" {
		t.Errorf("the same seed gives another order:\n%s", diff)
	}
	if slices.Equal(ids(m.Points), ids(other.Points)) {
		t.Error("another seed gives the same order")
	}
	var orders []string
	for block := range 3 {
		got, want := ids(m.Points[12*block:12*block+12]), ids(listed.Points[12*block:12*block+12])
		orders = append(orders, strings.ReplaceAll(fmt.Sprint(got), fmt.Sprintf("-r%d", block+1), ""))
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("block %d is no permutation:\n%s", block, diff)
		}
	}
	if orders[0] == orders[1] && orders[1] == orders[2] {
		t.Error("every block has the same order")
	}
}

func TestIDs(t *testing.T) {
	tests := []struct {
		spec experiment.Spec
		want string
	}{
		{experiment.Spec{Name: "A-short_1.5+x", Repeat: 1}, "A-short_1.5+x-r1"},
		{experiment.Spec{Name: "a", Repeat: 2, Point: []experiment.Axis{{Key: "prefix.state", Value: "warm"}}}, "a,prefix.state=warm-r2"},
		{experiment.Spec{Name: "../../etc/passwd", Repeat: 1}, "..%2F..%2Fetc%2Fpasswd-r1"},
		{experiment.Spec{Name: "a,b=c-r1", Repeat: 1}, "a%2Cb%3Dc-r1-r1"},
		{experiment.Spec{Name: "-rf x", Repeat: 1}, "%2Drf%20x-r1"},
		{experiment.Spec{Name: "--", Repeat: 1}, "%2D--r1"},
		{experiment.Spec{Name: "50%\n\\:é", Repeat: 1}, "50%25%0A%5C%3A%C3%A9-r1"},
	}
	for _, tt := range tests {
		if got := ID(&tt.spec); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// TestIDsAreUnique holds that two points have one ID only if they are one point, and that an ID is a plain
// file name.
func TestIDsAreUnique(t *testing.T) {
	spec := rapid.Custom(func(t *rapid.T) experiment.Spec {
		text := rapid.StringOfN(rapid.RuneFrom([]rune(`ab,=-r1%/\. é`)), 1, 4, -1)
		s := experiment.Spec{Name: text.Draw(t, "name"), Repeat: rapid.IntRange(1, 12).Draw(t, "repeat")}
		for range rapid.IntRange(0, 2).Draw(t, "axes") {
			s.Point = append(s.Point, experiment.Axis{Key: text.Draw(t, "key"), Value: text.Draw(t, "value")})
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := spec.Draw(t, "a"), spec.Draw(t, "b")
		ida := ID(&a)
		if same := cmp.Equal(a, b); same != (ida == ID(&b)) {
			t.Fatalf("%q and %q", ida, ID(&b))
		}
		if strings.HasPrefix(ida, "-") || strings.ContainsAny(ida, "/\\ :\n") || filepath.Base(ida) != ida {
			t.Fatalf("%q is no file name", ida)
		}
	})
}

func TestMatch(t *testing.T) {
	s := &experiment.Spec{Name: "D-sat[1]", Repeat: 3, Point: []experiment.Axis{{Key: "concurrency", Value: "8"}}}
	tests := []struct {
		globs []string
		want  bool
	}{
		{nil, true},
		{[]string{"D-*"}, true},
		{[]string{"d-*"}, false},
		{[]string{"D-sat[1]"}, true},
		{[]string{"*concurrency=8"}, true},
		{[]string{"*concurrency=16"}, false},
		{[]string{"A", "?-*"}, true},
		{[]string{"D"}, false},
		{[]string{""}, false},
	}
	for _, tt := range tests {
		if got, err := Match(s, tt.globs); got != tt.want || err != nil {
			t.Errorf("%q: %v, %v", tt.globs, got, err)
		}
	}
	if _, err := Match(s, []string{"[a"}); err == nil || !strings.Contains(err.Error(), "hint:") {
		t.Errorf("a broken pattern: %v", err)
	}
}

func TestReadMissing(t *testing.T) {
	if _, err := ReadSet(filepath.Join(t.TempDir(), "none.toml"), nil); err == nil || !strings.HasPrefix(err.Error(), "reading the matrix: ") {
		t.Errorf("got %v", err)
	}
}

// written are the matrices that are shipped, and those with mistakes.
func written(t testing.TB) (texts []string) {
	t.Helper()
	for _, pattern := range []string{"../../matrices/*.toml", "testdata/problems/*.toml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	return texts
}

// canRun checks a text: what is accepted can be run.
func canRun(t *testing.T, text string) {
	m, err := parse("fuzz.toml", text)
	if err != nil {
		_ = err.Error()
		return
	}
	seen := map[string]bool{}
	for i := range m.Points {
		p := &m.Points[i]
		p.Check(func(key, problem, _ string) { t.Errorf("%s: %s", key, problem) })
		id := ID(p)
		if seen[id] || len(id) > 210 || filepath.Base(id) != id {
			t.Errorf("the ID %q", id)
		}
		seen[id] = true
	}
}

func TestWrittenCanRun(t *testing.T) {
	for _, text := range written(t) {
		canRun(t, text)
	}
}

// cut separates a matrix into its tables and its rows.
func cut(text string) (tables string, rows []string) {
	parts := strings.Split(text, "[[row]]")
	for _, row := range parts[1:] {
		rows = append(rows, "[[row]]"+row)
	}
	return parts[0], rows
}

// FuzzTables: no text of other tables than rows makes it panic.
func FuzzTables(f *testing.F) {
	for _, text := range written(f) {
		tables, _ := cut(text)
		f.Add(tables)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if _, err := ParseServer("fuzz.toml", []byte(text), nil, Extension{Table: "mock", Into: &mock.Config{}}); err != nil {
			_ = err.Error()
		}
	})
}

// FuzzRow: no row makes it panic or take long, and what it accepts can be run.
func FuzzRow(f *testing.F) {
	for _, text := range written(f) {
		_, rows := cut(text)
		for _, row := range rows {
			f.Add(row)
		}
	}
	f.Add("[[row]]\nname='r'\nrate=[1,2]\ninput=[{dist='uniform',min=1,max=2}]\noutput=1\nduration='1s'\nprefix=[{tokens=0}]")
	f.Fuzz(func(t *testing.T, row string) { canRun(t, "name='m'\n"+row) })
}
