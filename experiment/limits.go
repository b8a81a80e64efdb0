package experiment

import (
	"fmt"
	"math"
	"strings"
	"syscall"

	"bench/experiment/telemetry"
	"bench/experiment/telemetry/collector"
)

// Limits is what this machine lets the process have, now.
func Limits() telemetry.Limits { return collector.ReadLimits() }

// spareFiles is what the process opens beside its connections in the course of a row: results,
// sampling, look-ups of names.
const spareFiles = 64

// Affords says whether the machine's limits let a point have its connections. An open loop has as many
// as the server is slow, so only what it surely needs is asked for. Ports that closed connections still
// hold are not counted: where each request opens its own it says so in its header, most are closed by
// the server first, and they wait there. Too many all the same is found out by checkErrors.
func (s *Server) Affords(spec *Spec, l telemetry.Limits) error {
	n := spec.atOnce()
	files := l.Open + spareFiles + n + spec.connections() // those opened ahead, while the last row's are idle still
	if s.inProcess() {
		files += n // the other ends are in this process too
	}
	switch {
	case l.Files > 0 && files > l.Files:
		return fmt.Errorf("%s needs about %s open files for its %s connections, this process may have %s\nhint: %s, then start bench again; or lower the load",
			spec.Pretty(), Count(files), Count(n), Count(l.Files), moreFiles(files))
	case l.Ports > 0 && n > l.Ports:
		return fmt.Errorf("%s needs %s connections to one address, this machine has ports for %s\nhint: %s, or lower the load", spec.Pretty(), Count(n), Count(l.Ports), morePorts)
	}
	return nil
}

// atOnce is how many connections a point surely has at the same time.
func (s *Spec) atOnce() int {
	switch {
	case s.Rate == 0:
		return s.Concurrency
	case !s.Rate.IsInf():
		return s.connections()
	case s.Concurrency > 0:
		return min(s.Concurrency, s.Requests)
	}
	return s.Requests
}

// moreFiles is the command that lets a process open n files: a limit above the hard one takes root.
func moreFiles(n int) string {
	thousands := int(math.Ceil(float64(n)/1000)) * 1000
	return fmt.Sprintf("ulimit -n %d (as root where that is refused: prlimit --pid $$ --nofile=%d)", thousands, thousands)
}

const morePorts = `sysctl -w net.ipv4.ip_local_port_range="1024 65535" (as root)`

// scarce is the command against what connections of the row failed for, where that was this machine's
// own limit; empty = it was not.
func (e *evidence) scarce() string {
	for _, r := range e.records {
		switch {
		case r.Outcome != "connect":
		case strings.Contains(r.Error, syscall.EMFILE.Error()):
			return moreFiles(2*e.Summary.Concurrency.Max + 1000)
		case strings.Contains(r.Error, syscall.EADDRNOTAVAIL.Error()):
			return morePorts
		}
	}
	return ""
}
