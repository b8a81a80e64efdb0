// Package unit writes figures as text, for every output of bench. It knows no metric and no file format.
package unit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format writes a figure to three significant digits with its unit. Of "ms" it takes the unit of time that
// fits, of "share" a percentage.
func Format(x float64, unit string) string {
	switch abs := math.Abs(x); {
	case unit == "ms" && abs >= 1000:
		x, unit = x/1000, "s"
	case unit == "ms" && abs > 0 && abs < 1:
		x, unit = x*1000, "µs"
	case unit == "share":
		x, unit = x*100, "%"
	case unit == "usd":
		unit = "USD"
	}
	return strings.TrimSpace(Digits(x) + " " + unit)
}

// Scale is the factor from a unit to the one in which Format shows x: of other figures beside it, such as the ends of
// its interval.
func Scale(x float64, unit string) float64 {
	switch abs := math.Abs(x); {
	case unit == "ms" && abs >= 1000:
		return 1e-3
	case unit == "ms" && abs > 0 && abs < 1:
		return 1e3
	case unit == "share":
		return 100
	}
	return 1
}

// Digits writes three significant digits, without an exponent from 1e-4 to 1e15.
func Digits(x float64) string { return significant(x, 3) }

// Brief writes at most that many significant digits, without trailing zeros, for a figure in a sentence: 5,
// 0.1, 1,230.
func Brief(x float64, digits int) string {
	text := significant(x, digits)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func significant(x float64, digits int) string {
	abs := math.Abs(x)
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x) || abs >= 1e15 || (abs > 0 && abs < 1e-4):
		return strconv.FormatFloat(x, 'g', digits, 64)
	case abs == 0:
		return "0"
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', digits-1, 64), "e") // once rounded: 9.999 is 10.0
	e, _ := strconv.Atoi(exponent)
	decimals := digits - 1 - e
	if decimals < 0 {
		scale := math.Pow(10, float64(-decimals))
		return Count(int(math.Round(x/scale) * scale))
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if e < 3 {
		return text
	}
	whole, fraction, _ := strings.Cut(text, ".")
	n, _ := strconv.Atoi(whole)
	return strings.TrimSuffix(Count(n)+"."+fraction, ".")
}

// Count writes an integer with thousands separators: 12,300.
func Count(n int) string {
	text := strconv.Itoa(n)
	start := len(text) - 3
	for i := start; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Plural writes a count of things: 1 request, 2,000 requests.
func Plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Count(n) + " " + thing
}

// Some names three things and counts the others: "A, B, C and 4 more".
func Some(names []string) string {
	const few = 3
	text := strings.Join(names[:min(few, len(names))], ", ")
	if more := len(names) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// ClipBytes shortens a text to n bytes, and marks a cut by "…".
func ClipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func Ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Exactly is a configured figure with all its digits: "1.5 s" for 1500 ms, "5 %" for the share 0.05.
func Exactly(x float64, unit string) string {
	switch {
	case unit == "ms" && x >= 1000:
		x, unit = x/1000, "s"
	case unit == "share":
		x, unit = x*100, "%"
	}
	return strings.TrimSpace(strconv.FormatFloat(x, 'g', 12, 64) + " " + unit)
}

// Percent is a share with one decimal: near 100 % the third digit matters, "97.5 %".
func Percent(share float64) string { return PercentDigits(share) + " %" }

// PercentDigits is Percent for a column of percentages.
func PercentDigits(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

// Counts is "12 schema, 3 not_json": what was counted by name, the largest count first.
func Counts(counts map[string]int) string {
	var texts []string
	for _, name := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	}) {
		texts = append(texts, Count(counts[name])+" "+name)
	}
	return strings.Join(texts, ", ")
}

// Clock is a duration to the second: 42s, 11m 20s, 1h 05m.
func Clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %02dm", s/3600, s%3600/60)
}
