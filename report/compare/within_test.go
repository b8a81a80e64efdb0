package compare

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// variantRun is one run with the given variants and axes, two loads and three repeats each. Of the last
// variant one row failed.
func variantRun(variants []string, axes [][]experiment.Axis) Run {
	m := manifest()
	m.Order = interleaved
	run := Run{Name: "ab", Run: record.Run{Manifest: m}}
	for i, v := range variants {
		own := m.Target
		own.Connections = "kept open"
		if i > 0 {
			own.Connections = "one per request"
		}
		run.Manifest.Servers = append(run.Manifest.Servers,
			record.ServerStart{N: i + 1, Variant: v, Target: &own})
		low := 10 + float64(i)
		run.Manifest.Searches = append(run.Manifest.Searches,
			record.Found{Name: "s", Others: axes[i], Variant: v, Bracket: stats.Bracket{Low: &low}})
		for _, load := range []string{"1", "2"} {
			for repeat := range 3 {
				r := searched("", 1, 2).Rows[0]
				r.Spec.Name, r.Spec.Search, r.Spec.Variant, r.Spec.Repeat = "a", nil, v, repeat+1
				r.Spec.Point = append([]experiment.Axis{{Key: "rate", Value: load}}, axes[i]...)
				r.ID = strings.ReplaceAll(strings.ReplaceAll(r.Spec.Label(), " ", ","), ":", "%3A") + "-r" +
					string(rune('1'+repeat))
				r.Summary.Requests.Planned, r.Summary.Throughput.RequestsPerS = 10_000,
					100-float64(20*i)+float64(repeat)
				planned := record.Planned{ID: r.ID, Name: "a", State: "done"}
				if i == len(variants)-1 && load == "2" {
					planned.State, planned.Error = "failed", "HTTP 500"
				} else {
					run.Rows = append(run.Rows, r)
				}
				run.Manifest.Plan = append(run.Manifest.Plan, planned)
			}
		}
	}
	return run
}

func endpoints() Run {
	return variantRun([]string{"endpoint=h:1", "endpoint=h:2"},
		[][]experiment.Axis{{{Key: "endpoint", Value: "h:1"}}, {{Key: "endpoint", Value: "h:2"}}})
}

// The endpoints of one run are compared point by point, repeat by repeat, with what the servers reported.
func TestWithin(t *testing.T) {
	run := endpoints()
	before := run.Rows[0].Spec.Label()
	base, changed, paired, err := Within(run, nil)
	if err != nil || !paired || base.Name != "ab (endpoint=h:1)" || run.Rows[0].Spec.Label() != before {
		t.Fatalf("%+v, %v", base, err)
	}
	c := compared(t, base, changed, Options{Paired: paired, Gate: gate("requests_per_s -5%")})
	if diff := cmp.Diff([]Difference{{What: "connections", Base: "kept open", New: "one per request",
		Effect: effects["connections"]}}, c.Differences); diff != "" {
		t.Error(diff)
	}
	m := c.find("requests_per_s")
	if len(c.Points) != 1 || c.Points[0].Name != "a rate=1" || m.Test != ByPairs || m.Gate != stats.Fail ||
		c.BaseGPUSeconds != nil {
		t.Errorf("%+v: %+v", c.Points[0].Name, m)
	}
	if want := (map[string]string{"a rate=2": "failed in new: HTTP 500"}); !cmp.Equal(want, c.Unmeasured) {
		t.Errorf("%v", c.Unmeasured)
	}
	if a := changed.Runs[0].Manifest.Searches; len(a) != 1 || *a[0].Low != 11 || len(a[0].Others) > 0 {
		t.Errorf("%+v", a)
	}
}

// Two of several variants are chosen by name, setting or value.
func TestWithinBetween(t *testing.T) {
	axes := func(n, model string) []experiment.Axis {
		return []experiment.Axis{{Key: "n", Value: n}, {Key: "model", Value: model}}
	}
	run := variantRun([]string{"n=4 model=a", "n=8 model=a", "n=4 model=b"},
		[][]experiment.Axis{axes("4", "a"), axes("8", "a"), axes("4", "b")})
	for between, want := range map[string]string{
		"":                "error: ab has 3 servers: n=4 model=a; n=8 model=a; n=4 model=b\nhint: --between 'n=4 model=a','n=8 model=a'",
		"n=4 model=a,n=8": "ab (n=4 model=a) ab (n=8 model=a)",
		"b,8":             "ab (n=4 model=b) ab (n=8 model=a)",
		"n=4,n=8":         "error: --between: 2 variants have n=4\nhint: ab has n=4 model=a; n=8 model=a; n=4 model=b",
		"n=8,8":           "error: --between names n=8 model=a twice\nhint: ab has n=4 model=a; n=8 model=a; n=4 model=b",
		"c,8":             "error: --between: no variant is \"c\"\nhint: ab has n=4 model=a; n=8 model=a; n=4 model=b",
		"n=8":             "error: --between takes two variants, not 1\nhint: ab has n=4 model=a; n=8 model=a; n=4 model=b",
	} {
		var names []string
		if between != "" {
			names = strings.Split(between, ",")
		}
		base, changed, _, err := Within(run, names)
		got := base.Name + " " + changed.Name
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s", between, got)
		}
	}
	// The plan of a part has the rows of its variant alone.
	if plan := run.part("n=4 model=b").Manifest.Plan; len(plan) != 6 || plan[0].ID != "a,rate=1-r1" ||
		plan[0].Label() != "a rate=1" {
		t.Errorf("%+v", plan)
	}
	if _, _, _, err := Within(searched("one", 1, 2), nil); err == nil ||
		!strings.HasPrefix(err.Error(), "one has one server\nhint: ") {
		t.Error(err)
	}
}

// The command of a server that bench starts is a difference; several commands of one run are none.
func TestServerCommand(t *testing.T) {
	run := func(commands ...string) Run {
		r := Run{Name: strings.Join(commands, "+"), Run: record.Run{Manifest: manifest()}}
		for _, c := range commands {
			r.Manifest.Servers = append(r.Manifest.Servers, record.ServerStart{Command: strings.Fields(c)})
		}
		return r
	}
	for _, x := range []struct {
		base, changed Run
		want          string
	}{{run("vllm a", "vllm a"), run("vllm b"), "vllm a → vllm b"},
		{run("vllm a", "vllm b"), run("vllm a"), "not specified → vllm a"},
		{run("vllm a"), run("vllm a"), ""}} {
		got := ""
		for _, d := range sideDifferences(side(x.base), side(x.changed), nil) {
			got += d.Base + " → " + d.New
		}
		if got != x.want {
			t.Errorf("%s: %q, want %q", x.base.Name, got, x.want)
		}
	}
}
