package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/workload"
)

type OtherError struct {
	Endpoint string // its URL, as in the matrix
	Err      error
}

func (e *OtherError) Error() string { return e.Err.Error() }

func (e *OtherError) Unwrap() error { return e.Err }

// ReachOthers reaches what the points need beside the target's first endpoint and its model: the other replicas, the
// endpoints of classes, and the models that classes name. It fails if a server does not list an adapter.
func (s *Server) ReachOthers(ctx context.Context, specs []experiment.Spec) error {
	apis := experiment.APIs(specs, s.Target)
	for _, e := range s.Target.Replicas[min(1, len(s.Target.Replicas)):] {
		r, err := s.reachOther(ctx, e, s.Info.Model, apis)
		if err != nil {
			return &OtherError{e, fmt.Errorf("replica %s: %w", target.Redact(e), err)}
		}
		s.replicas = append(s.replicas, r)
		if err := s.takeReplica(r, e); err != nil {
			return err
		}
	}
	for _, route := range experiment.Routes(specs, s.Target) {
		if err := s.follow(ctx, route); err != nil {
			return err
		}
	}
	s.identifyOthers()
	for i := range specs {
		if err := s.checkAdapters(&specs[i]); err != nil {
			return err
		}
	}
	return nil
}

// identifyOthers makes the other servers part of the target's identity, so that a resume refuses others in their place.
func (s *Server) identifyOthers() {
	var others []record.OtherServer
	for i, r := range s.replicas {
		others = append(others, record.OtherServer{Name: fmt.Sprintf("replica %d", i+1), Facts: r.Info.Facts()})
	}
	for _, e := range slices.Sorted(maps.Keys(s.elsewhere)) {
		others = append(others, record.OtherServer{Name: "endpoint " + experiment.EndpointName(e),
			Facts: s.elsewhere[e].Info.Facts()})
	}
	s.Info.Others = others
	s.Info.Identity = s.Info.Hash()
}

func (s *Server) reachOther(ctx context.Context, endpoint, model string, apis []string) (*Server, error) {
	base, err := target.BaseURL(endpoint)
	if err != nil {
		return nil, err
	}
	t := s.Target
	t.Endpoint, t.Replicas, t.Model = endpoint, nil, model
	other, err := Reach(ctx, t, base, s.options.APIKey, apis, s.learning)
	if err == nil {
		other.Keys = s.Keys
	}
	return other, err
}

// takeReplica compares a replica with the first one, since all get the same bodies.
func (s *Server) takeReplica(r *Server, endpoint string) error {
	for api, own := range r.apis {
		first := s.apis[api]
		if formOf(&own.vocab) != formOf(&first.vocab) {
			return fmt.Errorf("replica %s takes prompts as %s, the first replica as %s: they are not the same server\nhint: measure each alone: [target] endpoints",
				target.Redact(endpoint), formOf(&own.vocab), formOf(&first.vocab))
		}
	}
	info := record.Replica{Endpoint: experiment.EndpointName(endpoint)}
	for _, c := range r.Info.Changes(&s.Info) {
		info.Differs = append(info.Differs, c.String())
	}
	if len(s.Info.Replicas) == 0 {
		s.Info.Replicas = append(s.Info.Replicas,
			record.Replica{Endpoint: experiment.EndpointName(s.Target.Replicas[0])})
	}
	s.Info.Replicas = append(s.Info.Replicas, info)
	return nil
}

func (s *Server) follow(ctx context.Context, r experiment.Route) error {
	if r.Endpoint == "" {
		for _, sv := range s.all() {
			if _, err := sv.model(ctx, r.API, r.Model); err != nil {
				return err
			}
		}
		return nil
	}
	sv, reached := s.elsewhere[r.Endpoint]
	if !reached {
		var err error
		if sv, err = s.reachOther(ctx, r.Endpoint, r.Model, []string{r.API}); err != nil {
			return &OtherError{r.Endpoint, fmt.Errorf("endpoint %s of a class: %w", target.Redact(r.Endpoint), err)}
		}
		if s.elsewhere == nil {
			s.elsewhere = map[string]*Server{}
		}
		s.elsewhere[r.Endpoint] = sv
	}
	if sv.apis[r.API] == nil {
		if err := sv.connect(ctx, r.API); err != nil {
			return err
		}
	}
	_, err := sv.model(ctx, r.API, r.Model)
	return err
}

