package workload

import (
	"fmt"
	"slices"
)

// Bucket is one bin of a histogram: integers from Min to Max, uniformly distributed.
type Bucket struct {
	Min    int     `json:"min"`
	Max    int     `json:"max"`
	Weight float64 `json:"weight"` // relative to the sum of weights
}

// maxBuckets bounds a histogram, which every draw scans.
const maxBuckets = 1000

func (l *Length) decodeBuckets(f *fields) {
	const hint = `write buckets = [{ min = 1, max = 128, weight = 0.7 }, { min = 129, max = 1024, weight = 0.3 }]`
	v, there := f.get("buckets")
	if !there {
		return
	}
	tables, ok := tablesOf(v)
	if !ok || len(tables) == 0 || len(tables) > maxBuckets {
		f.report("buckets", fmt.Sprintf("buckets must be a list of 1 to %d tables", maxBuckets), hint)
		return
	}
	for i, t := range tables {
		b := f.inner(fmt.Sprintf("buckets[%d]", i), "a bucket", t, keyList{must: []string{"min", "max", "weight"}})
		var bucket Bucket
		b.wholeTokens("min", &bucket.Min)
		b.wholeTokens("max", &bucket.Max)
		b.number("weight", &bucket.Weight, 0, 1e9, "write weight = 0.5")
		if b.done("") && (bucket.Min < 1 || bucket.Max < bucket.Min) {
			b.report("max", fmt.Sprintf("a bucket from %d to %d contains no length", bucket.Min, bucket.Max),
				"write min = 1, max = 128")
		}
		l.Buckets = append(l.Buckets, bucket)
	}
	if !f.wrong && l.weights() <= 0 {
		f.report("buckets", "all bucket weights are 0", hint)
	}
}

func (l *Length) decodeEmpirical(f *fields) {
	v, inline := f.get("values")
	_, file := f.get("file")
	switch {
	case inline == file:
		f.report("", "empirical needs either values or file",
			`write values = [120, 300, 2400], or file = "lengths.txt" with one number a line`)
	case inline:
		l.Values = f.lengths("values", v)
		if _, ok := f.get("column"); ok {
			f.report("column", "column requires file", `remove column, or write file = "log.csv" in place of values`)
		}
	default:
		l.File = f.file("column")
	}
}

func (f *fields) lengths(key string, v any) []int {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		f.report(key, key+" must be a list of token counts", "write "+key+" = [120, 300, 2400]")
		return nil
	}
	var out []int
	for i, e := range list {
		n, ok := e.(int64)
		if !ok || n < 1 || n > maxTokens {
			f.report(fmt.Sprintf("%s[%d]", key, i),
				fmt.Sprintf("%s is not a token count from 1 to %d", Found(e), maxTokens), "write "+key+
					" = [120, 300, 2400]")
			return nil
		}
		out = append(out, int(n))
	}
	return out
}

func (l *Length) samples() []int {
	switch {
	case l.File == nil:
		return l.Values
	case len(l.File.Read) == 0: // the spec of a stored result: its file is not read again
		return nil
	}
	return l.File.Read[0]
}

func (l *Length) weights() (sum float64) {
	for _, b := range l.Buckets {
		sum += b.Weight
	}
	return sum
}

func (l *Length) bucket(x float64) Bucket {
	last := 0
	for i, b := range l.Buckets {
		if b.Weight == 0 {
			continue
		}
		if last = i; x < b.Weight {
			break
		}
		x -= b.Weight
	}
	return l.Buckets[last]
}

// edge is the smallest (sign −1) or the largest (sign 1) length of the buckets whose weight is above 0.
func (l *Length) edge(sign int) int {
	var edges []int
	for _, b := range l.Buckets {
		if b.Weight > 0 {
			edges = append(edges, sign*b.Min, sign*b.Max)
		}
	}
	return sign * slices.Max(append(edges, sign))
}
