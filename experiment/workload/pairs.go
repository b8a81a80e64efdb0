package workload

import "fmt"

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

const pairsHint = `write pairs = [[300, 50], [2000, 400]], or { file = "log.csv", input = "ContextTokens", output = "GeneratedTokens" }`

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
