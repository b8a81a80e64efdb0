package endpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/openai"
	"bench/experiment/workload"
)

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
