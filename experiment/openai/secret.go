package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bench/experiment/target"
)

// maxError limits an error text, in bytes.
const maxError = 500

const mask = "***"

// secrets are the texts that errors, headers and stored answers must not contain: a server may echo them.
type secrets []string

// newSecrets collects every form of key, user infos and headers. Short header values are flags, not secrets.
func newSecrets(key string, headers map[string]string, users ...*url.Userinfo) secrets {
	var s secrets
	s.add(key)
	for _, user := range users {
		if user != nil {
			s.addUser(user)
		}
	}
	for name, value := range headers {
		least := 8
		if target.IsSecretHeader(name) {
			least = 4
		}
		if len(value) < least {
			continue
		}
		s.add(value)
		if _, token, ok := strings.Cut(value, " "); ok && len(token) >= least { // "Bearer KEY"
			s.add(token)
		}
	}
	slices.SortFunc(s, func(a, b string) int { return len(b) - len(a) }) // longest first: a secret may contain another
	return slices.Compact(s)
}

func (s *secrets) addUser(user *url.Userinfo) {
	password, _ := user.Password()
	s.add(user.String())
	s.add(user.Username() + ":" + password)
	s.add(password)
	s.add(base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password)))
	if password == "" {
		s.add(user.Username())
	}
}

func (s *secrets) add(raw string) {
	if raw == "" {
		return
	}
	quoted, _ := json.Marshal(raw) // Marshal of a string never fails
	for _, form := range []string{raw, string(quoted[1 : len(quoted)-1]), url.QueryEscape(raw), url.PathEscape(raw)} {
		if !slices.Contains(*s, form) {
			*s = append(*s, form)
		}
	}
}

func (s secrets) hide(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, mask)
	}
	return text
}

// clean makes a server's text fit for an error: one line of valid UTF-8 without control characters, at most
// maxError bytes, without secrets. It masks after the clean-up and before the cut, so that neither splits a
// secret.
func (s secrets) clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	text = s.hide(strings.Join(strings.Fields(text), " "))
	return truncate(text, maxError)
}

func truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

func (s secrets) hideHeader(h http.Header) {
	for _, values := range h {
		for i, value := range values {
			values[i] = s.hide(value)
		}
	}
}

func (c *Client) Hide(text string) string { return c.secrets.hide(text) }
