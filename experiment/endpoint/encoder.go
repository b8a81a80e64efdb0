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

type classEncoder struct {
	api      *apiClient
	apis     []*apiClient // of the replicas, api first
	enc      *openai.Encoder
	adapters map[string]*openai.Encoder // by model; nil: the class has one model
	omit     map[string]bool            // request fields that one of apis refuses
	promptStyle
	ignoreEOS   bool
	stream      bool
	isReal      bool // its prompts are from a file
	real        realPrompts
	imageTokens int // of each image of the class, by the server's count or the row's; 0: no images
}

type classEncoders map[string]*classEncoder

func (s *Server) classEncoders(ctx context.Context, spec *experiment.Spec) (classEncoders, error) {
	out := classEncoders{}
	for _, class := range spec.Classes() {
		route := spec.RouteOf(&class, s.Target)
		e := &classEncoder{ignoreEOS: spec.ClassIgnoresEOS(class.Name), isReal: class.Prompts != nil,
			stream: spec.Streams(), omit: map[string]bool{}}
		if err := e.connect(ctx, s.serversOf(&class), route, &class); err != nil {
			return nil, err
		}
		e.promptStyle = promptStyle{first: e.api.vocab}
		if class.Session != nil && class.Prompts == nil || spec.UsesServerAnswers() {
			style, err := e.api.conversationStyle(ctx)
			if err != nil {
				return nil, err
			}
			e.promptStyle = *style
		}
		if !e.isReal {
			e.api.measureTemplateOverhead(ctx, &e.promptStyle, class.Extra)
		}
		if class.Images != nil {
			var err error
			if e.imageTokens, err = e.api.countImage(ctx, class.Images); err != nil {
				return nil, err
			}
		}
		listless := slices.ContainsFunc(e.apis, func(c *apiClient) bool { return !c.listsIDs })
		if !listless && spec.Streams() && spec.EstimatedLongest() <= longestListed {
			e.extra = tokenIDs
		}
		params := openai.Params{
			API: route.API, Model: e.api.model, Stream: spec.Streams(), IgnoreEOS: e.ignoreEOS, Omit: e.omit,
			Extra: merged(merged(e.extra, s.Target.ExtraBody), class.Extra),
		}
		if err := e.prepare(params, class.Adapters); err != nil {
			return nil, err
		}
		out[class.Name] = e
	}
	return out, nil
}

func (e *classEncoder) connect(ctx context.Context, servers []*Server, route experiment.Route,
	class *workload.Class) error {
	for _, sv := range servers {
		c, err := sv.model(ctx, route.API, route.Model)
		if err != nil {
			return err
		}
		if c, err = sv.tenant(c, class); err != nil {
			return err
		}
		e.apis = append(e.apis, c)
		maps.Copy(e.omit, c.omit)
	}
	e.api = e.apis[0]
	return nil
}

func (e *classEncoder) prepare(p openai.Params, a *workload.Adapters) (err error) {
	if e.enc, err = p.Encoder(); err != nil || a == nil {
		return err
	}
	e.adapters = map[string]*openai.Encoder{}
	for _, name := range a.Names {
		p.Model = name
		if e.adapters[name], err = p.Encoder(); err != nil {
			return err
		}
	}
	return nil
}

func (e *classEncoder) encoder(r *workload.Request) *openai.Encoder {
	if enc := e.adapters[r.Model]; enc != nil {
		return enc
	}
	return e.enc
}

func (e *classEncoder) model(r *workload.Request) string { return cmp.Or(r.Model, e.api.model) }

func (e *classEncoder) models() []string {
	if e.adapters == nil {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(e.adapters))
}

// fields is the constant part of every body; with adapters, model is the list of their names.
func (e *classEncoder) fields() map[string]any {
	fields := e.enc.Sampling()
	if e.adapters != nil {
		fields["model"] = e.models()
	}
	return fields
}

// promptOf is a request's prompt in a vocabulary; ids is memory that it may use.
func promptOf(vocab *workload.Vocabulary, ids []int32, r *workload.Request) openai.Prompt {
	if r.Images != nil {
		words := *r
		words.Input -= r.ImageTokens()
		return openai.Prompt{Text: vocab.Text(&words), Images: r.Pictures()}
	}
	if vocab.IDs == 0 {
		return openai.Prompt{Text: vocab.Text(r)}
	}
	return openai.Prompt{IDs: vocab.TokenIDs(ids, r)}
}

