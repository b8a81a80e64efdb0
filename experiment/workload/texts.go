package workload

import "fmt"

// maxTexts bounds the texts of a request. Servers have lower limits of their own: vLLM 2,048 in one batch.
const maxTexts = 10_000

// queryTokens is the length of the query of a request for scores, before the server's own tokens.
const queryTokens = 16

// checkTexts checks a row whose API reads texts and writes none.
func (w Workload) checkTexts(bad func(key, problem, hint string)) {
	if w.Texts == 0 {
		return
	}
	if w.Texts < 0 || w.Texts > maxTexts {
		bad("texts", fmt.Sprintf("%d texts is not between 1 and %d", w.Texts, maxTexts), "write texts = 16")
	}
	for i, c := range w.Classes() {
		key := ""
		if len(w.Mix) > 0 {
			key = fmt.Sprintf("mix[%d].", i)
		}
		for _, set := range []struct {
			key   string
			isSet bool
		}{{"output", c.Output.set()}, {"pairs", c.Pairs != nil}, {"prefix", c.Prefix != nil}, {"session", c.Session != nil},
			{"prompts", c.Prompts != nil}, {"images", c.Images != nil}, {"leave", c.Leave != nil}} {
			if set.isSet {
				bad(key+set.key, set.key+" does not apply to vectors and scores, which no server writes token by token", "remove it")
			}
		}
	}
}

// addTexts gives the request its texts, of equal lengths, and a query. The prompt is all texts together.
func (p *Plan) addTexts(r *Request, class, i int) {
	each := r.Input
	for k := range p.w.Texts {
		text := Request{Input: each, Blocks: p.fill(nil, each, blockText, uint64(class), uint64(i), uint64(k))}
		r.Texts = append(r.Texts, text)
		r.Blocks = append(r.Blocks, text.Blocks...)
	}
	r.Input, r.Output, r.Own = each*p.w.Texts, 0, each*p.w.Texts
	r.Query = &Request{Input: queryTokens, Blocks: p.fill(nil, queryTokens, blockQuery, uint64(class), uint64(i))}
}
