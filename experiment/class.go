package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bench/experiment/response"
	"bench/experiment/target"
	"bench/experiment/workload"
)

func (s *Spec) RequestsPerArrival() float64 {
	if s.Trace != nil {
		return s.RequestsPerSession()
	}
	sum, weights := 0.0, 0.0
	for _, c := range s.Classes() {
		n := 1.0
		switch {
		case c.Prompts != nil:
			n = c.Prompts.MeanTurns()
		case c.Session != nil:
			n = c.Session.Turns.Typical()
		}
		sum, weights = sum+c.Weight*n, weights+c.Weight
	}
	return sum / weights
}

// ClassIgnoresEOS reports whether requests of a class are sent with ignore_eos; an unknown class is as the row.
func (s *Spec) ClassIgnoresEOS(class string) bool {
	for _, c := range s.Classes() {
		if c.Name == class {
			stop := cmp.Or(c.Stop, s.Stop) // real prompts have a natural end unless the row says otherwise
			return stop == "forced" || stop == "" && c.Prompts == nil
		}
	}
	return s.Stop != "natural"
}

func (s *Spec) IgnoresEOS() bool {
	return slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return s.ClassIgnoresEOS(c.Name) })
}

// APIFor is the point's API: its own, else the target's, else completions. A class can have another one.
func (s *Spec) APIFor(t Target) string { return cmp.Or(s.API, t.API, target.Completions) }

func (s *Spec) checkClasses(bad func(key, problem, hint string)) {
	if s.Rate.IsInf() && s.HasConversations() {
		bad("rate", `rate = "inf" sends all requests at once, but a turn must wait for the previous one`,
			"write concurrency = 64 for 64 users")
	}
	if s.IsColdStart() && s.HasLeavers() {
		bad("leave", "a cold start measures whole answers", "remove leave")
	}
	for i, c := range s.Mix {
		if problem, hint := target.APIProblem(c.API); problem != "" {
			bad(fmt.Sprintf("mix[%d].api", i), problem, hint)
		}
		checkClassEndpoint(c.Endpoint, func(problem, hint string) {
			bad(fmt.Sprintf("mix[%d].endpoint", i), problem, hint)
		})
		checkTenant(&c, func(key, problem, hint string) { bad(fmt.Sprintf("mix[%d].%s", i, key), problem, hint) })
		for _, key := range slices.Sorted(maps.Keys(c.Extra)) {
			if problem := target.ReservedField(key); problem != "" {
				bad(fmt.Sprintf("mix[%d].extra_body.%s", i, key), key+" "+problem, "leave it out")
			}
		}
	}
}

func checkClassEndpoint(endpoint string, bad func(problem, hint string)) {
	if endpoint == "" {
		return
	}
	base, err := target.BaseURL(endpoint)
	switch {
	case err != nil || endpoint == "mock":
		bad(fmt.Sprintf("%q is not the URL of a server", target.Redact(endpoint)),
			`write endpoint = "http://host:port"; bench mock starts a simulated server with an address`)
	case target.Redact(base) != base:
		bad("a class's endpoint contains a password", "remove it: the key of --api-key-env is sent to every endpoint")
	}
}

// ClassesWhere is " in <names>" of the classes for which is returns true; empty if it returns true for all.
func (s *Spec) ClassesWhere(is func(workload.Class) bool) string {
	var names []string
	all := true
	for _, c := range s.Classes() {
		if is(c) {
			names = append(names, c.Name)
		} else {
			all = false
		}
	}
	if all {
		return ""
	}
	return " in " + strings.Join(names, ", ")
}

// ShapeText is the lengths of a request: "512 → 128 tokens", "2-class mix", "prompts of sharegpt.jsonl"; empty:
// unknown.
func (s *Spec) ShapeText() string {
	c := s.Classes()[0]
	switch {
	case s.Trace != nil:
		return "trace " + s.Trace.String()
	case len(s.Mix) > 1:
		return fmt.Sprintf("%d-class mix", len(s.Mix))
	case c.Prompts != nil:
		return "prompts of " + filepath.Base(c.Prompts.File)
	case c.Input.Dist == "" || c.Output.Dist == "":
		return ""
	}
	text := c.Input.String() + " → " + c.Output.String() + " tokens"
	if c.Session != nil {
		text += " a turn"
	}
	return text
}

func (s *Spec) Resolve(t Target) {
	if slices.ContainsFunc(s.Classes(), func(c workload.Class) bool { return c.Images != nil }) {
		s.API = s.APIFor(t)
	}
}

func (s *Spec) checkImages(bad func(key, problem, hint string)) {
	for i, c := range s.Classes() {
		if api := cmp.Or(c.API, s.API); c.Images != nil && api != target.Chat {
			key := "images"
			if len(s.Mix) > 0 {
				key = fmt.Sprintf("mix[%d].images", i)
			}
			bad(key, fmt.Sprintf("images go into chat messages, not into api %q", api), `write api = "chat"`)
		}
	}
}

// AnswersOf reads what the answers to bodies with these fields must be; nil: nothing that can be checked.
func AnswersOf(fields map[string]any) (*response.Expectation, error) {
	return response.Parse(func(field string) json.RawMessage {
		if fields[field] == nil {
			return nil
		}
		text, err := json.Marshal(fields[field])
		if err != nil { // the encoder reports it
			return nil
		}
		return text
	})
}

func checkFields(key string, fields map[string]any, bad func(key, problem, hint string)) {
	if _, err := AnswersOf(fields); err != nil {
		field, problem, _ := strings.Cut(err.Error(), ": ")
		bad(key+"."+field, fmt.Sprintf("%s: the answers cannot be checked", problem),
			"write a JSON schema with all its parts inside")
	}
}

func (s *Spec) checkAnswers(bad func(key, problem, hint string)) {
	for i, c := range s.Classes() {
		key := ""
		if len(s.Mix) > 0 {
			key = fmt.Sprintf("mix[%d].", i)
		}
		checkFields(key+"extra_body", c.Extra, bad)
		if c.Answers == s.Answers { // its limits stand in the row's table
			key = ""
		}
		if c.Answers != nil && s.ClassIgnoresEOS(c.Name) {
			bad(key+"answers",
				`stop = "forced" makes every answer run on to its length: none can be valid or correct`,
				`set stop = "natural"`)
		}
	}
}

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
