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

func (l *Length) decodeBuckets(f *fields) {
	const hint = `write buckets = [{ min = 1, max = 128, weight = 0.7 }, { min = 129, max = 1024, weight = 0.3 }]`
	f.tables("buckets", "a bucket", hint, []string{"min", "max", "weight"}, func(b *fields) {
		var bucket Bucket
		b.wholeTokens("min", &bucket.Min)
		b.wholeTokens("max", &bucket.Max)
		b.number("weight", &bucket.Weight, 0, 1e9, "write weight = 0.5")
		if b.done("") && (bucket.Min < 1 || bucket.Max < bucket.Min) {
			b.report("max", fmt.Sprintf("a bucket from %d to %d contains no length", bucket.Min, bucket.Max),
				"write min = 1, max = 128")
		}
		l.Buckets = append(l.Buckets, bucket)
	})
	if len(l.Buckets) > 0 && !f.wrong && l.weights() <= 0 {
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

// Pairs are input and output lengths that belong together: each request draws one pair, uniformly. They
// replace input and output.
type Pairs struct {
	List [][2]int `json:"list,omitempty"` // input and output; nil = from File
	File *File    `json:"file,omitempty"` // nil = from List
}

// DecodeTOML reads a list of pairs, or a table { file = "log.csv", input = "ContextTokens", output =
// "GeneratedTokens" }.
func (p *Pairs) DecodeTOML(v any, bad func(key, problem, hint string)) {
	*p = Pairs{}
	if t, ok := v.(map[string]any); ok {
		f := fields{t: t, of: "pairs", keys: keyList{must: []string{"file", "input", "output"}}, bad: bad}
		if f.done("") {
			p.File = f.file("input", "output")
		}
		return
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		bad("", fmt.Sprintf("pairs must be a list of input and output lengths or a table, not %s", Found(v)), pairsHint)
		return
	}
	for i, e := range list {
		pair, ok := pairOf(e)
		if !ok {
			bad(fmt.Sprintf("[%d]", i), fmt.Sprintf("%s is not a pair of token counts", Found(e)), pairsHint)
			return
		}
		p.List = append(p.List, pair)
	}
}

const pairsHint = `write pairs = [[300, 50], [2000, 400]], ` +
	`or { file = "log.csv", input = "ContextTokens", output = "GeneratedTokens" }`

func pairOf(v any) (pair [2]int, ok bool) {
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return pair, false
	}
	for i, e := range list {
		n, ok := e.(int64)
		if !ok || n < 1 || n > maxTokens {
			return pair, false
		}
		pair[i] = int(n)
	}
	return pair, true
}

// longest is the largest sum of input and output of a pair; 0 if the file was not read.
func (p *Pairs) longest() (most int) {
	for _, pair := range p.List {
		most = max(most, pair[0]+pair[1])
	}
	if p.File != nil && len(p.File.Read) == 2 {
		for i, input := range p.File.Read[0] {
			most = max(most, input+p.File.Read[1][i])
		}
	}
	return most
}

func (p *Pairs) lengths() (input, output Length) {
	input, output = Length{Dist: "empirical"}, Length{Dist: "empirical"}
	for _, pair := range p.List {
		input.Values, output.Values = append(input.Values, pair[0]), append(output.Values, pair[1])
	}
	if p.File == nil {
		return input, output
	}
	for i, side := range []*Length{&input, &output} {
		if len(p.File.Columns) != 2 { // a stored row that was edited
			break
		}
		one := *p.File
		one.Columns = p.File.Columns[i : i+1]
		if one.Read != nil {
			one.Read = one.Read[i : i+1]
		}
		side.File = &one
	}
	return input, output
}