// encode returns the function that encodes bodies, for use by one goroutine.
func (es classEncoders) encode() func(*workload.Request) []byte {
	var ids []int32
	return func(r *workload.Request) []byte {
		var body []byte
		body, ids = es[r.Class].body(r, ids[:0])
		return body
	}
}

// body encodes a request whose prompt is as planned; ids is memory that it may use, and returns.
func (e *classEncoder) body(r *workload.Request, ids []int32) (body []byte, used []int32) {
	if e.isReal {
		return e.realBody(r), ids
	}
	p := promptOf(&e.first, ids, r)
	return e.encoder(r).Body(nil, p, r.Output), p.IDs
}

// laterTurn makes a later turn of a session. If it continues one, the server's answer replaces the planned one.
func (es classEncoders) laterTurn(plan *workload.Plan, first *workload.Request, turn int, before *load.Job,
	body []byte) (*load.Job, []byte) {
	if before == nil {
		next := plan.Later(first, turn, nil)
		body, _ = es[next.Class].body(&next, nil)
		return &load.Job{Request: next}, body
	}
	next := plan.Later(first, turn, continued(before))
	e := es[next.Class]
	if e.isReal {
		return &load.Job{Request: next}, e.realTurn(&next, before, body)
	}
	added := next.Added()
	p := promptOf(&e.later, nil, &added)
	if p.IDs == nil && !target.InMessages(e.api.api) {
		p.Text = e.later.Sep + p.Text
	}
	job := &load.Job{Request: next}
	answer, estimated := sentBack(&before.Result)
	job.Input, job.InputEstimated = cmp.Or(before.Input, before.Request.Input)+answer+
		added.Input, before.InputEstimated || estimated
	return job, e.encoder(&next).Extend(nil, body, &before.Result.Answer, p, next.Output)
}

// continued is the request that a later turn continues; nil: none.
func continued(before *load.Job) *workload.Request {
	if before == nil {
		return nil
	}
	own := before.Request
	own.Reasoning = before.Result.ReasoningTokens
	return &own
}

// sentBack is the number of an answer's tokens that the next turn contains: those of its reasoning it does not. They
// are estimated if the server does not count these.
func sentBack(r *openai.Result) (tokens int, estimated bool) {
	return max(0, r.OutputTokens-r.ReasoningTokens), r.ReasoningEstimated || r.HasReasoning && r.ReasoningTokens == 0
}

func (es classEncoders) promptForm() string {
	form := ""
	for _, e := range es {
		own := formOf(&e.first)
		if e.isReal {
			own = realForm
		}
		if form == "" {
			form = own
		} else if own != form {
			return "mixed"
		}
	}
	return form
}

func formOf(v *workload.Vocabulary) string {
	if v.IDs > 0 {
		return "token_ids"
	}
	return "text"
}

func (es classEncoders) sampling() (common map[string]any, own map[string]map[string]any) {
	for _, e := range es {
		fields := e.fields()
		if common == nil {
			common = maps.Clone(fields)
		}
		maps.DeleteFunc(common, func(key string, value any) bool {
			other, has := fields[key]
			return !has || !reflect.DeepEqual(other, value)
		})
	}
	for class, e := range es {
		fields := e.fields()
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

func (es classEncoders) first() *classEncoder { return es[slices.Min(slices.Collect(maps.Keys(es)))] }

// clients are those in use, in a fixed order, with the largest part of the row's requests that each can have in flight:
// 1, or one replica's part.
func (es classEncoders) clients() (out []*openai.Client, parts []int) {
	for _, class := range slices.Sorted(maps.Keys(es)) {
		for _, c := range es[class].apis {
			if i := slices.Index(out, c.client); i < 0 {
				out, parts = append(out, c.client), append(parts, len(es[class].apis))
			} else {
				parts[i] = min(parts[i], len(es[class].apis))
			}
		}
	}
	return out, parts
}

func (es classEncoders) severalModels() bool {
	names := map[string]bool{}
	for _, e := range es {
		for _, name := range e.models() {
			names[cmp.Or(name, e.api.model)] = true
		}
	}
	return len(names) > 1
}

// omitted are the request fields that the server refused, by any API; never nil.
func (es classEncoders) omitted() []string {
	all := map[string]bool{}
	for _, e := range es {
		maps.Copy(all, e.omit)
	}
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(all))))
}

func (es classEncoders) overhead() int {
	most := 0
	for _, e := range es {
		most = max(most, e.first.Overhead)
	}
	return most
}
