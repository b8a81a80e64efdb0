package workload

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Length is a number of tokens: fixed, or drawn for each request. Drawn lengths are rounded to
// whole tokens and kept within Min and Max.
type Length struct {
	Dist string  `json:"dist"`           // fixed, uniform, normal, lognormal
	Mean float64 `json:"mean,omitempty"` // fixed: the value; normal
	Std  float64 `json:"std,omitempty"`  // normal
	P50  float64 `json:"p50,omitempty"`  // lognormal
	P95  float64 `json:"p95,omitempty"`  // lognormal
	Min  int     `json:"min,omitempty"`  // uniform: the least; else a bound; 0 = 1
	Max  int     `json:"max,omitempty"`  // uniform: the most; else a bound; 0 = none
}

// maxTokens bounds any length: far above every context, far below an overflow.
const maxTokens = 1 << 24

// Fixed is always n tokens.
func Fixed(n int) Length { return Length{Dist: "fixed", Mean: float64(n)} }

func (l Length) set() bool { return l.Dist != "" }

// IsZero says that no length is stated.
func (l Length) IsZero() bool { return !l.set() }

// lengthKeys are the keys of each distribution, the ones that must be there first.
var lengthKeys = map[string]keyList{
	"uniform":   {[]string{"min", "max"}, nil},
	"normal":    {[]string{"mean", "std"}, []string{"min", "max"}},
	"lognormal": {[]string{"p50", "p95"}, []string{"min", "max"}},
}

// DecodeTOML takes a whole number, or a table { dist = "lognormal", p50 = 300, p95 = 2000 }.
func (l *Length) DecodeTOML(v any, bad func(key, problem, hint string)) {
	const hint = `write 256, or { dist = "lognormal", p50 = 300, p95 = 2000 }`
	switch x := v.(type) {
	case int64:
		if x < 1 || x > maxTokens {
			bad("", fmt.Sprintf("%d tokens are not between 1 and %d", x, maxTokens), hint)
			return
		}
		*l = Fixed(int(x))
	case map[string]any:
		l.decodeTable(x, bad)
	default:
		bad("", fmt.Sprintf("a length is a whole number of tokens or a table, not %v", v), hint)
	}
}

func (l *Length) decodeTable(t map[string]any, bad func(key, problem, hint string)) {
	dist, _ := t["dist"].(string)
	keys, ok := lengthKeys[dist]
	if !ok {
		bad("dist", fmt.Sprintf("unknown distribution %q", dist), `use "uniform", "normal" or "lognormal"`)
		return
	}
	values, wrong := map[string]float64{}, false
	report := func(key, problem, hint string) { wrong = true; bad(key, problem, hint) }
	for _, k := range slices.Sorted(maps.Keys(t)) {
		if k == "dist" {
			continue
		}
		if !slices.Contains(keys.must, k) && !slices.Contains(keys.may, k) {
			report(k, fmt.Sprintf("%s has no key %q", dist, k), "its keys are "+keys.String())
			continue
		}
		x, ok := toFloat(t[k])
		if whole := k == "min" || k == "max"; !ok || !(x >= 0 && x <= maxTokens) || whole && x != math.Trunc(x) {
			report(k, fmt.Sprintf("%v is not a number of tokens", t[k]), "write "+k+" = 300")
			continue
		}
		values[k] = x
	}
	for _, k := range keys.must {
		if t[k] == nil {
			report("", fmt.Sprintf("%s needs %s", dist, k), "its keys are "+keys.String())
		}
	}
	*l = Length{Dist: dist, Mean: values["mean"], Std: values["std"], P50: values["p50"], P95: values["p95"],
		Min: int(values["min"]), Max: int(values["max"])}
	if !wrong {
		l.check(bad)
	}
}

func (l Length) check(bad func(key, problem, hint string)) {
	if l.Min > l.Max && (l.Max > 0 || l.Dist == "uniform") {
		bad("max", fmt.Sprintf("max %d is below min %d", l.Max, l.Min), "make max at least min")
	}
	switch l.Dist {
	case "uniform":
		if l.Min < 1 {
			bad("min", "min is below 1 token", "write min = 1")
		}
	case "normal":
		if l.Mean < 1 {
			bad("mean", "the mean is below 1 token", "write mean = 300")
		}
	case "lognormal":
		if l.P50 < 1 || l.P95 < l.P50 {
			bad("p95", fmt.Sprintf("p95 %g is below p50 %g, or p50 below 1", l.P95, l.P50), "write p50 = 300, p95 = 2000")
		}
	}
}

// z95 is the standard normal quantile of 0.95.
const z95 = 1.6448536269514722

// Draw gives one length of at least 1 token.
func (l Length) Draw(r *rand.Rand) int {
	x := l.Mean
	switch l.Dist {
	case "uniform":
		return l.Min + r.IntN(l.Max-l.Min+1)
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

// Least is the smallest length that can be drawn.
func (l Length) Least() int {
	if l.Dist == "fixed" {
		return int(l.Mean)
	}
	return max(l.Min, 1)
}

// Typical is the mean of a fixed, uniform or normal length, and the mean of the unbounded
// lognormal; for planning and display.
func (l Length) Typical() float64 {
	switch l.Dist {
	case "uniform":
		return float64(l.Min+l.Max) / 2
	case "lognormal":
		sigma := math.Log(l.P95/l.P50) / z95
		return l.P50 * math.Exp(sigma*sigma/2)
	}
	return l.Mean
}

// String is the length as it is written in a matrix.
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
	}
	return fmt.Sprintf("lognormal p50 %g p95 %g", l.P50, l.P95)
}

// most is the largest length; without a max, one that few exceed.
func (l Length) most() int {
	switch {
	case l.Max > 0:
		return l.Max
	case l.Dist == "normal":
		return max(l.Min, int(l.Mean+2*l.Std))
	case l.Dist == "lognormal":
		return max(l.Min, int(l.P95))
	}
	return int(l.Mean)
}
