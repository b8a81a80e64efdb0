package sweep

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
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

// ServerChangedError is the error of a run whose server is not the one of its earlier rows.
type ServerChangedError struct {
	Was     string // its identity
	Changes []record.Change
}

const mostChanges = 8

func (e *ServerChangedError) Error() string {
	var b strings.Builder
	b.WriteString("the server is not the one of this run")
	for _, c := range e.Changes[:min(len(e.Changes), mostChanges)] {
		b.WriteString("\n  " + c.String())
	}
	if more := len(e.Changes) - mostChanges; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	b.WriteString("\nhint: --resume with --accept-server-change redoes every row; without --resume a new run begins")
	return b.String()
}

// serverChange compares the server with an earlier one; nil: it is the same, or there was none. A server that bench
// started has the same command: the memory that it finds free may differ.
func (r *run) serverChange(was *record.TargetInfo, identity string) *ServerChangedError {
	if was == nil || identity == "" {
		return nil
	}
	changes := r.Server.Info.Changes(was)
	if r.serving != nil && r.serving.Command != nil {
		changes = slices.DeleteFunc(changes, record.Change.Measured)
	}
	if len(changes) > 0 {
		return &ServerChangedError{Was: identity, Changes: changes}
	}
	return nil
}

// lastOf is the last server of a variant that measured rows, with what it reported; n is its number. identity is
// empty if there is none. Only a server that differs from the one before it has a target of its own.
func lastOf(servers []record.ServerStart, variant string) (target *record.TargetInfo, identity string, n int) {
	for _, s := range slices.Backward(servers) {
		if s.Variant != variant || s.Identity == "" {
			continue
		}
		if n == 0 {
			identity, n = s.Identity, s.N
		}
		if s.Target != nil {
			return s.Target, identity, n
		}
	}
	return nil, identity, n
}

// targetInfo is the server as it reported itself, without the secrets of the matrix.
func (r *run) targetInfo() record.TargetInfo {
	t := r.Server.Info
	t.ExtraBody = r.secrets.hideIn(t.ExtraBody)
	return t
}
