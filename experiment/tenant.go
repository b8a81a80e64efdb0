package experiment

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"bench/experiment/target"
	"bench/experiment/workload"
)

// ownHeaders are set on each request, or decide how the server reads it.
var ownHeaders = []string{"accept", "content-type", "host", "traceparent", "user-agent", "x-request-id"}

// checkTenant checks what tells a class's requests apart in a gateway. A value that may be a secret is in no text.
func checkTenant(c *workload.Class, bad func(key, problem, hint string)) {
	const useKey = `remove it; write api_key_env = "GOLD_KEY" and export GOLD_KEY=…: the key is sent as a bearer token`
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		lower := strings.ToLower(name)
		problem, hint := target.HeaderProblem(name, c.Headers[name]), "remove it"
		switch {
		case problem != "":
		case slices.Contains(ownHeaders, lower):
			problem = "is set by bench itself"
		case target.IsSecretHeader(name):
			problem, hint = "may be a secret, and results contain the headers of a class", useKey
		case seen[lower]:
			problem = "is there twice: headers ignore case"
		}
		if seen[lower] = true; problem != "" {
			bad("headers."+name, name+" "+problem, hint)
		}
	}
	// narrower than the system's names, so that a key in the place of its variable is seldom one
	if c.APIKeyEnv != "" && !regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`).MatchString(c.APIKeyEnv) {
		bad("api_key_env", "this is not the name of an environment variable",
			`write api_key_env = "GOLD_KEY", and export GOLD_KEY=…`)
	}
}

// KeyVariables are the variables of the environment that have API keys of classes.
func KeyVariables(specs []Spec) []string {
	var out []string
	for i := range specs {
		for _, c := range specs[i].Mix {
			if c.APIKeyEnv != "" && !slices.Contains(out, c.APIKeyEnv) {
				out = append(out, c.APIKeyEnv)
			}
		}
	}
	return out
}

// HasTenants reports whether classes are told apart by headers or a key.
func (s *Spec) HasTenants() bool {
	return slices.ContainsFunc(s.Mix, func(c workload.Class) bool { return len(c.Headers) > 0 || c.APIKeyEnv != "" })
}
