package matrix

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"bench/experiment/text"
	"bench/sweep/strict"
)

// Secrets are the values of a matrix that must not be shown or stored: those of [target.headers], those of
// keys with names of secrets, and the user info of URLs. They are found in the text, since errors also show
// files that cannot be parsed. In doubt a value is masked.
type Secrets struct {
	Masked string   // the text with * for each character of a secret
	Values []string // the longest first
}

var (
	tableHeader = text.Lazy(`^\s*\[{1,2}\s*([^\[\]=]+?)\s*\]{1,2}\s*(#.*)?$`)
	keyOf       = text.Lazy(`("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*[=:]`)
	firstWord   = text.Lazy(`^\s*([A-Za-z0-9_.-]+)`)
	secretName  = text.Lazy(`(?i)(^|[._"'-])((auth|token|key)["']?$|headers["']?($|\.))|` +
		`api[_-]?key|authorization|passw|secret|credential|cookie|bearer`)
	userInfo   = text.Lazy(`://([^\s"']*)@`)
	bareUser   = text.Lazy(`(?i)endpoint["']?\s*=\s*["']?([^"']*)@`)
	quotedUser = text.Lazy(`["']([^\s"'/]*:[^\s"'/]*)@`) // in a list of endpoints
	headersKey = text.Lazy(`(?i)headers["']?`)
	secretWord = text.Lazy(`(?i)auth|token|key|session|signature`) // of a header's name, beyond secretName
	innerName  = text.Lazy(`[{,]\s*([A-Za-z0-9_-]+)\s*=`)
	classTable = text.Lazy(`(^|\.)\s*["']?mix["']?\s*(\.\s*["']?headers["']?\s*)?$`)
	keyEnv     = text.Lazy(`^\s*(#\s*)?["']?api_key_env["']?\s*=\s*["'][A-Z][A-Z0-9_]*["']\s*(#.*)?$`)
	quoted     = text.Lazy(`"([^"]*)|'([^']*)`)
	// an argument of a command and its values
	argument = text.Lazy(`["']--?([A-Za-z_-]+)["']\s*,\s*((?:["'][^"'-][^"']*["']?\s*,?\s*)+)`)
)

// MaskSecrets is a text of a matrix, or an argument of --set, with * for each character of a secret.
func MaskSecrets(text string) string { return FindSecrets(text).Masked }

// FindSecrets finds the secrets in the text of a matrix, line by line, and those in arguments of --set.
func FindSecrets(text string, set ...string) Secrets {
	s := Secrets{}
	for _, argument := range set {
		s.Values = append(s.Values, FindSecrets(argument).Values...)
	}
	inHeaders, inClass, until := false, false, "" // until: the end of a secret of several lines
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if until != "" {
			lines[i] = s.hideSpan(line, 0, len(line), leastSecret)
			if strings.Contains(line, until) {
				until = ""
			}
			continue
		}
		if m := tableHeader().FindStringSubmatch(line); m != nil {
			inHeaders, inClass = isSecret(m[1]), classTable().MatchString(m[1])
			continue
		}
		if inClass && isTenant(line, inHeaders) {
			continue
		}
		lines[i], until = s.hideLine(line, inHeaders)
	}
	s.Masked = strings.Join(lines, "\n")
	slices.SortFunc(s.Values, func(a, b string) int { return len(b) - len(a) })
	return s
}

