package sweep

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"bench/sweep/strict"
)

// secrets are the values of a matrix that must not be shown or stored: those of [target.headers], those of
// keys with names of secrets, and the user info of URLs. They are found in the text, since errors also show
// files that cannot be parsed. In doubt a value is masked.
type secrets struct {
	masked string   // the text with * for each character of a secret
	values []string // the longest first
}

var (
	tableHeader = regexp.MustCompile(`^\s*\[{1,2}\s*([^\[\]=]+?)\s*\]{1,2}\s*(#.*)?$`)
	keyOf       = regexp.MustCompile(`("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*[=:]`)
	firstWord   = regexp.MustCompile(`^\s*([A-Za-z0-9_.-]+)`)
	secretName  = regexp.MustCompile(`(?i)(^|[._"'-])((auth|token|key)["']?$|headers["']?($|\.))|api[_-]?key|authorization|passw|secret|credential|cookie|bearer`)
	userInfo    = regexp.MustCompile(`://([^\s"']*)@`)
	bareUser    = regexp.MustCompile(`(?i)endpoint["']?\s*=\s*["']?([^"']*)@`)
	quotedUser  = regexp.MustCompile(`["']([^\s"'/]*:[^\s"'/]*)@`) // in a list of endpoints
	quoted      = regexp.MustCompile(`"([^"]*)|'([^']*)`)
)

// findSecrets finds the secrets in the text of a matrix, line by line.
func findSecrets(text string) secrets {
	s := secrets{}
	inHeaders, until := false, "" // until: the end of a secret of several lines
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if until != "" {
			lines[i] = s.hideSpan(line, 0, len(line))
			if strings.Contains(line, until) {
				until = ""
			}
			continue
		}
		if m := tableHeader.FindStringSubmatch(line); m != nil {
			inHeaders = isSecret(m[1])
			continue
		}
		lines[i], until = s.hideLine(line, inHeaders)
	}
	s.masked = strings.Join(lines, "\n")
	slices.SortFunc(s.values, func(a, b string) int { return len(b) - len(a) })
	return s
}

// hideLine masks the secrets of one line. until is the end of a secret that continues in the next line.
func (s *secrets) hideLine(line string, all bool) (masked, until string) {
	users := bareUser // for an endpoint without a scheme
	if userInfo.MatchString(line) {
		users = userInfo
	}
	for _, rule := range []*regexp.Regexp{users, quotedUser} {
		// From the last match on: masking can shorten the line.
		for _, m := range slices.Backward(rule.FindAllStringSubmatchIndex(line, -1)) {
			line = s.hideSpan(line, m[2], m[3])
		}
	}
	from := secretFrom(line, all)
	if from < 0 {
		return line, ""
	}
	value := line[from:]
	for _, quotes := range []string{`"""`, "'''"} {
		if strings.Count(value, quotes)%2 == 1 {
			until = quotes
		}
	}
	if until == "" && strings.Count(value, "[") > strings.Count(value, "]") {
		until = "]"
	}
	return s.hideSpan(line, from, len(line)), until
}

// isSecret reports whether a key has the name of a secret. A time per token has not.
func isSecret(name string) bool {
	return secretName.MatchString(name) && !strings.Contains(name, "per_")
}

// secretFrom is the index at which the secret of a line begins; -1 = none. In the table of headers all lines
// have one.
func secretFrom(line string, all bool) int {
	for _, m := range keyOf.FindAllStringSubmatchIndex(line, -1) {
		if all || isSecret(line[m[2]:m[3]]) {
			return m[1]
		}
	}
	if m := firstWord.FindStringSubmatchIndex(line); m != nil && (all || isSecret(line[m[2]:m[3]])) {
		return m[1]
	}
	if all && !strings.HasPrefix(strings.TrimSpace(line), "#") {
		return 0
	}
	return -1
}

// hideSpan masks a span of a line, except the punctuation of TOML.
func (s *secrets) hideSpan(line string, from, to int) string {
	span := line[from:to]
	s.remember(span)
	masked := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\"'{}[],=", r) {
			return r
		}
		return '*'
	}, span)
	return line[:from] + masked + line[to:]
}

// remember stores the values in a span, to find them in messages.
func (s *secrets) remember(span string) {
	const least = 4 // shorter ones would mask ordinary words
	var found []string
	for _, m := range quoted.FindAllStringSubmatch(span, -1) {
		found = append(found, m[1]+m[2])
	}
	if found == nil {
		span, _, _ = strings.Cut(span, "#")
		// Errors of the parser show single words.
		found = append(strings.FieldsFunc(span, notWord), strings.TrimSpace(span))
	}
	for _, v := range found {
		if _, bare, ok := strings.Cut(v, " "); ok { // "Bearer KEY"
			found = append(found, strings.TrimSpace(bare))
		}
	}
	for _, v := range found {
		if len(v) >= least {
			s.values = append(s.values, v)
		}
	}
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// mask removes the secrets from problems.
func (s secrets) mask(problems strict.Problems) strict.Problems {
	lines := strings.Split(strings.TrimPrefix(s.masked, "\ufeff"), "\n")
	for i := range problems {
		p := &problems[i]
		if p.Line > 0 && p.Line <= len(lines) {
			p.Source = strings.TrimSuffix(lines[p.Line-1], "\r")
		}
		p.Text, p.Hint = s.hide(p.Text), s.hide(p.Hint)
	}
	return problems
}

// hide replaces the secrets in a message, also cut ones.
func (s secrets) hide(text string) string {
	const shown = 39 // runes of a long text that package strict shows
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, "***")
		if r := []rune(v); len(r) > shown {
			text = strings.ReplaceAll(text, string(r[:shown]), "***")
		}
	}
	return text
}

// hideIn copies a table without the secrets in its texts, at any depth.
func (s secrets) hideIn(table map[string]any) map[string]any {
	if table == nil {
		return nil
	}
	return s.hideAny(table).(map[string]any)
}

func (s secrets) hideAny(v any) any {
	switch x := v.(type) {
	case string:
		return s.hide(x)
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = s.hideAny(x[i])
		}
		return out
	case []map[string]any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = s.hideAny(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = s.hideAny(x[k])
		}
		return out
	}
	return v
}
