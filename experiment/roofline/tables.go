package roofline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"bench/experiment/text"
)

const (
	ModelFile    = "model_configs.json"
	HardwareFile = "gpus.json"
)

type UnknownError struct {
	What string   // model, device
	Name string   // as requested
	near []string // IDs of similar entries, the most similar first; may be empty
	File string   // file to add an entry to
	Many bool     // the name is ambiguous: Near are its entries
}

func (e *UnknownError) Error() string {
	if e.Many {
		return fmt.Sprintf("%s %q is ambiguous: %s (write one of them in full)", e.What, e.Name,
			strings.Join(e.near, ", "))
	}
	near := ""
	if len(e.near) > 0 {
		near = " (similar: " + strings.Join(e.near, ", ") + ")"
	}
	return fmt.Sprintf("unknown %s %q%s: add an entry to %s", e.What, e.Name, near, e.File)
}

func (e *UnknownError) Entry() string {
	if e.What == "device" {
		return fmt.Sprintf(`{"devices": [{"id": %q, "memory_gb": 80, "bandwidth_gb_s": 3350, "dense_tflops": {"bf16": 989}, "link_gb_s": 450, "source": "datasheet"}]}`, e.Name)
	}
	return fmt.Sprintf(`{"models": [{"id": %q, "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "intermediate": 14336, "vocab": 128256, "source": "its config.json"}]}`, e.Name)
}

// Find finds a model by its ID or alias, ignoring case, an organisation and the folders of a path; else by the
// longest fragment of Match in the name. The error is an *UnknownError.
func (m Models) Find(name string) (Model, error) { return find("model", ModelFile, name, m) }

// Find finds a device by its ID or alias, ignoring case. The error is an *UnknownError.
func (h Hardware) Find(name string) (Device, error) {
	return find("device", HardwareFile, name, h.Devices)
}

// With adds a user's own entries before those of the table. A name in both means the user's entry.
func (m Models) With(own Models) Models { return overlay(own, m) }

// With adds a user's own devices in the same way; their efficiency, if there is one, replaces the table's.
func (h Hardware) With(own Hardware) Hardware {
	out := Hardware{Efficiency: h.Efficiency, Devices: overlay(own.Devices, h.Devices)}
	if own.Efficiency.Memory > 0 {
		out.Efficiency = own.Efficiency
	}
	return out
}

type names struct {
	id      string
	aliases *[]string
	match   []string // fragments
}

func (n names) has(same func(string) bool) bool {
	return same(n.id) || slices.ContainsFunc(*n.aliases, same)
}

type entry[T any] interface {
	*T
	names() names
	check() error
}

func parseEntries[T any, E entry[T]](table, list string, raw []json.RawMessage) ([]T, error) {
	out := make([]T, len(raw))
	var errs []error
	owners := map[string]string{}
	for i := range raw {
		e := E(&out[i])
		err := strict(raw[i], e)
		if err == nil {
			err = errors.Join(e.check(), claim(owners, e.names()))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: entry %d (%s): %w", table, i+1, cmp.Or(e.names().id, "no id"), err))
		}
	}
	if len(out) == 0 {
		errs = append(errs, fmt.Errorf("%s: %s is empty", table, list))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func strict(data []byte, v any) error {
	if !json.Valid(data) { // a Decoder ignores what follows the value
		return json.Unmarshal(data, v)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func claim(owners map[string]string, n names) error {
	var errs []error
	for _, name := range append([]string{n.id}, *n.aliases...) {
		key := strings.ToLower(name)
		if key == "" {
			errs = append(errs, errors.New("id or alias is empty"))
		} else if owner, taken := owners[key]; taken {
			errs = append(errs, fmt.Errorf("name %q belongs to %s already", name, owner))
		}
		owners[key] = n.id
	}
	return errors.Join(errs...)
}

// overlay is own, then the entries of the table whose ID own does not have, without the aliases that own has.
func overlay[T any, E entry[T]](own, table []T) []T {
	claimed := func(name string) bool {
		same := func(known string) bool { return strings.EqualFold(known, name) }
		return slices.ContainsFunc(own, func(e T) bool { return E(&e).names().has(same) })
	}
	out := slices.Clone(own)
	for _, e := range table {
		if n := E(&e).names(); !claimed(n.id) {
			*n.aliases = slices.DeleteFunc(slices.Clone(*n.aliases), claimed)
			out = append(out, e)
		}
	}
	return out
}

func find[T any, E entry[T]](what, file, name string, table []T) (T, error) {
	var none T
	want := strings.ToLower(strings.TrimSpace(name))
	unknown := &UnknownError{What: what, Name: name, File: file}
	if want == "" || want == "/" {
		return none, unknown
	}
	for _, key := range []func(string) string{strings.ToLower, last} {
		var found []int
		for i := range table {
			if n := E(&table[i]).names(); n.has(func(known string) bool { return key(known) == key(want) }) {
				found = append(found, i)
				unknown.near = append(unknown.near, n.id)
			}
		}
		if len(found) == 1 {
			return table[found[0]], nil
		}
		if unknown.Many = len(found) > 1; unknown.Many {
			return none, unknown
		}
	}
	best, length := -1, 0
	for i := range table {
		for _, f := range E(&table[i]).names().match {
			if len(f) > length && strings.Contains(want, strings.ToLower(f)) {
				best, length = i, len(f)
			}
		}
	}
	if best >= 0 {
		return table[best], nil
	}
	unknown.near = near[T, E](want, table)
	return none, unknown
}

func last(name string) string { return path.Base(strings.ToLower(name)) }

// near are the IDs of at most three entries: those with a name that begins with the wanted one, else that contains it,
// else the one of which it is a slip.
func near[T any, E entry[T]](want string, table []T) []string {
	want = last(want)
	for _, alike := range []func(name, part string) bool{strings.HasPrefix, strings.Contains} {
		var ids []string
		for i := range table {
			n := E(&table[i]).names()
			if len(ids) < 3 && n.has(func(name string) bool { return alike(last(name), want) }) {
				ids = append(ids, n.id)
			}
		}
		if len(ids) > 0 {
			return ids
		}
	}
	var known []string
	owner := map[string]string{}
	for i := range table {
		n := E(&table[i]).names()
		for _, name := range append([]string{n.id}, *n.aliases...) {
			known, owner[last(name)] = append(known, last(name)), n.id
		}
	}
	if meant, ok := text.Nearest(want, known); ok {
		return []string{owner[meant]}
	}
	return nil
}