// hideLine masks the secrets of one line. until is the end of a secret that continues in the next line.
func (s *Secrets) hideLine(line string, all bool) (masked, until string) {
	users := bareUser // for an endpoint without a scheme
	if userInfo().MatchString(line) {
		users = userInfo
	}
	for _, rule := range []*regexp.Regexp{users(), quotedUser()} {
		// From the last match on: masking can shorten the line.
		for _, m := range slices.Backward(rule.FindAllStringSubmatchIndex(line, -1)) {
			line = s.hideSpan(line, m[2], m[3], leastSecret)
		}
	}
	for _, m := range slices.Backward(argument().FindAllStringSubmatchIndex(line, -1)) {
		if values := line[m[4]:m[5]]; text.IsSecret(line[m[2]:m[3]], strings.Trim(values, `"', `)) {
			line = s.hideSpan(line, m[4], m[5], leastSecret)
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
	return s.hideSpan(line, from, len(line), leastOf(line, all)), until
}

// isTenant reports whether a line of a class has only headers that rows contain, or the name of a key's variable.
func isTenant(line string, inHeaders bool) bool {
	if keyEnv().MatchString(line) {
		return true
	}
	keys := keyOf().FindAllStringSubmatch(line, -1)
	if len(keys) == 0 || !inHeaders && !headersKey().MatchString(keys[0][1]) {
		return false
	}
	return !slices.ContainsFunc(keys, func(m []string) bool {
		name := headersKey().ReplaceAllString(m[1], "")
		return isSecret(name) || secretWord().MatchString(name)
	})
}

// isSecret reports whether a key has the name of a secret. A time per token has not.
func isSecret(name string) bool {
	return secretName().MatchString(name) && !strings.Contains(name, "per_")
}

// secretFrom is the index at which the secret of a line begins; -1 = none. In the table of headers all lines
// have one.
func secretFrom(line string, all bool) int {
	for _, m := range keyOf().FindAllStringSubmatchIndex(line, -1) {
		if all || isSecret(line[m[2]:m[3]]) {
			return m[1]
		}
	}
	if m := firstWord().FindStringSubmatchIndex(line); m != nil && (all || isSecret(line[m[2]:m[3]])) {
		return m[1]
	}
	if all && !strings.HasPrefix(strings.TrimSpace(line), "#") {
		return 0
	}
	return -1
}

func (s *Secrets) hideSpan(line string, from, to, least int) string {
	span := line[from:to]
	s.remember(span, least)
	names := innerNames(line[:from], span)
	var masked strings.Builder
	for i, r := range span {
		kept := strings.ContainsRune(" \t\r\"'{}[],=", r) ||
			slices.ContainsFunc(names, func(at []int) bool { return i >= at[0] && i < at[1] })
		if !kept {
			r = '*'
		}
		masked.WriteRune(r)
	}
	return line[:from] + masked.String() + line[to:]
}

// innerNames are the places of the names in an inline table, which may have begun before the span: the words between {
// or a comma and =.
func innerNames(before, span string) (places [][]int) {
	if !strings.HasPrefix(strings.TrimSpace(span), "{") && strings.Count(before, "{") <= strings.Count(before, "}") {
		return nil
	}
	for _, m := range innerName().FindAllStringSubmatchIndex(span, -1) {
		if strings.Count(span[:m[2]], `"`)%2 == 0 && strings.Count(span[:m[2]], "'")%2 == 0 { // not in a string
			places = append(places, m[2:4])
		}
	}
	return places
}

// Lengths from which a value is masked wherever it stands. A short value of a header whose name is of no secret, like
// X-Env = "prod", is an ordinary word in other texts.
const (
	leastSecret = 4
	leastHeader = 8
)

// leastOf is the length for the values of a line. inHeaders: it is in the table of headers.
func leastOf(line string, inHeaders bool) int {
	least := leastSecret
	for _, m := range keyOf().FindAllStringSubmatch(line, -1) {
		inHeaders = inHeaders || headersKey().MatchString(m[1])
		if name := headersKey().ReplaceAllString(m[1], ""); isSecret(name) || secretWord().MatchString(name) {
			return leastSecret
		}
	}
	if inHeaders {
		least = leastHeader
	}
	return least
}

// remember stores the values in a span that have least bytes, to find them in other texts.
func (s *Secrets) remember(span string, least int) {
	var found []string
	for _, m := range quoted().FindAllStringSubmatch(span, -1) {
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
			s.Values = append(s.Values, v)
		}
	}
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func (s Secrets) mask(problems strict.Problems) strict.Problems {
	lines := strings.Split(strings.TrimPrefix(s.Masked, "\ufeff"), "\n")
	for i := range problems {
		p := &problems[i]
		if p.Line > 0 && p.Line <= len(lines) {
			p.Source = strings.TrimSuffix(lines[p.Line-1], "\r")
		}
		if p.Line == 0 { // an argument of --set, or no source at all
			p.Source = s.Hide(MaskSecrets(p.Source))
		}
		p.Text, p.Hint = s.Hide(p.Text), s.Hide(p.Hint)
	}
	return problems
}

func (s Secrets) Hide(text string) string {
	const shown = 39 // runes of a long text that package strict shows
	for _, v := range s.Values {
		text = strings.ReplaceAll(text, v, "***")
		if r := []rune(v); len(r) > shown {
			text = strings.ReplaceAll(text, string(r[:shown]), "***")
		}
	}
	return text
}

// HideIn copies a table without the secrets in its texts, at any depth.
func (s Secrets) HideIn(table map[string]any) map[string]any {
	if table == nil {
		return nil
	}
	return s.hideAny(table).(map[string]any)
}

func (s Secrets) hideAny(v any) any {
	switch x := v.(type) {
	case string:
		return s.Hide(x)
	case []any:
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
