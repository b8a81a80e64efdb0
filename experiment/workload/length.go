package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Length is a number of tokens: fixed, or drawn for each request. Drawn lengths are rounded to integers and
// clamped to Min and Max.
type Length struct {
	Dist string  `json:"dist"`           // fixed, uniform, normal, lognormal, histogram, empirical
	Mean float64 `json:"mean,omitempty"` // fixed: the value; normal
	Std  float64 `json:"std,omitempty"`  // normal
	P50  float64 `json:"p50,omitempty"`  // lognormal
	P95  float64 `json:"p95,omitempty"`  // lognormal
	Min  int     `json:"min,omitempty"`  // uniform: the smallest; normal, lognormal: a bound; 0 = 1
	Max  int     `json:"max,omitempty"`  // uniform: the largest; normal, lognormal: a bound; 0 = none

	Buckets []Bucket `json:"buckets,omitempty"` // histogram
	Values  []int    `json:"values,omitempty"`  // empirical: drawn uniformly from these; nil = from File
	File    *File    `json:"file,omitempty"`    // empirical: drawn uniformly from its values; nil = from Values
}

// maxTokens bounds any length: far above every context, far below integer overflow.
const maxTokens = 1 << 24

func Fixed(n int) Length { return Length{Dist: "fixed", Mean: float64(n)} }

func (l Length) set() bool { return l.Dist != "" }

func (l Length) IsZero() bool { return !l.set() }

var lengthKeys = map[string]keyList{
	"uniform":   {[]string{"min", "max"}, nil},
	"normal":    {[]string{"mean", "std"}, []string{"min", "max"}},
	"lognormal": {[]string{"p50", "p95"}, []string{"min", "max"}},
	"histogram": {[]string{"buckets"}, nil},
	"empirical": {nil, []string{"values", "file", "column"}},
}

const lengthHint = `write 256, or { dist = "lognormal", p50 = 300, p95 = 2000 }`

// DecodeTOML reads an integer, or a table { dist = "lognormal", p50 = 300, p95 = 2000 }.
func (l *Length) DecodeTOML(v any, bad func(key, problem, hint string)) {
	switch x := v.(type) {
	case int64:
		if x < 1 || x > maxTokens {
			bad("", fmt.Sprintf("%d tokens is not between 1 and %d", x, maxTokens), lengthHint)
			return
		}
		*l = Fixed(int(x))
	case map[string]any:
		l.decodeTable(x, bad)
	default:
		bad("", fmt.Sprintf("a length must be an integer number of tokens or a table, not %s", Found(v)), lengthHint)
	}
}

func (l *Length) decodeTable(t map[string]any, bad func(key, problem, hint string)) {
	dist, _ := t["dist"].(string)
	keys, ok := lengthKeys[dist]
	switch {
	case t["dist"] == nil:
		bad("", "the table has no dist", lengthHint)
		return
	case !ok:
		bad("dist", fmt.Sprintf("unknown distribution %q", dist),
			`use "uniform", "normal", "lognormal", "histogram" or "empirical"`)
		return
	}
	*l = Length{Dist: dist}
	f := fields{t: t, of: dist, keys: keys, bad: bad}
	f.tokens("mean", &l.Mean)
	f.tokens("std", &l.Std)
	f.tokens("p50", &l.P50)
	f.tokens("p95", &l.P95)
	f.wholeTokens("min", &l.Min)
	f.wholeTokens("max", &l.Max)
	if dist == "histogram" {
		l.decodeBuckets(&f)
	}
	if dist == "empirical" {
		l.decodeEmpirical(&f)
	}
	if f.done("dist") {
		l.check(bad)
	}
}

func (f *fields) tokens(key string, into *float64) {
	f.number(key, into, 0, maxTokens, "write "+key+" = 300")
}

func (f *fields) wholeTokens(key string, into *int) {
	f.whole(key, into, 0, maxTokens, "write "+key+" = 300")
}

