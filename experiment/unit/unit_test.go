package unit

import (
	"strings"
	"testing"
)

// The ends of an interval are in the unit of their figure.
func TestScaleIsFormats(t *testing.T) {
	for _, c := range []struct {
		x    float64
		unit string
	}{{0.5, "ms"}, {0, "ms"}, {1, "ms"}, {999, "ms"}, {1250, "ms"}, {-2000, "ms"}, {0.25, "share"}, {7, "1/s"}, {0.16, "usd"}} {
		got, _, _ := strings.Cut(Format(c.x, c.unit), " ")
		if want := Digits(c.x * Scale(c.x, c.unit)); got != want {
			t.Errorf("%v %s: Format has %s, its scale %s", c.x, c.unit, got, want)
		}
	}
}
