package endpoint

import (
	"fmt"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/collect"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

func (s *Server) CheckContext(spec *experiment.Spec) error {
	longest := spec.Longest()
	if s.contextLength == 0 || longest <= s.contextLength {
		return nil
	}
	return fmt.Errorf("%s needs up to %d tokens, the server's context length is %d\nhint: shorten input or output, "+
		"or start the server with a longer context", spec.Label(), longest, s.contextLength)
}

// CheckStream is the error of a point whose streams the server refuses, though it answers without them.
func (s *Server) CheckStream(spec *experiment.Spec) error {
	c := s.apis[spec.APIFor(s.Target)]
	if c == nil || !c.refusesSSE || !spec.Streams() {
		return nil
	}
	return fmt.Errorf("%s: the server refuses to stream, so that TTFT and TPOT cannot be measured\nhint: --set "+
		"row.%s.stream=false, with limits of e2e in place of ttft and tpot: e2e_p95 = \"10s\"",
		spec.Label(), spec.Name)
}

func Limits() telemetry.Limits { return collect.ReadLimits() }

// spareFiles is how many files the process opens during a row beside its connections: results, sampling, DNS.
const spareFiles = 64

// spareConnections may be open beside those in use: closed by the server only, or for a mix's other API.
const spareConnections = 1024

// CheckLimits returns an error if the limits do not allow a point's connections. An open loop is checked for
// its least number: a slow server needs more, and checkErrors reports a shortage then. Ports of closed
// connections do not count, since a row with a connection per request asks the server to close them first, so
// that they wait there.
func (s *Server) CheckLimits(spec *experiment.Spec, l telemetry.Limits) error {
	return s.checkLimits(spec.Label(), spec.MinConnections(), spec.ConnectionsToOpen(), l)
}

func (s *Server) checkLimits(label string, n, ahead int, l telemetry.Limits) error {
	if s.simulator != nil {
		return nil
	}
	files := l.Open + spareFiles + n + min(ahead, spareConnections)
	if s.inProcess() {
		files += n // the server's ends are in this process, too
	}
	switch {
	case l.Files > 0 && files > l.Files:
		return fmt.Errorf("%s needs about %s open files for its %s connections, the limit is %s\nhint: %s, then start "+
			"bench again; or lower the load",
			label, unit.Count(files), unit.Count(n), unit.Count(l.Files), check.RaiseFileLimit(files))
	case l.Ports > 0 && n > l.Ports:
		return fmt.Errorf("%s needs %s connections to one address, this machine has ports for %s\nhint: %s, or lower "+
			"the load", label, unit.Count(n), unit.Count(l.Ports), check.WidenPortRange)
	}
	return nil
}
