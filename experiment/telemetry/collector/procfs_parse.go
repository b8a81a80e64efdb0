package collector

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// coreTicks are the ticks of one core since boot.
type coreTicks struct{ busy, idle, steal float64 }

// since is the difference. iowait, which is part of idle, can decrease (proc_stat(5)).
func (c coreTicks) since(before coreTicks) coreTicks {
	return coreTicks{max(0, c.busy-before.busy), max(0, c.idle-before.idle), max(0, c.steal-before.steal)}
}

// sockets are counts in the network namespace; nil: not reported.
type sockets struct{ used, timeWait *int }

// segments are TCP counters of the network namespace; nil: not reported.
type segments struct{ out, in, again, needless, timeouts, outOfOrder, closed *int64 }

// parseCores reads /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice. user includes
// guest.
func parseCores(into []coreTicks, text []byte) []coreTicks {
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		if !bytes.HasPrefix(name, []byte("cpu")) {
			break // the core lines come first; the interrupt lines are long
		}
		if len(name) == len("cpu") {
			continue // sum of all cores
		}
		var x [8]float64
		for i, word := range bytes.Fields(rest) {
			if i == len(x) {
				break
			}
			n, err := strconv.ParseUint(string(word), 10, 64)
			if err != nil {
				return nil
			}
			x[i] = float64(n)
		}
		into = append(into, coreTicks{busy: x[0] + x[1] + x[2] + x[5] + x[6], idle: x[3] + x[4], steal: x[7]})
	}
	return into
}

// parseDelay reads /proc/<pid>/task/<tid>/schedstat: time on a core, time on the run queue, time slices.
func parseDelay(text []byte) (delay time.Duration, ok bool) {
	words := bytes.Fields(text)
	if len(words) < 2 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(words[1]), 10, 64)
	return time.Duration(n), err == nil && n >= 0
}

// parseSockets reads /proc/net/sockstat and sockstat6. The latter has only the sockets in use.
func parseSockets(v4, v6 []byte) sockets {
	s := sockets{used: sockstatField(v4, "TCP:", "inuse"), timeWait: sockstatField(v4, "TCP:", "tw")}
	if more := sockstatField(v6, "TCP6:", "inuse"); s.used != nil && more != nil {
		s.used = new(*s.used + *more)
	}
	return s
}

// sockstatField is the number after word in a line.
func sockstatField(text []byte, line, word string) *int {
	for l := range bytes.Lines(text) {
		words := strings.Fields(string(l))
		if len(words) == 0 || words[0] != line {
			continue
		}
		for i := 1; i+1 < len(words); i += 2 {
			if words[i] != word {
				continue
			}
			if n, err := strconv.Atoi(words[i+1]); err == nil && n >= 0 {
				return &n
			}
		}
	}
	return nil
}

// parseSegments reads /proc/net/snmp and /proc/net/netstat.
func parseSegments(snmp, netstat []byte) segments {
	var s segments
	readCounters(snmp, "Tcp:", map[string]**int64{"OutSegs": &s.out, "InSegs": &s.in, "RetransSegs": &s.again})
	readCounters(netstat, "TcpExt:", map[string]**int64{
		"TCPTimeouts": &s.timeouts, "TCPOFOQueue": &s.outOfOrder, "TCPDSACKRecv": &s.needless, "TCPToZeroWindowAdv": &s.closed,
	})
	return s
}

// readCounters reads counters from a pair of lines; the first line has the names.
func readCounters(text []byte, group string, want map[string]**int64) {
	var names []byte
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(group))
		switch {
		case !ok:
			continue
		case names == nil:
			names = rest
			continue
		}
		for name := range bytes.FieldsSeq(names) {
			var word []byte
			word, rest = firstWord(rest)
			into := want[string(name)]
			if into == nil {
				continue
			}
			if n, err := strconv.ParseInt(string(word), 10, 64); err == nil && n >= 0 {
				*into = &n
			}
		}
		return
	}
}

// firstWord cuts text after its first word.
func firstWord(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " ")
	if i := bytes.IndexAny(text, " \n"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, nil
}

// parsePorts is the number of ports in /proc/sys/net/ipv4/ip_local_port_range; 0: not reported.
func parsePorts(text []byte) int {
	words := bytes.Fields(text)
	if len(words) != 2 {
		return 0
	}
	from, err1 := strconv.ParseUint(string(words[0]), 10, 16)
	to, err2 := strconv.ParseUint(string(words[1]), 10, 16)
	if err1 != nil || err2 != nil || to < from {
		return 0
	}
	return int(to - from + 1)
}
