package page

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// rgb is a colour as linear light.
func rgb(t *testing.T, hex string) [3]float64 {
	t.Helper()
	var out [3]float64
	for i := range out {
		x, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		if c := float64(x) / 255; c <= 0.03928 {
			out[i] = c / 12.92
		} else {
			out[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return out
}

// contrast is that of WCAG 2.
func contrast(a, b [3]float64) float64 {
	light := func(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(light(a), light(b)) / min(light(a), light(b))
}

// sights are full deuteranopia, protanopia and tritanopia (Machado, Oliveira and Fernandes 2009, severity 1),
// and none.
var sights = [][3][3]float64{
	{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
}

// lab is a colour as somebody sees it, in CIE L*a*b* (D65).
func lab(c [3]float64, sight [3][3]float64) [3]float64 {
	dot := func(row [3]float64, v [3]float64) float64 { return row[0]*v[0] + row[1]*v[1] + row[2]*v[2] }
	var seen [3]float64
	for i, row := range sight {
		seen[i] = min(1, max(0, dot(row, c)))
	}
	f := func(x float64) float64 {
		if x > 0.008856 {
			return math.Cbrt(x)
		}
		return 7.787*x + 16.0/116
	}
	x, y, z := f(dot([3]float64{0.4124, 0.3576, 0.1805}, seen)/0.9505), f(dot([3]float64{0.2126, 0.7152, 0.0722}, seen)), f(dot([3]float64{0.0193, 0.1192, 0.9505}, seen)/1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// Lines have a contrast of 3:1 to the page (WCAG AA for graphics), light and dark, and no two of them look
// the same to anybody.
func TestPalette(t *testing.T) {
	lighter := map[string]string{}
	for _, m := range regexp.MustCompile(`'(#\w{6})': '(#\w{6})'`).FindAllStringSubmatch(chartsScript, -1) {
		lighter[m[1]] = m[2]
	}
	for page, of := range map[string]func(string) string{"#ffffff": func(c string) string { return c }, "#14171c": func(c string) string { return lighter[c] }} {
		for _, c := range append([]string{vermilion, neutral}, palette...) {
			if got := contrast(rgb(t, of(c)), rgb(t, page)); got < 3 {
				t.Errorf("%s on %s: %.2f:1", of(c), page, got)
			}
		}
		for i, a := range palette {
			for _, b := range palette[:i] {
				for _, sight := range sights {
					p, q := lab(rgb(t, of(a)), sight), lab(rgb(t, of(b)), sight)
					if d := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2]); d < 9 {
						t.Errorf("%s and %s look the same: %.1f", of(a), of(b), d)
					}
				}
			}
		}
	}
}

// Words have 4.5:1 to the page and to its panels, light and dark.
func TestContrastOfWords(t *testing.T) {
	colors := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--(\w+): light-dark\((#\w{6}), (#\w{6})\)`).FindAllStringSubmatch(style, -1) {
		colors[m[1]] = [2]string{m[2], m[3]}
	}
	for _, word := range []string{"fg", "faint", "link", "pass", "fail", "wait"} {
		for _, on := range []string{"bg", "panel"} {
			for theme := range 2 {
				if got := contrast(rgb(t, colors[word][theme]), rgb(t, colors[on][theme])); got < 4.5 {
					t.Errorf("%s on %s: %.2f:1", word, on, got)
				}
			}
		}
	}
}
