package sweep

import (
	"fmt"
	"path"
	"strings"

	"bench/experiment"
)

// ID is a row's name in file names: <name>[,key=value…]-r<repeat>, escaped.
func ID(s *experiment.Spec) string {
	var b strings.Builder
	b.WriteString(escape(s.Name))
	for _, a := range s.Point {
		fmt.Fprintf(&b, ",%s=%s", escape(a.Key), escape(a.Value))
	}
	fmt.Fprintf(&b, "-r%d", s.Repeat)
	return b.String()
}

// escape keeps what every file system takes, and writes the other bytes as %XX.
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

// Match says whether a point is picked by one of the globs, by its row's name or its own; no glob
// picks all.
func Match(s *experiment.Spec, globs []string) (bool, error) {
	if len(globs) == 0 {
		return true, nil
	}
	for _, g := range globs {
		for _, name := range []string{s.Name, strings.TrimSuffix(ID(s), fmt.Sprintf("-r%d", s.Repeat))} {
			if g == name { // a name may hold what a glob takes for a sign
				return true, nil
			}
			ok, err := path.Match(g, name)
			if err != nil {
				return false, fmt.Errorf("the pattern %q: %w\nhint: * stands for any text, ? for a character, [ab] for one of several", g, err)
			}
			if ok {
				return true, nil
			}
		}
	}
	return false, nil
}
