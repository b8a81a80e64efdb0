package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/target"
)

// CheckWorkers reports every reason why several workers can't send the points of the matrix: what their load is, and
// secrets, which do not travel to them.
func (m *Matrix) CheckWorkers(points []experiment.Spec) error {
	var found []string
	bad := func(where, problem, hint string) {
		if text := where + ": " + problem + "\nhint: " + hint; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	for i := range points {
		if problem, hint := points[i].CannotShare(); problem != "" {
			bad("row "+points[i].Name, problem, hint)
		}
	}
	m.checkSecrets(points, bad)
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "\nerror: "))
}

// checkSecrets reports secrets of the target. Each worker has a key of its own.
func (m *Matrix) checkSecrets(points []experiment.Spec, bad func(where, problem, hint string)) {
	const own = "remove it, and give the key to bench sweep and to each bench work: --api-key-env, --api-key-file"
	t := &m.Target
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if target.IsSecretHeader(name) {
			bad("[target.headers] "+name, "may be a secret, which workers do not get", own)
		}
	}
	for i := range points {
		for _, c := range points[i].Mix {
			m.checkFields("extra_body of "+c.Name, c.Extra, bad)
			if c.APIKeyEnv != "" {
				bad("api_key_env of "+c.Name, "is a secret of a class, and a worker has one key for all",
					"run without --workers, or tell the classes apart by headers")
			}
		}
	}
	for _, url := range slices.Concat([]string{t.Endpoint}, t.Endpoints, t.Replicas, m.ClassEndpoints(points)) {
		if target.Redact(url) != url {
			bad("the endpoint "+target.Redact(url), "has a secret, which workers do not get", own)
		}
	}
	if target.Redact(t.Proxy) != t.Proxy {
		bad("[target] proxy", "has a user, whom workers do not get", "use a proxy without one with --workers")
	}
	m.checkFields("[target.extra_body]", t.ExtraBody, bad)
}

func (m *Matrix) checkFields(where string, fields map[string]any, bad func(where, problem, hint string)) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if isSecret(name) {
			bad(where+" "+name, "may be a secret, which workers do not get", "remove it, or run without --workers")
		}
	}
}

// mostCuts is how often a row that a worker cut is sent again.
const mostCuts = 2

// attempts measures one point. A row that a worker cuts is sent again, with other prompts, once all workers are there.
func (r *run) attempts(ctx context.Context, s *experiment.Spec, p record.Planned, index,
	total int) (*record.Row, error) {
	if r.Workers == nil {
		return r.row(ctx, s, p, index, total, r.salt(p.ID, 0))
	}
	before := ""
	for cuts := 0; ; cuts++ {
		if err := r.Workers.Complete(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s: %w\nhint: %s", p.ID, err, r.resumeHint("start them"))
		}
		row, err := r.row(ctx, s, p, index, total, r.salt(p.ID, cuts))
		cut := new(endpoint.WorkerError)
		if ctx.Err() != nil || !errors.As(err, &cut) {
			return row, err
		}
		if cuts == mostCuts || cut.Reported && cut.Error() == before {
			return nil, fmt.Errorf("%s was cut %d times: %w\nhint: %s", p.ID, cuts+1, err,
				r.resumeHint("fix the worker"))
		}
		before = cut.Error()
		r.Event(Event{Cut: &RowEvent{Index: index, Total: total, Spec: s, ID: p.ID, Reason: cut.Error()}})
	}
}

// CheckPrompts is an error if the API of a class does not take its real prompts. It is separate from Read, since the
// command line can name another API.
func (m *Matrix) CheckPrompts() error {
	var found []error
	seen := map[string]bool{}
	for i := range m.Points {
		s := &m.Points[i]
		s.PromptProblems(s.APIFor(m.Target), func(_, problem, hint string) {
			text := fmt.Sprintf("row %s: %s\nhint: %s", s.Name, problem, hint)
			if !seen[text] {
				seen[text] = true
				found = append(found, errors.New(text))
			}
		})
	}
	return errors.Join(found...)
}
