package text

import (
	"regexp"
	"strings"
	"sync"
)

// ShellWord quotes a word for a POSIX shell if it needs quotes.
func ShellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,/:@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellWords is a command line of words for a POSIX shell. It does not change the words.
func ShellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = ShellWord(w)
	}
	return strings.Join(quoted, " ")
}

var (
	secretName = Lazy(`(?i)keys?$|auth|token$|(access|api|auth|bearer|hf|secret|session|sas)[-_]?tokens?$|` +
		`^(tokens|hft|pw|H)$|pass|pwd|secret|cred|cookie|bearer|signature|header|pem$`)
	secretText = Lazy(`(?i)api[-_]?key|authorization|bearer|passw|secret|(key|token)["']?\s*[:=]|sk-[a-z0-9]|` +
		`hf_[a-z0-9]|://[^/\s]*@`)
)

// Lazy compiles an expression when it is first used: bench starts often.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// IsSecret reports whether the value of a flag or setting must not be shown. In doubt it must not.
func IsSecret(name, value string) bool {
	return secretName().MatchString(name) || secretText().MatchString(value)
}

// MaskCommand is the words of a command line with "***" for its secrets. A word with blanks is a script: sh -c '…'.
func MaskCommand(words []string) []string {
	const mask = "***"
	var out []string
	flag := "" // whose values follow
	for _, w := range words {
		name, value, joined := strings.Cut(w, "=")
		name = strings.TrimLeft(name, "-")
		dashed := strings.HasPrefix(w, "-")
		inner := strings.Fields(w)
		switch {
		case len(inner) > 1 && !IsSecret(flag, ""):
			w = strings.Join(MaskCommand(inner), " ")
		case joined && IsSecret(name, value):
			w = w[:len(w)-len(value)] + mask
		case !dashed && IsSecret(flag, w):
			w = mask
		}
		if dashed {
			flag = name
			if joined {
				flag = ""
			}
		}
		out = append(out, w)
	}
	return out
}
