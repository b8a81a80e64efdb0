package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"bench/experiment/columns"
	"bench/experiment/published"
	"bench/experiment/record"
	"bench/report/compare"
)

// factOrder is the order in which a sentence names what changed beside the figures, the likeliest cause first; other
// facts of [facts], such as the driver, come before the client's.
var factOrder = []string{"engine", "server version", "server command", "build info", "fact: ", "extra body", "connections",
	"client version"}

// factsChanged are what was allowed to differ, and what is only noted, in the order of factOrder.
func factsChanged(ds []compare.Difference, server string) (texts []string) {
	rank := func(d compare.Difference) int {
		if d.Allowed {
			return -1
		}
		i := slices.IndexFunc(factOrder, func(what string) bool { return strings.HasPrefix(d.What, what) })
		return cmp.Or(i+1, len(factOrder)+1)
	}
	ds = slices.DeleteFunc(slices.Clone(ds), func(d compare.Difference) bool {
		return d.Key != "" && !d.Allowed || d.What == "seed"
	})
	slices.SortStableFunc(ds, func(a, b compare.Difference) int { return cmp.Compare(rank(a), rank(b)) })
	for _, d := range ds {
		texts = append(texts, factText(d, server))
	}
	return texts
}

func changedBeside(c *compare.Comparison) []string { return factsChanged(c.Differences, serverName(c)) }

// changedThen are the facts that changed in the first night with the case, else those that differ from base.
func changedThen(c *compare.Comparison, x compare.Case) []string {
	var ds []compare.Difference
	for _, s := range x.Changed {
		ds = append(ds, compare.Difference{What: s.What, Base: s.Was, New: s.Value})
	}
	if len(ds) == 0 {
		return changedBeside(c)
	}
	return factsChanged(ds, serverName(c))
}

func serverName(c *compare.Comparison) string {
	for _, r := range c.Sides[1].Runs {
		if kind := record.EngineKinds(r.Rows); kind != "" {
			return published.EngineName(kind)
		}
	}
	return "server"
}

const widestFact = 60

// factText is "vLLM 0.20.1 → 0.21.0", "server command --max-num-seqs 128 → 256".
func factText(d compare.Difference, server string) string {
	what := strings.TrimPrefix(d.What, "fact: ")
	switch what {
	case "server version":
		what = server
	case "client version":
		what = "bench"
	}
	was, is := changedWords(versionAnswer.ReplaceAllString(d.Base, "$1"), versionAnswer.ReplaceAllString(d.New, "$1"))
	if columns.Width(was+is) > widestFact {
		return what + " changed"
	}
	return what + " " + was + " → " + is
}

// versionAnswer is a server's answer to /version.
var versionAnswer = regexp.MustCompile(`\{"version":"([^"]*)"\}`)

// changedWords leaves out the words that begin or end both texts, but for the flag of a changed value.
func changedWords(was, is string) (before, after string) {
	a, b := strings.Fields(was), strings.Fields(is)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] && !(isFlag(a[0]) && valuesDiffer(a, b)) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] && !flagsDiffer(a, b) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		b = b[1:]
	}
	return cmp.Or(strings.Join(a, " "), "none"), cmp.Or(strings.Join(b, " "), "none")
}

func isFlag(word string) bool { return strings.HasPrefix(word, "-") }

func valuesDiffer(a, b []string) bool {
	return len(a) > 1 && len(b) > 1 && a[1] != b[1] && !isFlag(a[1]) && !isFlag(b[1])
}

// flagsDiffer reports whether the last words are values of different flags.
func flagsDiffer(a, b []string) bool {
	if len(a) < 2 || len(b) < 2 || isFlag(a[len(a)-1]) {
		return false
	}
	x, y := a[len(a)-2], b[len(b)-2]
	return x != y && (isFlag(x) || isFlag(y))
}
