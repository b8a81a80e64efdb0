package sweep

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/record"
)

// ServerChangedError is the error of a run whose server is not the one of its earlier rows.
type ServerChangedError struct {
	was     string // its identity
	changes []record.Change
}

const mostChanges = 8

func (e *ServerChangedError) Error() string {
	var b strings.Builder
	b.WriteString("the server is not the one of this run")
	for _, c := range e.changes[:min(len(e.changes), mostChanges)] {
		b.WriteString("\n  " + c.String())
	}
	if more := len(e.changes) - mostChanges; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	b.WriteString("\nhint: --resume with --accept-server-change redoes every row; without --resume a new run begins")
	return b.String()
}

// serverChange compares the server with an earlier one; nil: it is the same, or there was none. A server that bench
// started has the same command: the memory that it finds free may differ.
func (o *Options) serverChange(was *record.TargetInfo, identity string, started bool) *ServerChangedError {
	if was == nil || identity == "" {
		return nil
	}
	changes := o.Server.Info.Changes(was)
	if started {
		changes = slices.DeleteFunc(changes, record.Change.Measured)
	}
	if len(changes) > 0 {
		return &ServerChangedError{was: identity, changes: changes}
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
	t.ExtraBody = r.secrets.HideIn(t.ExtraBody)
	return t
}
