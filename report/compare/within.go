package compare

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
)

const interleaved = "interleaved"

// Within splits a run into its parts at two of its variants: endpoints, or values of the server's knobs.
// between names them, the base first; empty: the run has two. paired: their repeats ran side by side.
func Within(r Run, between []string) (base, changed Side, paired bool, err error) {
	all := variants(&r)
	pick := all
	switch {
	case len(all) < 2:
		return base, changed, false, fmt.Errorf("%s has one server\nhint: name two runs, or --base last-good:5", r.Name)
	case len(between) == 0 && len(all) > 2:
		return base, changed, false, fmt.Errorf("%s has %d servers: %s\nhint: --between '%s','%s'",
			r.Name, len(all), strings.Join(all, "; "), all[0], all[1])
	case len(between) > 0:
		if pick, err = pickVariants(all, between); err != nil {
			return base, changed, false, fmt.Errorf("%w\nhint: %s has %s", err, r.Name, strings.Join(all, "; "))
		}
	}
	side := func(variant string) Side {
		run := r.part(variant)
		return Side{Name: run.Name, Runs: []Run{run}}
	}
	return side(pick[0]), side(pick[1]), r.Manifest.Order == interleaved, nil
}

// variants are those with a row, in the order of their first start.
func variants(r *Run) (out []string) {
	has := func(v string) bool {
		return slices.ContainsFunc(r.Rows, func(row record.Row) bool { return row.Spec.Variant == v })
	}
	add := func(v string) {
		if v != "" && !slices.Contains(out, v) && has(v) {
			out = append(out, v)
		}
	}
	for _, s := range r.Manifest.Servers {
		add(s.Variant)
	}
	for i := range r.Rows {
		add(r.Rows[i].Spec.Variant)
	}
	return out
}

// pickVariants finds two variants by their names, one of their settings, or its value.
func pickVariants(all, names []string) (out []string, err error) {
	if len(names) != 2 {
		return nil, fmt.Errorf("--between takes two variants, not %d", len(names))
	}
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !named(v, name) })
		if slices.Contains(all, name) {
			found = []string{name}
		}
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("--between: no variant is %q", name)
		case 1:
			out = append(out, found[0])
		default:
			return nil, fmt.Errorf("--between: %d variants have %s", len(found), name)
		}
	}
	if out[0] == out[1] {
		return nil, fmt.Errorf("--between names %s twice", out[0])
	}
	return out, nil
}

func named(variant, name string) bool {
	return slices.ContainsFunc(strings.Fields(variant), func(setting string) bool {
		_, value, _ := strings.Cut(setting, "=")
		return setting == name || value == name
	})
}

// part is the run as if it had measured one variant alone, without the variant's axes.
func (r *Run) part(variant string) Run {
	p := *r
	p.Name = fmt.Sprintf("%s (%s)", r.Name, variant)
	p.Rows = nil
	axes := 0 // that the variant adds to each point
	for _, row := range r.Rows {
		if row.Spec.Variant == variant {
			all := len(row.Spec.Point)
			row.Spec.Point = withoutVariant(row.Spec.Point, variant)
			axes = all - len(row.Spec.Point)
			p.Rows = append(p.Rows, row)
		}
	}
	p.WithoutRecords = slices.DeleteFunc(slices.Clone(r.WithoutRecords), func(id string) bool {
		return !slices.ContainsFunc(p.Rows, func(row record.Row) bool { return row.ID == id })
	})
	m := &p.Manifest
	m.Attempts = nil // their time is that of all variants
	m.Servers = slices.DeleteFunc(slices.Clone(m.Servers), func(s record.ServerStart) bool {
		return s.Variant != variant
	})
	m.Target = r.Manifest.TargetOf(variant)
	m.Searches = nil
	for _, f := range r.Manifest.Searches {
		if f.Variant == variant {
			f.Others = withoutVariant(f.Others, variant)
			m.Searches = append(m.Searches, f)
		}
	}
	m.Plan = planOf(m.Plan, variant, axes)
	return p
}

func withoutVariant(axes []experiment.Axis, variant string) []experiment.Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a experiment.Axis) bool {
		return isSetting(variant, a.Key+"="+a.Value)
	})
}

// isSetting reports whether a variant has a setting; its value can contain spaces.
func isSetting(variant, setting string) bool {
	return strings.Contains(" "+variant+" ", " "+setting+" ")
}

func planOf(plan []record.Planned, variant string, axes int) (out []record.Planned) {
	for _, p := range plan {
		at := max(strings.LastIndex(p.ID, "-r"), 0)
		parts := strings.Split(p.ID[:at], ",")
		kept := slices.DeleteFunc(slices.Clone(parts), func(part string) bool {
			text, err := url.PathUnescape(part)
			return err == nil && isSetting(variant, text)
		})
		if len(parts)-len(kept) == axes {
			p.ID = strings.Join(kept, ",") + p.ID[at:]
			out = append(out, p)
		}
	}
	return out
}