func (s *Server) all() []*Server { return append([]*Server{s}, s.replicas...) }

func (s *Server) others() []*Server {
	return slices.AppendSeq(slices.Clone(s.replicas), maps.Values(s.elsewhere))
}

// model is the client of one API for a model of the server; empty: the target's. Another model is probed when it is
// needed first, since it can have another tokenizer. It shares the connections.
func (s *Server) model(ctx context.Context, api, model string) (*apiClient, error) {
	first := s.apis[api]
	if model == "" || model == first.model {
		return first, nil
	}
	key := api + " " + model
	if c := s.apis[key]; c != nil {
		return c, nil
	}
	c := &apiClient{api: api, model: model, client: first.client, omit: map[string]bool{}, extra: s.Target.ExtraBody,
		ids:      idsWithin(s.listedVocabulary(model)),
		identity: s.identity + " " + model, learning: s.learning}
	if err := s.probeAPI(ctx, c); err != nil {
		return nil, err
	}
	s.apis[key] = c
	return c, nil
}

func (s *Server) serversOf(c *workload.Class) []*Server {
	if c.Endpoint != "" {
		return []*Server{s.elsewhere[c.Endpoint]}
	}
	return s.all()
}

// checkAdapters returns an error if a server lists models, but not an adapter of a point.
func (s *Server) checkAdapters(spec *experiment.Spec) error {
	for _, c := range spec.Classes() {
		if c.Adapters == nil {
			continue
		}
		for _, sv := range s.serversOf(&c) {
			for _, name := range c.Adapters.Names {
				if quoted := strconv.Quote(name); len(sv.listed) > 0 && !slices.Contains(sv.listed, quoted) {
					return fmt.Errorf("%s: %s does not list adapter %s; it lists %s\nhint: correct names of [row.adapters], or load the adapter (vLLM: --enable-lora --lora-modules %s=PATH)",
						strings.TrimSpace(spec.Label()+" "+c.Name), cmp.Or(sv.Info.Endpoint, "the server"), quoted,
						strings.Join(sv.listed, ", "), name)
				}
			}
		}
	}
	return nil
}

// tenant is an API's client with the headers and the key of a class, if it has its own. It has connections of its own,
// too, as a tenant has; what was probed of the server holds for all.
func (s *Server) tenant(c *apiClient, class *workload.Class) (*apiClient, error) {
	if len(class.Headers) == 0 && class.APIKeyEnv == "" {
		return c, nil
	}
	id := fmt.Sprintf("%s %q %q %q", c.api, c.model, class.Headers, class.APIKeyEnv)
	if own := s.apis[id]; own != nil {
		return own, nil
	}
	o, err := s.tenantOptions(class)
	if err != nil {
		return nil, err
	}
	o.API = c.api
	own := *c
	if own.client, err = openai.New(o); err != nil {
		return nil, fmt.Errorf("class %s: %w", class.Name, err)
	}
	if c.closes {
		own.client.NoReuse()
	}
	own.conversation, own.imageTokens = nil, nil // filled when needed
	s.apis[id] = &own
	return &own, nil
}

// tenantOptions have the class's headers, and its key in the place of any that the target has.
func (s *Server) tenantOptions(class *workload.Class) (openai.Options, error) {
	o := s.options
	own := slices.Collect(maps.Keys(class.Headers))
	if class.APIKeyEnv != "" {
		own = append(own, "Authorization", "X-Api-Key")
		if o.APIKey = s.Keys[class.APIKeyEnv]; o.APIKey == "" {
			return o, fmt.Errorf("class %s: its API key is not known\nhint: export %s=…", class.Name, class.APIKeyEnv)
		}
	}
	o.Headers = map[string]string{}
	maps.Copy(o.Headers, class.Headers)
	for name, value := range s.options.Headers {
		if !slices.ContainsFunc(own, func(other string) bool { return strings.EqualFold(other, name) }) {
			o.Headers[name] = value
		}
	}
	return o, nil
}
