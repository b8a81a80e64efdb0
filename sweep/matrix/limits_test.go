package matrix

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
	"bench/sweep/strict"
)

func limitsIn(t *testing.T, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("l.toml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return "l.toml"
}

// A list takes the values of TOML, and durations without quotes.
func TestListedLimits(t *testing.T) {
	for list, table := range map[string]string{
		"ttft_p95=300ms":                                         `ttft_p95 = "300ms"`,
		" ttft_p95 = 1m30s , error_rate = 0.001":                 "ttft_p95 = \"90s\"\nerror_rate = 0.001",
		`ttft_p95="300ms",min_output_tokens_per_s=1_000`:         "ttft_p95 = \"300ms\"\nmin_output_tokens_per_s = 1000",
		"usd_per_million_output_tokens=2.5e-1,each.ttft=1s":      "usd_per_million_output_tokens = 0.25\n[each]\nttft = \"1s\"",
		"each.tpot=20ms,each.ttft=1s,tpot_mean=5ms,error_rate=0": "tpot_mean = \"5ms\"\nerror_rate = 0\n[each]\nttft = \"1s\"\ntpot = \"20ms\"",
		"mlperf=llama2-70b/server":                               `mlperf = "llama2-70b/server"`,
	} {
		l, err := ReadLimits(list)
		if err != nil {
			t.Errorf("%s: %v", list, err)
			continue
		}
		s := fixture.Spec()
		l.Apply(&s)
		if diff := cmp.Diff(fixture.SLO(t, table), s.SLO); diff != "" {
			t.Errorf("%s: %s", list, diff)
		}
	}
}

// Every mistake of a list is reported at once, each under its key.
func TestListedLimitsMistakes(t *testing.T) {
	for list, want := range map[string][]string{
		"":                           {`"" is not a limit`},
		"tttft_p95=1s,error_rate=2":  {`unknown limit "tttft_p95"`, "error_rate is a share from 0 to 1, not 2"},
		"tpot_p95=":                  {`"tpot_p95=" is not a limit`},
		"ttft_p95=fast,e2e_p50=-1s":  {`"fast" is not a positive duration`, `"-1s" is not a positive duration`},
		"ttft_p95=5":                 {"a latency limit needs a unit: 5 is not a duration"},
		"each.itl=1s,each.ttft=soon": {`"itl" is not a per-request metric`, `"soon" is not a positive duration`},
		"error_rate=2,mlperf=gpt":    {"error_rate is a share from 0 to 1, not 2", "unknown MLPerf preset \"gpt\""},
	} {
		_, err := ReadLimits(list)
		var problems strict.Problems
		if !errors.As(err, &problems) || len(problems) != len(want) {
			t.Errorf("%q: %d problems, want %d:\n%v", list, len(problems), len(want), err)
			continue
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "error: --slo: ") {
				t.Errorf("%q:\n%v\nwant %s", list, err, text)
			}
		}
	}
}

const limitsFile = `
name = "anything"
unread = true
[slo]
ttft_p95 = "1s"
tpot_p95 = "40ms"
[defaults.slo]
e2e_p95 = "9s"
[[row]]
name = "own"
inputs = "not read"
[row.slo]
ttft_p95 = "2s"
[[row]]
name = "mixed"
[[row.mix]]
name = "chat"
slo = { ttft_p95 = "300ms" }
[[row.mix]]
name = "batch"
[[row]]
name = "cold"
kind = "cold_start"
[row.slo]
ttft_p50 = "4s"
`

// A row takes the limits of the row with its name, as in a run of the file; another row takes [slo].
func TestFileLimits(t *testing.T) {
	l, err := ReadLimits(limitsIn(t, limitsFile))
	if err != nil {
		t.Fatal(err)
	}
	cold := func(s *experiment.Spec) { s.Kind = "cold_start" }
	classes := func(s *experiment.Spec) {
		s.Mix = []workload.Class{{Name: "chat", SLO: map[string]any{"e2e_p50": "1s"}}, {Name: "batch", SLO: map[string]any{"e2e_p50": "1s"}}}
	}
	for _, c := range []struct {
		name   string
		change func(*experiment.Spec)
		want   string
		chat   map[string]any
	}{
		{"own", func(*experiment.Spec) {}, "e2e_p95 = \"9s\"\ntpot_p95 = \"40ms\"\nttft_p95 = \"2s\"", nil},
		{"another", classes, "e2e_p95 = \"9s\"\ntpot_p95 = \"40ms\"\nttft_p95 = \"1s\"", nil},
		{"mixed", classes, "e2e_p95 = \"9s\"\ntpot_p95 = \"40ms\"\nttft_p95 = \"1s\"", map[string]any{"ttft_p95": "300ms"}},
		{"cold", cold, `ttft_p50 = "4s"`, nil},
		{"another", cold, `error_rate = 0.5`, nil}, // [slo] is about load: a cold start keeps its own
	} {
		s := fixture.Spec()
		s.Name, s.SLO = c.name, fixture.SLO(t, "error_rate = 0.5")
		c.change(&s)
		before := s.Mix
		l.Apply(&s)
		if diff := cmp.Diff(fixture.SLO(t, c.want), s.SLO); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if len(s.Mix) > 0 && (!cmp.Equal(s.Mix[0].SLO, c.chat) || s.Mix[1].SLO != nil || before[0].SLO["e2e_p50"] == nil) {
			t.Errorf("%s: classes %v, of the stored row %v", c.name, s.Mix, before)
		}
	}
}

