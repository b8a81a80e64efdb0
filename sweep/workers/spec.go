package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"bench/experiment"
)

// decode reads JSON whose tables of any keys (fields of request bodies, limits of classes) have the types of TOML
// again: whole numbers are int64. Call integers on each table.
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
	s.EachFile(func(name *string, sha256 string) { hashes[*name] = sha256 })
	var found []error
	bad := func(key, problem, _ string) { found = append(found, fmt.Errorf("%s: %s", key, problem)) }
	s.Look(files, bad)
	if s.Trace != nil {
		s.Trace.Look(files, bad)
	}
	s.EachFile(func(name *string, sha256 string) {
		if sha256 != hashes[*name] {
			found = append(found, fmt.Errorf("%s has changed", *name))
		}
	})
	return errors.Join(found...)
}
