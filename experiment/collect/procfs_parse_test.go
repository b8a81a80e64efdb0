package collect

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const statText = `cpu  100 10 60 900 25 4 6 20 30 3
cpu0 40 4 30 400 20 1 2 15 12 1
cpu1 60 6 30 500 5 3 4 5 18 2
intr 99999 1 2 3
ctxt 5
`

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

func TestParsePressure(t *testing.T) {
	const text = "some avg10=77.20 avg60=63.42 avg300=34.68 total=170001617\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"
	if d := parsePressure([]byte(text)); d == nil || *d != 170001617*time.Microsecond {
		t.Error(d)
	}
	for _, text := range []string{"", "some", "some avg10=0.00", "full total=5", "some total=", "some total=-1", "some total=99999999999999999999", "some total=9223372036854775807"} {
		if d := parsePressure([]byte(text)); d != nil {
			t.Errorf("%q: a pressure of %s", text, *d)
		}
	}
}

func TestParseDelayAndPorts(t *testing.T) {
	if cpu, d, ok := parseSchedstat([]byte("83717 69481 2\n")); !ok || d != 69481 || cpu != 83717 {
		t.Error(cpu, d, ok)
	}
	for _, text := range []string{"", "5", "5 x 2", "5 -1 2", "-1 5 2"} {
		if _, d, ok := parseSchedstat([]byte(text)); ok {
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
	for _, text := range []string{statText, "1 2 3", "32768 60999", "some avg10=77.20 avg60=63.42 avg300=34.68 total=170001617\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, c := range parseCores(nil, text) {
			if c.busy < 0 || c.idle < 0 || c.steal < 0 || math.IsNaN(c.busy+c.idle+c.steal) {
				t.Errorf("%+v", c)
			}
		}
		if cpu, d, ok := parseSchedstat(text); ok && min(cpu, d) < 0 {
			t.Errorf("a delay of %s, %s on a core", d, cpu)
		}
		if d := parsePressure(text); d != nil && *d < 0 {
			t.Errorf("a pressure of %s", *d)
		}
		if n := parsePorts(text); n < 0 || n > 1<<16 {
			t.Errorf("%d ports", n)
		}
	})
}