// Limits that a measured row can't be held to are mistakes at their place.
func TestLimitsCheck(t *testing.T) {
	whole := func(s *experiment.Spec) { s.Stream = new(false) }
	cold := func(s *experiment.Spec) { s.Kind = "cold_start" }
	mixed := func(s *experiment.Spec) {
		s.Name, s.Stream, s.Mix = "mixed", new(false), []workload.Class{{Name: "chat"}}
	}
	file := limitsIn(t, limitsFile+"min_requests_per_s = 3\n")
	for _, c := range []struct {
		given  string
		change func(*experiment.Spec)
		want   []string
	}{
		{"e2e_p95=1s,ttft_p95=1s", whole, []string{`--slo: ttft_p95 needs streaming; row "A" was measured without it`}},
		{"e2e_p95=1s,each.tpot=1s", whole, []string{`--slo: tpot needs streaming; row "A"`}},
		{"mlperf=llama2-70b/server", whole, []string{"--slo:1:2: tpot_p99 needs", "--slo:1:2: ttft_p99 needs"}},
		{"e2e_p95=1s", whole, nil},
		{"min_goodput_requests_per_s=1", func(*experiment.Spec) {}, []string{"--slo: min_goodput_requests_per_s needs a limit for each request"}},
		{"ttft_p95=1s,min_requests_per_s=1", cold, nil}, // which a cold start does not take from a list
		{file, func(s *experiment.Spec) { cold(s); s.Name = "cold" }, []string{"l.toml:26:1: row \"cold\": slo.min_requests_per_s: a cold start has no throughput"}},
		{file, cold, nil},
		{file, mixed, []string{"l.toml:5:1: ttft_p95 needs", "l.toml:6:1: tpot_p95 needs", "l.toml:18:9: row \"mixed\" mix \"chat\""}},
	} {
		l, err := ReadLimits(c.given)
		if err != nil {
			t.Fatalf("%s: %v", c.given, err)
		}
		s := fixture.Spec()
		c.change(&s)
		problems := l.Check(&s)
		got := problems.Error()
		if len(problems) == 0 {
			got = ""
		}
		for _, want := range c.want {
			if !strings.Contains(got, "error: "+want) {
				t.Errorf("%s: no %s in\n%s", c.given, want, got)
			}
		}
		if len(problems) != len(c.want) {
			t.Errorf("%s: %d problems, want %d\n%s", c.given, len(problems), len(c.want), got)
		}
		l.Apply(&s)
		if s.IsColdStart() && c.given != file && len(s.SLO.Limits) != 1 {
			t.Errorf("%s: a cold start takes %v", c.given, s.SLO.Limits)
		}
	}
}

// A file shows all its mistakes, and no secret.
func TestFileLimitsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"name = \"x\"":                        "l.toml: the file has no [slo] with a limit",
		"[slo]":                               "l.toml: the file has no [slo] with a limit",
		"[contract]\nttft_p95 = \"1s\"":       "l.toml: the file has no [slo] with a limit",
		"slo = 3":                             "l.toml:1:1: slo is a table",
		"[slo]\nttft_p95 = \"soon\"":          `l.toml:2:1: slo.ttft_p95: "soon" is not a positive duration`,
		"[slo]\nttft_p95 = ":                  "l.toml:2:",
		"[[row]]\n[row.slo]\nttft = \"1s\"":   "l.toml:1:3: row[0]: the row has no name",
		"[[row]]\nname = \"a\"\nslo = \"1s\"": `l.toml:3:1: row "a": slo must be a table`,
	} {
		_, err := ReadLimits(limitsIn(t, text))
		var problems strict.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), "error: "+want) && !strings.HasPrefix(err.Error(), "error: "+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := ReadLimits(limitsIn(t, "[target.headers]\nAuthorization = \"verysecret\" \"\n[slo]"))
	if err == nil || strings.Contains(err.Error(), "verysecret") {
		t.Errorf("%v", err)
	}
	if _, err := ReadLimits(filepath.Join(t.TempDir(), "none.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
