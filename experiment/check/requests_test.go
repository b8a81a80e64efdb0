package check

import (
	"strings"
	"syscall"
	"testing"
)

// Where this machine's own limit broke connections, the finding says the command; whatever a server says
// of its own limit does not.
func TestErrorsFindingSaysTheCommand(t *testing.T) {
	for _, c := range []struct{ outcome, text, want string }{
		{"connect", "no connection to h:1: dial tcp h:1: socket: " + syscall.EMFILE.Error(), "ulimit -n 2000"},
		{"connect", "no connection to h:1: dial tcp h:1: connect: " + syscall.EADDRNOTAVAIL.Error(), "sysctl -w net.ipv4.ip_local_port_range"},
		{"connect", "no connection to h:1: " + syscall.ECONNREFUSED.Error(), "read the server's log"},
		{"status", "HTTP 500: " + syscall.EMFILE.Error(), "read the server's log"},
	} {
		e := flawless()
		for _, r := range e.inWindow()[:5] {
			r.Outcome, r.Error = c.outcome, c.text
		}
		e.checked()
		if len(e.Findings) == 0 || e.Findings[0].Code != "errors" || !strings.Contains(e.Findings[0].Hint, c.want) {
			t.Errorf("%s %s: %+v", c.outcome, c.text, e.Findings)
		}
	}
	e := flawless()
	e.inWindow()[0].Outcome, e.inWindow()[0].Error = "connect", syscall.EMFILE.Error()
	if e.checked(); len(e.Findings) > 0 {
		t.Errorf("one in a hundred is a finding: %+v", e.Findings)
	}
}

// Answers without a token have no end: nothing is compared with the time of their connections.
func TestConnectionsWithoutTokens(t *testing.T) {
	e := flawless()
	e.Summary.E2E = nil
	for _, r := range e.records {
		r.ConnectUs = new(int64(9))
	}
	if f := checkConnections(e); f.outcome != good {
		t.Errorf("%+v", f)
	}
}
