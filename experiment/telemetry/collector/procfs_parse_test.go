package collector

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	statText = `cpu  100 10 60 900 25 4 6 20 30 3
cpu0 40 4 30 400 20 1 2 15 12 1
cpu1 60 6 30 500 5 3 4 5 18 2
intr 99999 1 2 3
ctxt 5
`
	snmpText = `Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens InSegs OutSegs RetransSegs InErrs
Tcp: 1 200 120000 -1 6958 92281 89245 15 0
Udp: InDatagrams
Udp: 3
`
	netstatText = `TcpExt: SyncookiesSent TCPOFOQueue TCPTimeouts TCPDSACKRecv TCPToZeroWindowAdv
TcpExt: 0 7 19 4 2
IpExt: InNoRoutes
IpExt: 0
`
	sockstatText  = "sockets: used 14\nTCP: inuse 101 orphan 0 tw 6253 alloc 102 mem 0\nUDP: inuse 2 mem 0\n"
	sockstat6Text = "TCP6: inuse 3\nUDP6: inuse 1\n"
)

func TestParseCores(t *testing.T) {
	for _, c := range []struct {
		what, text string
		want       []coreTicks
	}{
		{"two cores: guest time is in user", statText, []coreTicks{{77, 420, 15}, {103, 505, 5}}},
		{"an old kernel without steal", "cpu  1 2 3 4\ncpu0 1 2 3 4 5 6 7\n", []coreTicks{{19, 9, 0}}},
		{"no core of its own", "cpu  1 2 3 4 5 6 7 8\nintr 3\n", nil},
		{"not a number", "cpu0 1 x 3\n", nil},
		{"empty", "", nil},
		{"cut short", "cpu0", []coreTicks{{}}},
	} {
		if diff := cmp.Diff(c.want, parseCores(nil, []byte(c.text)), cmp.AllowUnexported(coreTicks{})); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}

func TestParseSegments(t *testing.T) {
	got := parseSegments([]byte(snmpText), []byte(netstatText))
	want := segments{out: new(int64(89245)), in: new(int64(92281)), again: new(int64(15)), timeouts: new(int64(19)), outOfOrder: new(int64(7)),
		needless: new(int64(4)), closed: new(int64(2))}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(segments{})); diff != "" {
		t.Error(diff)
	}
	for what, text := range map[string]string{
		"nothing": "", "names alone": "Tcp: OutSegs\n", "fewer numbers than names": "Tcp: InErrs OutSegs\nTcp: 1\n", "no number": "Tcp: OutSegs\nTcp: many\n",
		"another group": "Udp: OutSegs\nUdp: 3\n", "below zero": "Tcp: OutSegs\nTcp: -1\n",
	} {
		if s := parseSegments([]byte(text), []byte(text)); s != (segments{}) {
			t.Errorf("%s: %+v", what, s)
		}
	}
}

func TestParseSockets(t *testing.T) {
	for _, c := range []struct {
		v4, v6         string
		used, timeWait *int
	}{
		{sockstatText, sockstat6Text, new(104), new(6253)},
		{sockstatText, "", new(101), new(6253)},
		{"", sockstat6Text, nil, nil},
		{"TCP: inuse", "", nil, nil},
		{"TCP: inuse x tw 3", "", nil, new(3)},
	} {
		got := parseSockets([]byte(c.v4), []byte(c.v6))
		if diff := cmp.Diff(sockets{c.used, c.timeWait}, got, cmp.AllowUnexported(sockets{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseDelayAndPorts(t *testing.T) {
	if d, ok := parseDelay([]byte("83717 69481 2\n")); !ok || d != 69481 {
		t.Error(d, ok)
	}
	for _, text := range []string{"", "5", "5 x 2", "5 -1 2"} {
		if d, ok := parseDelay([]byte(text)); ok {
			t.Errorf("%q is a delay of %s", text, d)
		}
	}
	for text, want := range map[string]int{"32768\t60999\n": 28232, "1024 65535": 64512, "5 5": 1, "": 0, "6 5": 0, "1": 0, "a b": 0, "1 70000": 0} {
		if got := parsePorts([]byte(text)); got != want {
			t.Errorf("%q: %d ports, want %d", text, got, want)
		}
	}
}

func FuzzProc(f *testing.F) {
	for _, text := range []string{statText, snmpText, netstatText, sockstatText, sockstat6Text, "1 2 3", "32768 60999"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, c := range parseCores(nil, text) {
			if c.busy < 0 || c.idle < 0 || c.steal < 0 || math.IsNaN(c.busy+c.idle+c.steal) {
				t.Errorf("%+v", c)
			}
		}
		s := parseSegments(text, text)
		for _, n := range []*int64{s.out, s.in, s.again, s.timeouts, s.outOfOrder, s.needless, s.closed} {
			if n != nil && *n < 0 {
				t.Errorf("%d segments", *n)
			}
		}
		k := parseSockets(text, text)
		for _, n := range []*int{k.used, k.timeWait} {
			if n != nil && *n < 0 {
				t.Errorf("%d sockets", *n)
			}
		}
		if d, ok := parseDelay(text); ok && d < 0 {
			t.Errorf("a delay of %s", d)
		}
		if n := parsePorts(text); n < 0 || n > 1<<16 {
			t.Errorf("%d ports", n)
		}
	})
}
