package browse

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	fixture "bench/internal/reporttest"
	"bench/report/compare"
)

func parse(t *testing.T, text string) Query {
	t.Helper()
	v, err := url.ParseQuery(text)
	check(t, err)
	q, err := parseQuery(v)
	check(t, err)
	return q
}

// line is a run for the tests of queries.
func line(dir, matrix string, day int, h compare.Headline) compare.Night {
	return compare.Night{Dir: dir, StartedAt: fixture.Began.AddDate(0, 0, day), Group: compare.GroupKey{Matrix: matrix, Model: "Llama-" + dir, Hardware: "h100-sxm", GPUs: day % 3}, Headline: &h}
}

func lines() []compare.Night {
	ttft := func(ms float64) *compare.Percentile { return &compare.Percentile{Stat: "p95", Ms: ms} }
	all := []compare.Night{
		line("a", "chat", 0, compare.Headline{State: "done", Server: "vllm 0.12.0", Answer: "SHIP", Point: "D at concurrency 8", TTFT: ttft(106), OutputTokensPerS: 10, PerGPU: new(700.0)}),
		line("b", "chat", 1, compare.Headline{State: "running"}),
		line("c", "rag", 2, compare.Headline{State: "done", Server: "sglang 0.5", Answer: "NOT YET", TTFT: ttft(1020), OutputTokensPerS: 30, Invalid: 1}),
		{Dir: "damaged", Error: "no JSON"},
		line("d", "rag", 3, compare.Headline{State: "done", Server: "vllm 0.12.0", Answer: "SHIP", TTFT: ttft(99), OutputTokensPerS: 20, Cautions: 7}),
	}
	all[2].Gate = &compare.NightGate{Verdict: "FAIL"}
	return all
}

func TestPick(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "d c b a",
		"sort=started":                  "a b c d",
		"sort=matrix":                   "a b c d",
		"sort=-matrix":                  "c d a b",
		"sort=ttft":                     "d a c b", // 99 before 106 before 1020; the run without one is last
		"sort=-ttft":                    "c a d b",
		"sort=-output":                  "a c d b",
		"sort=server":                   "c a d b",
		"sort=-trust":                   "c d a b", // an invalid row weighs more than seven cautions
		"sort=gate":                     "c a b d",
		"matrix=rag":                    "d c",
		"matrix=RAG":                    "",
		"model=Llama-a":                 "a",
		"hardware=2 × h100-sxm":         "c",
		"server=vllm 0.12.0":            "d a",
		"answer=SHIP&matrix=chat":       "a",
		"from=2026-11-21":               "d c b",
		"to=2026-11-21":                 "b a",
		"from=2026-11-22&to=2026-11-22": "c",
		"q=llama":                       "d c b a",
		"q=VLLM ship":                   "d a",
		"q=fail rag":                    "c",
		"q=concurrency 8":               "a",
		"q=damaged":                     "",
		"q=d.*":                         "",
	} {
		var got []string
		for _, n := range parse(t, strings.ReplaceAll(text, " ", "+")).pick(lines()) {
			got = append(got, n.Dir)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestParseQuery(t *testing.T) {
	for text, want := range map[string]string{
		"from=yesterday":            `from="yesterday" is not a day: write it like 2026-01-31`,
		"to=2026-02-30":             `to="2026-02-30" is not a day`,
		"sort=color":                `sort="color": no column has this name`,
		"sort=-":                    `sort="-": no column`,
		"sort=--started":            `no column`,
		"page=-1":                   `page="-1" is not a number`,
		"page=1e3":                  `is not a number`,
		"page=00":                   `is not a number`,
		"page=99999999999999999999": `is not a number`,
	} {
		v, err := url.ParseQuery(text)
		check(t, err)
		if _, err := parseQuery(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	q := parse(t, "run=a&run=b&run=a&run=&matrix=+chat+&other=x&page=0")
	if want := (Query{Matrix: "chat", Runs: []string{"a", "b"}}); !reflect.DeepEqual(q, want) {
		t.Errorf("%+v, want %+v", q, want)
	}
	if q.Encode() != "matrix=chat&run=a&run=b" {
		t.Error(q.Encode())
	}
}

// A query that is read can be written and read again, so that a bookmark stays what it was, and picks some of
// the runs, each once.
func FuzzQuery(f *testing.F) {
	for _, text := range []string{"", "matrix=chat&sort=-ttft", "from=2026-11-20&to=2026-11-22&q=ship", "run=a&run=../../etc/passwd&run=%00", "page=3",
		"q=%ff%3Cscript%3E&matrix=%E2%80%AE", "sort=-&page=x", "a;b", "%zz"} {
		f.Add(text)
	}
	nights := lines()
	f.Fuzz(func(t *testing.T, text string) {
		v, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		q, err := parseQuery(v)
		if err != nil {
			return
		}
		again, err := url.ParseQuery(q.Encode())
		check(t, err)
		same, err := parseQuery(again)
		if err != nil || same.Encode() != q.Encode() || !reflect.DeepEqual(q, same) {
			t.Errorf("%+v became %+v, %v", q, same, err)
		}
		seen := map[string]bool{}
		for _, n := range q.pick(nights) {
			if seen[n.Dir] || n.Headline == nil {
				t.Errorf("%s is picked twice, or not readable", n.Dir)
			}
			seen[n.Dir] = true
		}
		newTable(NewServer(nil).shell, "results", q, nights)
	})
}

// Pages of the table have every run once.
func TestTablePages(t *testing.T) {
	var nights []compare.Night
	for i := range 2*perPage + 5 {
		nights = append(nights, compare.Night{Dir: string(rune('a'+i%26)) + time.Duration(i).String(), StartedAt: fixture.Began.Add(time.Duration(i) * time.Hour), Headline: &compare.Headline{State: "done"}})
	}
	seen := map[string]bool{}
	for p := range 3 {
		v := newTable(NewServer(nil).shell, "results", Query{page: p, Runs: []string{nights[0].Dir}}, nights)
		for _, r := range v.Runs {
			seen[r.Dir] = true
		}
		if (v.Previous != "") != (p > 0) || (v.Next != "") != (p < 2) || len(v.Elsewhere) != map[bool]int{true: 0, false: 1}[p == 2] {
			t.Errorf("page %d: %q, %q, %d", p, v.Previous, v.Next, len(v.Elsewhere))
		}
	}
	if len(seen) != len(nights) {
		t.Errorf("%d of %d runs", len(seen), len(nights))
	}
	if v := newTable(NewServer(nil).shell, "results", Query{page: 99}, nights); len(v.Runs) > 0 || v.Previous == "" {
		t.Error("a page after the last one has no way back")
	}
}

func TestChoices(t *testing.T) {
	got := choices(Query{Server: "gone"}, lines())
	if !slices.Equal(got[3].Values, []string{"gone", "sglang 0.5", "vllm 0.12.0"}) || !slices.Equal(got[0].Values, []string{"chat", "rag"}) {
		t.Errorf("%q", got)
	}
}