func (l Length) check(bad mistakes) {
	bad.unless(l.Min <= l.Max || l.Max == 0 && l.Dist != "uniform", "max", "make max at least min",
		"max %d is below min %d", l.Max, l.Min)
	switch l.Dist {
	case "uniform":
		bad.unless(l.Min >= 1, "min", "write min = 1", "min is below 1 token")
	case "normal":
		bad.unless(l.Mean >= 1, "mean", "write mean = 300", "the mean is below 1 token")
	case "lognormal":
		bad.unless(l.P50 >= 1 && l.P95 >= l.P50, "p95", "write p50 = 300, p95 = 2000",
			"p95 %g is below p50 %g, or p50 below 1", l.P95, l.P50)
	}
}

// z95 is the standard normal quantile of 0.95.
const z95 = 1.6448536269514722

// Draw returns one length of at least 1 token.
func (l Length) Draw(r *rand.Rand) int {
	x := l.Mean
	switch l.Dist {
	case "uniform":
		return l.Min + r.IntN(l.Max-l.Min+1)
	case "histogram":
		b := l.bucket(r.Float64() * l.weights())
		return b.Min + r.IntN(b.Max-b.Min+1)
	case "empirical":
		return l.samples()[r.IntN(len(l.samples()))]
	case "normal":
		x = l.Mean + l.Std*r.NormFloat64()
	case "lognormal":
		x = l.P50 * math.Exp(math.Log(l.P95/l.P50)/z95*r.NormFloat64())
	}
	x = math.Round(x)
	if l.Max > 0 {
		x = math.Min(x, float64(l.Max))
	}
	return int(math.Min(math.Max(x, float64(max(l.Min, 1))), maxTokens))
}

func (l Length) Least() int {
	switch l.Dist {
	case "fixed":
		return int(l.Mean)
	case "histogram":
		return l.edge(-1)
	case "empirical":
		if len(l.samples()) > 0 {
			return slices.Min(l.samples())
		}
	}
	return max(l.Min, 1)
}

// Typical is the mean of the distribution before clamping, for planning and display.
func (l Length) Typical() float64 {
	sum := 0.0
	switch l.Dist {
	case "uniform":
		return float64(l.Min+l.Max) / 2
	case "lognormal":
		sigma := math.Log(l.P95/l.P50) / z95
		return l.P50 * math.Exp(sigma*sigma/2)
	case "histogram":
		for _, b := range l.Buckets {
			sum += float64(b.Min+b.Max) / 2 * b.Weight
		}
		return sum / l.weights()
	case "empirical":
		for _, n := range l.samples() {
			sum += float64(n)
		}
		return sum / float64(max(len(l.samples()), 1))
	}
	return l.Mean
}

func (l Length) String() string {
	switch l.Dist {
	case "":
		return ""
	case "fixed":
		return fmt.Sprintf("%d", int(l.Mean))
	case "uniform":
		return fmt.Sprintf("uniform %d–%d", l.Min, l.Max)
	case "normal":
		return fmt.Sprintf("normal %g±%g", l.Mean, l.Std)
	case "histogram":
		return fmt.Sprintf("histogram %d–%d", l.Least(), l.most())
	case "empirical":
		if l.File != nil {
			return l.File.String()
		}
		return fmt.Sprintf("one of %d values", len(l.Values))
	}
	return fmt.Sprintf("lognormal p50 %g p95 %g", l.P50, l.P95)
}

// most is the largest possible length. Without a max it is a length that few draws exceed.
func (l Length) most() int {
	switch {
	case l.Max > 0:
		return l.Max
	case l.Dist == "normal":
		return max(l.Min, int(l.Mean+2*l.Std))
	case l.Dist == "lognormal":
		return max(l.Min, int(l.P95))
	case l.Dist == "histogram":
		return l.edge(1)
	case l.Dist == "empirical":
		return slices.Max(append([]int{1}, l.samples()...))
	}
	return int(l.Mean)
}
