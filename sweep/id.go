package sweep

import (
	"fmt"
	"path"
	"strings"

	"bench/experiment"
)

// ID identifies a row within a run and names its files: <name>[,key=value…]-r<repeat>, escaped.
func ID(s *experiment.Spec) string {
	var b strings.Builder
	if name, dash := strings.CutPrefix(s.Name, "-"); dash { // commands would take the file's name for a flag
		b.WriteString("%2D" + escape(name))
	} else {
		b.WriteString(escape(name))
	}
	for _, a := range s.Point {
		fmt.Fprintf(&b, ",%s=%s", escape(a.Key), escape(a.Value))
	}
	fmt.Fprintf(&b, "-r%d", s.Repeat)
	return b.String()
}

// escape writes every byte as %XX that some file system does not accept.
func escape(s string) string {
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
