package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/text"
)

// ID identifies a row within a run and names its files: <name>[,key=value…]-r<repeat>, escaped.
func ID(s *experiment.Spec) string {
	var b strings.Builder
	if name, dash := strings.CutPrefix(s.Name, "-"); dash { // commands would take the file's name for a flag
		b.WriteString("%2D" + Escape(name))
	} else {
		b.WriteString(Escape(name))
	}
	for _, a := range s.Point {
		fmt.Fprintf(&b, ",%s=%s", Escape(a.Key), Escape(a.Value))
	}
	fmt.Fprintf(&b, "-r%d", s.Repeat)
	return b.String()
}

// Escape writes every byte as %XX that some file system does not accept.
func Escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._-+", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Match reports whether the name of a point or of its row matches one of the globs. No globs match all
// points.
func Match(s *experiment.Spec, globs []string) (bool, error) {
	if len(globs) == 0 {
		return true, nil
	}
	for _, g := range globs {
		for _, name := range []string{s.Name, strings.TrimSuffix(ID(s), fmt.Sprintf("-r%d", s.Repeat))} {
			if g == name { // a name can contain *, ? or [
				return true, nil
			}
			ok, err := path.Match(g, name)
			if err != nil {
				return false, fmt.Errorf("the pattern %q: %w\n"+
					"hint: * stands for any text, ? for one character, [ab] for a or b", g, err)
			}
			if ok {
				return true, nil
			}
		}
	}
	return false, nil
}

// Pick returns the points that match a pattern of --only; all points without a pattern. A pattern that matches no row
// is an error, whatever the others match: the row that was meant would not run.
func (m *Matrix) Pick(only []string) ([]experiment.Spec, error) {
	var picked []experiment.Spec
	unmatched := slices.Clone(only)
	for i := range m.Points {
		s := &m.Points[i]
		some := len(only) == 0
		for _, pattern := range only {
			ok, err := Match(s, []string{pattern})
			if err != nil {
				return nil, fmt.Errorf("--only: %w", err)
			}
			if ok {
				some = true
				unmatched = slices.DeleteFunc(unmatched, func(u string) bool { return u == pattern })
			}
		}
		if some {
			picked = append(picked, *s)
		}
	}
	if len(unmatched) > 0 {
		return nil, m.noMatch(unmatched)
	}
	return picked, nil
}

func (m *Matrix) noMatch(only []string) error {
	var names []string
	for i := range m.Points {
		if name := m.Points[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	hint := "the rows are " + strings.Join(names, ", ")
	for _, pattern := range only {
		if near, ok := text.Nearest(pattern, names); ok {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
	}
	return fmt.Errorf("no row matches --only %s\nhint: %s", text.ShellWords(only), hint)
}
