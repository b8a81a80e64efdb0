package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"bench/experiment"
	"bench/experiment/workload"
)

// decode reads JSON whose tables of any keys (fields of request bodies, limits of classes) have the types of TOML again:
// whole numbers are int64. Call integers on each table.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// integers replaces the numbers of a decoded table, at any depth.
func integers(table map[string]any) {
	for k, v := range table {
		table[k] = asInteger(v)
	}
}

func asInteger(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n
		}
		f, _ := x.Float64() // JSON has no other numbers
		return f
	case []any:
		for i := range x {
			x[i] = asInteger(x[i])
		}
	case map[string]any:
		integers(x)
	}
	return v
}

// restore makes a decoded spec the one that was encoded: with the types of its tables, and the contents of the files
// that it names.
func restore(s *experiment.Spec, files *experiment.Files) error {
	for i := range s.Mix {
		integers(s.Mix[i].Extra)
		integers(s.Mix[i].SLO)
	}
	hashes := map[string]string{}
	eachFile(s, func(name *string, sha256 string) { hashes[*name] = sha256 })
	var found []error
	bad := func(key, problem, _ string) { found = append(found, fmt.Errorf("%s: %s", key, problem)) }
	s.Look(files, bad)
	if s.Trace != nil {
		s.Trace.Look(files, bad)
	}
	eachFile(s, func(name *string, sha256 string) {
		if sha256 != hashes[*name] {
			found = append(found, fmt.Errorf("%s has changed", *name))
		}
	})
	return errors.Join(found...)
}

// eachFile calls f for every file that a spec names. A file that a class and a row have in common is named twice.
func eachFile(s *experiment.Spec, f func(name *string, sha256 string)) {
	if s.Trace != nil {
		f(&s.Trace.File, s.Trace.SHA256)
	}
	length := func(l *workload.Length) {
		if l.File != nil {
			f(&l.File.Name, l.File.SHA256)
		}
	}
	class := func(c *workload.Class) {
		if c.Prompts != nil {
			f(&c.Prompts.File, c.Prompts.SHA256)
		}
		length(&c.Input)
		length(&c.Output)
		if c.Pairs != nil && c.Pairs.File != nil {
			f(&c.Pairs.File.Name, c.Pairs.File.SHA256)
		}
		if c.Session != nil {
			length(&c.Session.Turns.Length)
			length(&c.Session.User)
		}
	}
	w := &s.Workload
	class(&workload.Class{Input: w.Input, Output: w.Output, Pairs: w.Pairs, Prompts: w.Prompts, Session: w.Session})
	for i := range w.Mix {
		class(&w.Mix[i])
	}
}
