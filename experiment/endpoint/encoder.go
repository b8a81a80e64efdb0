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

// voice is how the requests of one class are made.
type classEncoder struct {
	api *apiClient
	enc *openai.Encoder
	promptStyle
	converses, forced bool
}

// voices are those of all classes of a point, by the class's name.
func (s *Server) classEncoders(ctx context.Context, spec *experiment.Spec) (map[string]*classEncoder, error) {
	out := map[string]*classEncoder{}
	for _, c := range spec.Classes() {
		v := &classEncoder{api: s.apis[cmp.Or(c.API, spec.APIOr(s.Target))], converses: c.Session != nil, forced: spec.ClassForced(c.Name)}
		v.promptStyle = promptStyle{first: v.api.vocab}
		if v.converses {
			m, err := v.api.conversation(ctx)
			if err != nil {
				return nil, err
			}
			v.promptStyle = *m
		}
		v.api.measureTemplateOverhead(ctx, &v.promptStyle, c.Extra)
		extra := map[string]any{}
		maps.Copy(extra, v.extra)
		maps.Copy(extra, s.Target.ExtraBody)
		maps.Copy(extra, c.Extra)
		var err error
		v.enc, err = openai.Params{
			API: cmp.Or(c.API, spec.APIOr(s.Target)), Model: s.Info.Model, Stream: spec.Streams(), IgnoreEOS: v.forced,
			Omit: v.api.omit, Extra: extra,
		}.Encoder()
		if err != nil {
			return nil, err
		}
		out[c.Name] = v
	}
	return out, nil
}

// prompt is what a vocabulary makes of a request; ids is room that it may use.
func prompt(vocab *workload.Vocabulary, ids []int32, r *workload.Request) openai.Prompt {
	if vocab.IDs == 0 {
		return openai.Prompt{Text: vocab.Text(r)}
	}
	return openai.Prompt{IDs: vocab.TokenIDs(ids, r)}
}

// encoder makes the function that encodes bodies; it is used from one goroutine.
func encoder(voices map[string]*classEncoder) func(*workload.Request) []byte {
	var ids []int32
	return func(r *workload.Request) []byte {
		v := voices[r.Class]
		p := prompt(&v.first, ids[:0], r)
		ids = p.IDs
		return v.enc.Body(nil, p, r.Output)
	}
}

// follow makes the next turn of a conversation from the one that has ended: what the server said takes the place of the
// answer that was planned.
func follow(voices map[string]*classEncoder, plan *workload.Plan, job *load.Job, body []byte) (*load.Job, []byte) {
	v := voices[job.Request.Class]
	next, _ := plan.Following(&job.Request)
	added := next.Added()
	p := prompt(&v.later, nil, &added)
	if p.IDs == nil && v.api.api != target.Chat {
		p.Text = v.later.Sep + p.Text
	}
	asked := cmp.Or(job.Input, job.Request.Input) + job.Result.OutputTokens + added.Input
	return &load.Job{Request: next, Input: asked}, v.enc.Extend(nil, body, &job.Result.Answer, p, next.Output)
}

// form is how the point's prompts are sent, as results name it.
func form(voices map[string]*classEncoder) string {
	forms := map[string]bool{}
	for _, v := range voices {
		forms[formOf(&v.first)] = true
	}
	if len(forms) > 1 {
		return "mixed"
	}
	return slices.Collect(maps.Keys(forms))[0]
}

// Manner is how a point's requests are going to be made, as its results will name it: the form of the prompts, and the constant
// part of every body. Figures of two servers compare where both are the same.
func (s *Server) PromptStyle(ctx context.Context, spec *experiment.Spec) (promptForm string, body map[string]any, err error) {
	voices, err := s.classEncoders(ctx, spec)
	if err != nil {
		return "", nil, err
	}
	body, _ = sampling(voices)
	return form(voices), body, nil
}

// sampling is the constant part of every body, and what that of each class has beside it.
func sampling(voices map[string]*classEncoder) (common map[string]any, own map[string]map[string]any) {
	for _, v := range voices {
		said := v.enc.Sampling()
		if common == nil {
			common = maps.Clone(said)
		}
		maps.DeleteFunc(common, func(key string, value any) bool {
			other, there := said[key]
			return !there || !reflect.DeepEqual(other, value)
		})
	}
	for class, v := range voices {
		said := v.enc.Sampling()
		maps.DeleteFunc(said, func(key string, _ any) bool { _, all := common[key]; return all })
		if len(said) == 0 {
			continue
		}
		if own == nil {
			own = map[string]map[string]any{}
		}
		own[class] = said
	}
	return common, own
}

// dialects are those that the voices speak, in a fixed order.
func apiClients(voices map[string]*classEncoder) []*apiClient {
	var out []*apiClient
	for _, class := range slices.Sorted(maps.Keys(voices)) {
		if d := voices[class].api; !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// omitted are the request fields that the server refused, in whatever API.
func omitted(voices map[string]*classEncoder) []string {
	all := map[string]bool{}
	for _, d := range apiClients(voices) {
		maps.Copy(all, d.omit)
	}
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(all))))
}

// widest is the vocabulary whose prompts have the most tokens around them.
func widest(voices map[string]*classEncoder) *workload.Vocabulary {
	var most *workload.Vocabulary
	for _, v := range voices {
		if most == nil || v.first.Overhead > most.Overhead {
			most = &v.first
		}
	}
	return most
}
