package sweep

import (
	"errors"
	"fmt"
)

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
