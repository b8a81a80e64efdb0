package roofline

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// The names of the table files, to name a user's copy with additional entries.
const (
	ModelFile    = "model_configs.json"
	HardwareFile = "gpus.json"
)

// UnknownError means that a table has no entry, or several entries, for a name.
type UnknownError struct {
	What string   // model, device
	Name string   // as requested
	Near []string // IDs of similar entries, the most similar first; may be empty
	File string   // file to add an entry to
	Many bool     // the name is ambiguous: Near are its entries
}

func (e *UnknownError) Error() string {
	if e.Many {
		return fmt.Sprintf("%s %q is ambiguous: %s (write one of them in full)", e.What, e.Name, strings.Join(e.Near, ", "))
	}
	near := ""
	if len(e.Near) > 0 {
		near = " (similar: " + strings.Join(e.Near, ", ") + ")"
	}
	return fmt.Sprintf("unknown %s %q%s: add an entry to %s", e.What, e.Name, near, e.File)
}

// Entry is a file with an entry for the name, with numbers to replace.
func (e *UnknownError) Entry() string {
	if e.What == "device" {
		return fmt.Sprintf(`{"devices": [{"id": %q, "memory_gb": 80, "bandwidth_gb_s": 3350, "dense_tflops": {"bf16": 989}, "link_gb_s": 450, "source": "datasheet"}]}`, e.Name)
	}
	return fmt.Sprintf(`{"models": [{"id": %q, "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "intermediate": 14336, "vocab": 128256, "source": "its config.json"}]}`, e.Name)
}

// entry is the part of a model or device that a lookup needs.
type entry struct {
	id      string
	aliases []string
	match   []string
}

// Find finds a model by its ID or alias, ignoring case, an organisation before the name, and the folders of a
// path; else by the longest fragment of Match in the name. The error is an *UnknownError.
func (m Models) Find(name string) (Model, error) {
	i, err := find("model", ModelFile, name, len(m), func(i int) entry { return entry{m[i].ID, m[i].Aliases, m[i].Match} })
	if err != nil {
		return Model{}, err
	}
	return m[i], nil
}

// Find finds a device by its ID or alias, ignoring case. The error is an *UnknownError.
func (h Hardware) Find(name string) (Device, error) {
	i, err := find("device", HardwareFile, name, len(h.Devices), func(i int) entry { return entry{h.Devices[i].ID, h.Devices[i].Aliases, nil} })
	if err != nil {
		return Device{}, err
	}
	return h.Devices[i], nil
}

func find(what, file, name string, n int, at func(int) entry) (int, error) {
	want := strings.ToLower(strings.TrimSpace(name))
	unknown := &UnknownError{What: what, Name: name, File: file}
	if want == "" || want == "/" {
		return 0, unknown
	}
	for _, key := range []func(string) string{strings.ToLower, last} {
		if hits := hits(n, at, func(known string) bool { return key(known) == key(want) }); len(hits) == 1 {
			return hits[0], nil
		} else if len(hits) > 1 {
			unknown.Many = true
			for _, i := range hits {
				unknown.Near = append(unknown.Near, at(i).id)
			}
			return 0, unknown
		}
	}
	if i := byFragment(want, n, at); i >= 0 {
		return i, nil
	}
	unknown.Near = near(want, n, at)
	return 0, unknown
}

// last is the last element of a path or of "org/name".
func last(name string) string { return path.Base(strings.ToLower(name)) }

func hits(n int, at func(int) entry, same func(string) bool) (found []int) {
	for i := range n {
		if e := at(i); same(e.id) || slices.ContainsFunc(e.aliases, same) {
			found = append(found, i)
		}
	}
	return found
}

func byFragment(want string, n int, at func(int) entry) int {
	best, length := -1, 0
	for i := range n {
		for _, f := range at(i).match {
			if len(f) > length && strings.Contains(want, strings.ToLower(f)) {
				best, length = i, len(f)
			}
		}
	}
	return best
}

// near are the IDs of at most three entries with a name that contains the wanted one, or that differs from it
// in at most half of its letters.
func near(want string, n int, at func(int) entry) []string {
	type candidate struct {
		id    string
		score float64
	}
	want = last(want)
	var all []candidate
	for i := range n {
		e := at(i)
		c := candidate{e.id, 1}
		for _, known := range append([]string{e.id}, e.aliases...) {
			k := last(known)
			off := float64(distance(want, k)) / float64(max(len(want), len(k)))
			if len(want) > 1 && strings.Contains(k, want) {
				off /= 2 // an abbreviation: "rtx" of rtx-4090
			}
			c.score = min(c.score, off)
		}
		if c.score <= 0.5 {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.score, b.score) })
	var ids []string
	for _, c := range all[:min(3, len(all))] {
		ids = append(ids, c.id)
	}
	return ids
}

// distance is Levenshtein's: the number of bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
