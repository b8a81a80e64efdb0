package matrix

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"bench/experiment"
	"bench/sweep/strict"
)

// Limits are the SLO of measured rows, in place of the one that they were measured with. ReadLimits makes
// them.
type Limits struct {
	Given string // the list of limits, or the name of the file

	rows    map[string]rowLimits // by name; nil: the limits are a list
	others  rowLimits            // of the other rows
	problem func(path, text, hint string) strict.Problem
}

type rowLimits struct {
	slo     experiment.SLO
	classes map[string]classLimits   // by name
	place   func(path string) string // the path in the file of a path in the row
}

type classLimits struct {
	slo map[string]any
	at  string // their path in the row
}

const limitsFlag = "--slo"

// ReadLimits reads limits from the SLO tables of a matrix file (*.toml), or from a list like
// "ttft_p95=300ms,error_rate=0.001". Of a file it reads nothing else. The error is a strict.Problems with
// every mistake.
func ReadLimits(given string) (*Limits, error) {
	if !strings.HasSuffix(given, ".toml") {
		return listedLimits(given)
	}
	text, err := os.ReadFile(given)
	if err != nil {
		return nil, fmt.Errorf("reading limits: %w", err)
	}
	secrets := FindSecrets(string(text))
	l, err := fileLimits(given, text)
	var problems strict.Problems
	if errors.As(err, &problems) {
		err = secrets.mask(problems)
	}
	return l, err
}

// listedLimits parses a list of limits. Values are as in TOML; durations need no quotes.
func listedLimits(given string) (*Limits, error) {
	var set []string
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(given, ",") {
		key, value, _ := strings.Cut(entry, "=")
		key = strings.TrimSpace(key)
		switch {
		case key == "" || strings.TrimSpace(value) == "":
			return nil, strict.Problems{{File: limitsFlag,
				Text: fmt.Sprintf("%q is not a limit", strings.TrimSpace(entry)),
				Hint: "write " + limitsFlag + " 'ttft_p95=300ms,error_rate=0.001', or name a .toml file with [slo]"}}
		case seen[key]:
			return nil, strict.Problems{{File: limitsFlag, Text: key + " is in the list twice", Hint: "remove one"}}
		}
		seen[key] = true
		set = append(set, "slo."+strings.TrimSpace(entry))
	}
	doc, err := strict.ParseSet(limitsFlag, []byte("[slo]"), set)
	var problems strict.Problems
	if errors.As(err, &problems) {
		for i := range problems {
			problems[i].File = limitsFlag
		}
		return nil, problems
	}
	unquoted := strings.NewReplacer(`"`, "", " = ", "=") // the hints show TOML
	l := &Limits{Given: given, problem: func(path, text, hint string) strict.Problem {
		p := doc.Problem(path, text, unquoted.Replace(hint))
		p.File = limitsFlag
		return p
	}}
	l.others.slo.DecodeTOML(doc.Root["slo"], func(key, text, hint string) {
		problems = append(problems, l.problem(strict.Join("slo", key), text, hint))
	})
	l.others.place = func(path string) string { return path }
	if len(problems) > 0 {
		return nil, problems
	}
	return l, nil
}

func fileLimits(file string, text []byte) (*Limits, error) {
	doc, err := strict.Parse(file, text)
	if err != nil {
		return nil, err
	}
	r := &reader{doc: doc, root: maps.Clone(doc.Root), m: &Matrix{File: file}, seen: map[strict.Problem]bool{}}
	rows, defaults, slo := r.tables("row"), r.table("defaults"), r.table("slo")
	r.checkNames(rows)
	l := &Limits{Given: file, rows: map[string]rowLimits{}, problem: doc.Problem}
	limitsOf := func(i int, row map[string]any) rowLimits {
		return (&expander{reader: r, index: i, row: row, defaults: defaults, slo: slo}).limits()
	}
	l.others = limitsOf(len(rows), nil)
	some := !l.others.empty()
	for i, row := range rows {
		name, _ := row["name"].(string)
		l.rows[name] = limitsOf(i, row)
		some = some || !l.rows[name].empty()
	}
	if !some && len(r.problems) == 0 {
		r.bad("", "the file has no [slo] with a limit", `write [slo] and below it ttft_p95 = "1s"`)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return l, nil
}

func (x *expander) limits() rowLimits {
	merged := x.merge()
	out := rowLimits{classes: map[string]classLimits{}, place: x.place}
	bad := func(path, text, hint string) { x.bad(x.place(path), text, hint) }
	out.slo.DecodeTOML(merged["slo"], func(key, text, hint string) { bad(strict.Join("slo", key), text, hint) })
	classes, _ := merged["mix"].([]map[string]any)
	for i, class := range classes {
		if class["slo"] == nil {
			continue
		}
		own := classLimits{at: fmt.Sprintf("mix[%d].slo", i)}
		new(experiment.SLO).DecodeTOML(class["slo"],
			func(key, text, hint string) { bad(strict.Join(own.at, key), text, hint) })
		own.slo, _ = class["slo"].(map[string]any)
		name, _ := class["name"].(string)
		out.classes[name] = own
	}
	return out
}

func (l rowLimits) empty() bool { return len(l.slo.All()) == 0 && len(l.classes) == 0 }

// of is the limits of a row; false: it keeps its own, since it is a cold start that the file does not name,
// and [slo] is about load.
func (l *Limits) of(s *experiment.Spec) (rowLimits, bool) {
	if own, named := l.rows[s.Name]; named {
		return own, true
	}
	return l.others, l.rows == nil || !s.IsColdStart()
}

// Apply replaces the whole SLO of a spec, and those of its classes. Of a list, cold starts take no limit on
// throughput and price: they have none.
func (l *Limits) Apply(s *experiment.Spec) {
	own, replaced := l.of(s)
	if !replaced {
		return
	}
	s.SLO = own.slo
	if l.rows == nil && s.IsColdStart() {
		s.SLO.Limits = slices.DeleteFunc(slices.Clone(s.SLO.Limits),
			func(x experiment.Limit) bool { return !x.OfRequests() })
	}
	s.Mix = slices.Clone(s.Mix)
	for i := range s.Mix {
		s.Mix[i].SLO = own.classes[s.Mix[i].Name].slo
	}
}

// Check reports the limits that a measured row can't be held to.
func (l *Limits) Check(s *experiment.Spec) (problems strict.Problems) {
	own, replaced := l.of(s)
	if !replaced {
		return nil
	}
	after := *s
	l.Apply(&after)
	bad := func(path, text, hint string) { problems = append(problems, l.problem(own.place(path), text, hint)) }
	check := func(at string, limits []experiment.Limit) {
		for _, x := range limits {
			if !s.Streams() && x.NeedsStream() {
				bad(strict.Join(at, x.Key), fmt.Sprintf("%s needs streaming; row %q was measured without it", x.Key,
					s.Name), "limit e2e instead")
			}
		}
	}
	check("slo", after.SLO.Limits)
	check("slo.each", after.SLO.Each)
	for _, c := range after.Mix {
		var slo experiment.SLO
		if c.SLO != nil {
			slo.DecodeTOML(c.SLO, func(_, _, _ string) {}) // checked when it was read
		}
		check(own.classes[c.Name].at, slo.Limits)
	}
	after.CheckFigures(func(key, text, hint string) { bad(strict.Join("slo", key), text, hint) })
	return problems
}
