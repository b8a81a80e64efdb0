package endpoint

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// classEncoder makes the requests of one class of a point.
type classEncoder struct {
	api *apiClient
	enc *openai.Encoder
	promptStyle
	ignoreEOS bool
}

// classEncoders are the encoders of a point, by the class's name.
type classEncoders map[string]*classEncoder

func (s *Server) classEncoders(ctx context.Context, spec *experiment.Spec) (classEncoders, error) {
	out := classEncoders{}
	for _, class := range spec.Classes() {
		api := cmp.Or(class.API, spec.APIFor(s.Target))
		e := &classEncoder{api: s.apis[api], ignoreEOS: spec.ClassIgnoresEOS(class.Name)}
		e.promptStyle = promptStyle{first: e.api.vocab}
		if class.Session != nil {
			style, err := e.api.conversationStyle(ctx)
			if err != nil {
				return nil, err
			}
			e.promptStyle = *style
		}
		e.api.measureTemplateOverhead(ctx, &e.promptStyle, class.Extra)
		if e.api.listsIDs && spec.Streams() && spec.Longest() <= longestListed {
			e.extra = tokenIDs
		}
		var err error
		e.enc, err = openai.Params{
			API: api, Model: s.Info.Model, Stream: spec.Streams(), IgnoreEOS: e.ignoreEOS, Omit: e.api.omit,
			Extra: merged(merged(e.extra, s.Target.ExtraBody), class.Extra),
		}.Encoder()
		if err != nil {
			return nil, err
		}
		out[class.Name] = e
	}
	return out, nil
}

// promptOf is a request's prompt in a vocabulary; ids is memory that it may use.
func promptOf(vocab *workload.Vocabulary, ids []int32, r *workload.Request) openai.Prompt {
	if vocab.IDs == 0 {
		return openai.Prompt{Text: vocab.Text(r)}
	}
	return openai.Prompt{IDs: vocab.TokenIDs(ids, r)}
}

// encode returns the function that encodes bodies, for use by one goroutine.
func (es classEncoders) encode() func(*workload.Request) []byte {
	var ids []int32
	return func(r *workload.Request) []byte {
		e := es[r.Class]
		p := promptOf(&e.first, ids[:0], r)
		ids = p.IDs
		return e.enc.Body(nil, p, r.Output)
	}
}

// nextTurn makes the next turn of a conversation from the one that has ended; the server's answer replaces
// the planned one.
func (es classEncoders) nextTurn(plan *workload.Plan, job *load.Job, body []byte) (*load.Job, []byte) {
	e := es[job.Request.Class]
	next, _ := plan.Following(&job.Request)
	added := next.Added()
	p := promptOf(&e.later, nil, &added)
	if p.IDs == nil && e.api.api != target.Chat {
		p.Text = e.later.Sep + p.Text
	}
	input := cmp.Or(job.Input, job.Request.Input) + job.Result.OutputTokens + added.Input
	return &load.Job{Request: next, Input: input}, e.enc.Extend(nil, body, &job.Result.Answer, p, next.Output)
}

// promptForm is token_ids, text or mixed.
func (es classEncoders) promptForm() string {
	form := ""
	for _, e := range es {
		if own := formOf(&e.first); form == "" {
			form = own
		} else if own != form {
			return "mixed"
		}
	}
	return form
}

// formOf is the form of a vocabulary's prompts: token_ids or text.
func formOf(v *workload.Vocabulary) string {
	if v.IDs > 0 {
		return "token_ids"
	}
	return "text"
}

// RequestForm is how a point's requests will be made, as its results will state it: the form of the prompts,
// and the constant fields of every body. Figures of two servers are comparable if both are the same.
func (s *Server) RequestForm(ctx context.Context, spec *experiment.Spec) (promptForm string, body map[string]any, err error) {
	encoders, err := s.classEncoders(ctx, spec)
	if err != nil {
		return "", nil, err
	}
	body, _ = encoders.sampling()
	return encoders.promptForm(), body, nil
}

// sampling is the constant fields that all bodies share, and the other ones of each class.
func (es classEncoders) sampling() (common map[string]any, own map[string]map[string]any) {
	for _, e := range es {
		fields := e.enc.Sampling()
		if common == nil {
			common = maps.Clone(fields)
		}
		maps.DeleteFunc(common, func(key string, value any) bool {
			other, has := fields[key]
			return !has || !reflect.DeepEqual(other, value)
		})
	}
	for class, e := range es {
		fields := e.enc.Sampling()
		maps.DeleteFunc(fields, func(key string, _ any) bool { _, shared := common[key]; return shared })
		if len(fields) == 0 {
			continue
		}
		if own == nil {
			own = map[string]map[string]any{}
		}
		own[class] = fields
	}
	return common, own
}

// apiClients are those in use, in a fixed order.
func (es classEncoders) apiClients() []*apiClient {
	var out []*apiClient
	for _, class := range slices.Sorted(maps.Keys(es)) {
		if c := es[class].api; !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// omitted are the request fields that the server refused, by any API; never nil.
func (es classEncoders) omitted() []string {
	all := map[string]bool{}
	for _, e := range es {
		maps.Copy(all, e.api.omit)
	}
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(all))))
}

// overhead is the largest number of tokens around a prompt.
func (es classEncoders) overhead() int {
	most := 0
	for _, e := range es {
		most = max(most, e.first.Overhead)
	}
	return most
}
