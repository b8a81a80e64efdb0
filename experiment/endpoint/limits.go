package endpoint

import (
	"fmt"

	"bench/experiment"
	"bench/experiment/telemetry"
	"bench/experiment/telemetry/collector"
	"bench/experiment/unit"
	"bench/experiment/verdict"
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
func (s *Server) Affords(spec *experiment.Spec, l telemetry.Limits) error {
	n := spec.AtOnce()
	files := l.Open + spareFiles + n + spec.ConnectionsAhead() // those opened ahead, while the last row's are idle still
	if s.inProcess() {
		files += n // the other ends are in this process too
	}
	switch {
	case l.Files > 0 && files > l.Files:
		return fmt.Errorf("%s needs about %s open files for its %s connections, this process may have %s\nhint: %s, then start bench again; or lower the load",
			spec.Pretty(), unit.Count(files), unit.Count(n), unit.Count(l.Files), verdict.MoreFiles(files))
	case l.Ports > 0 && n > l.Ports:
		return fmt.Errorf("%s needs %s connections to one address, this machine has ports for %s\nhint: %s, or lower the load", spec.Pretty(), unit.Count(n), unit.Count(l.Ports), verdict.MorePorts)
	}
	return nil
}
