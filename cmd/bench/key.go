package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"bench/experiment"
	"bench/experiment/target"
	shell "bench/experiment/text"
	"bench/sweep/matrix"
	"bench/sweep/peers"
)

// keyFlags are the three sources of an API key. The key goes into the request header and nowhere else.
type keyFlags struct {
	env, file, key string
}

func (k *keyFlags) register(f *pflag.FlagSet) {
	f.StringVar(&k.env, "api-key-env", "OPENAI_API_KEY", "environment variable `VAR` with the API key")
	f.StringVar(&k.file, "api-key-file", "", "`FILE` with the API key")
	f.StringVar(&k.key, "api-key", "",
		"API `KEY` itself, visible in the process list: prefer --api-key-env or --api-key-file")
}

// resolve returns the key; empty: none is given.
func (k *keyFlags) resolve(f *pflag.FlagSet, stderr io.Writer) (string, error) {
	given := 0
	for _, name := range []string{"api-key", "api-key-file", "api-key-env"} {
		if f.Changed(name) {
			given++
		}
	}
	if given > 1 {
		return "", usage("--api-key, --api-key-file and --api-key-env exclude each other\nhint: give one")
	}
	switch {
	case f.Changed("api-key"):
		fmt.Fprintln(stderr,
			"warning: --api-key is visible to others in the process list; use --api-key-env VAR or --api-key-file FILE")
		return clean(k.key, "API key", "--api-key")
	case f.Changed("api-key-file"):
		b, err := os.ReadFile(k.file)
		if err != nil { // without its path, which may be a key given to the wrong flag
			if path := new(fs.PathError); errors.As(err, &path) {
				err = path.Err
			}
			return "", usage("reading the file of --api-key-file: %w", err)
		}
		return clean(string(b), "API key", k.file)
	}
	key, ok := os.LookupEnv(k.env)
	if f.Changed("api-key-env") && !ok {
		if !variable.MatchString(k.env) { // it may be a key given to the wrong flag
			return "", usage("--api-key-env takes the name of an environment variable\nhint: --api-key-env MY_KEY, after export MY_KEY=…")
		}
		return "", usage("the environment variable %s is not set\nhint: export %s=… first", k.env, k.env)
	}
	if key == "" {
		return "", nil
	}
	return clean(key, "API key", k.env)
}

// classKeys are the API keys of the rows' classes, by their variables.
func classKeys(points []experiment.Spec) (map[string]string, error) {
	keys := map[string]string{}
	for _, name := range experiment.KeyVariables(points) {
		key, ok := os.LookupEnv(name)
		if !ok {
			return nil, usage("the variable %s, api_key_env of a class, is not set\nhint: export %[1]s=… first", name)
		}
		var err error
		if keys[name], err = clean(key, "API key", name); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

var variable = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// clean trims a key or token, and refuses one that cannot be a header value, without showing it.
func clean(key, what, from string) (string, error) {
	key = strings.TrimSpace(key)
	if key == "" {
		return "", usage("the %s in %s is empty", what, from)
	}
	for _, c := range key {
		if c <= ' ' || c >= 0x7f {
			return "", usage("the %s in %s contains a character that is not allowed in a header", what, from)
		}
	}
	return key, nil
}

const mask = "<redacted>"

// looksSecret matches flags, also mistyped ones, whose values must not be shown.
var looksSecret = regexp.MustCompile(`(?i)^--?[a-z_-]*(api[_-]?key|token|password|secret)$`)

// countsTokens matches flags that end like a secret's and are amounts per token: --bytes-per-token.
var countsTokens = regexp.MustCompile(`(?i)-per-([a-z]+-)?token$`)

func isSecret(flag string) bool {
	return looksSecret.MatchString(flag) && !countsTokens.MatchString(flag)
}

func redacted(args []string) []string {
	out := []string{"bench"}
	before := ""
	for _, a := range args {
		flag, value, joined := strings.Cut(a, "=")
		switch {
		case isSecret(before):
			a = mask
		case before == "--set":
			a = matrix.MaskSecrets(a)
		case before == "--rev":
			a = redactedCommand(a)
		case joined && flag == "--rev":
			a = flag + "=" + redactedCommand(value)
		case joined && flag == "--set":
			a = flag + "=" + matrix.MaskSecrets(value)
		case !strings.HasPrefix(a, "-") || !joined:
			a = redactURL(before, a)
		case isSecret(flag):
			a = flag + "=" + mask
		default:
			a = flag + "=" + redactURL(flag, value)
		}
		before = a
		out = append(out, a)
	}
	return out
}

// redactedCommand is the text of a command, as --rev has it.
func redactedCommand(text string) string {
	words, err := peers.OneCommand(text)
	if err != nil {
		return mask
	}
	shown, secrets := redactedWords(words)
	if len(secrets) == 0 {
		return text
	}
	return shell.ShellWords(shown)
}

// redactedWords masks the secrets of a command and lists their values. A word with blanks is a script: sh -c '…'.
func redactedWords(words []string) (shown, secrets []string) {
	shown = redacted(words)[1:]
	for i, word := range words {
		if inner := strings.Fields(word); shown[i] == word && len(inner) > 1 {
			parts, found := redactedWords(inner)
			if secrets = append(secrets, found...); len(found) > 0 {
				word = strings.Join(parts, " ")
				shown[i] = word
			}
		}
		if shown[i] == word {
			shown[i] = matrix.MaskSecrets(word)
		}
		if shown[i] != word {
			secrets = append(secrets, strings.Trim(without(word, shown[i]), `"'`))
		}
	}
	return shown, secrets
}

// without is the part of a text that is masked in another.
func without(text, shown string) string {
	from, to := 0, 0
	for from < min(len(text), len(shown)) && text[from] == shown[from] {
		from++
	}
	for to < min(len(text), len(shown))-from && text[len(text)-1-to] == shown[len(shown)-1-to] {
		to++
	}
	return text[from : len(text)-to]
}

// redactURL removes user info and keys from a value that is a URL: one with a scheme or a user, or that of --endpoint.
func redactURL(flag, value string) string {
	user, _, found := strings.Cut(value, "@")
	if flag == "--endpoint" || strings.Contains(value, "://") || found && strings.Contains(user, ":") {
		return target.Redact(value)
	}
	return value
}

// withoutSecrets removes the secrets of a command line from a text that may repeat its arguments.
func withoutSecrets(text string, args []string) string {
	for i, shown := range redacted(args)[1:] {
		if shown == args[i] || len(args[i]) < 4 {
			continue
		}
		text = strings.ReplaceAll(text, args[i], shown)
		flag, value, joined := strings.Cut(args[i], "=")
		if joined && strings.HasPrefix(flag, "-") && len(value) > 3 {
			text = strings.ReplaceAll(text, value, strings.TrimPrefix(shown, flag+"="))
		}
	}
	return text
}

// curl returns the option of curl that sends the key, without showing it.
func (k *keyFlags) curl() string {
	from := "$" + k.env
	switch {
	case k.key != "":
		from = "$KEY"
	case k.file != "":
		from = "$(cat '" + k.file + "')"
	}
	return ` -H "Authorization: Bearer ` + from + `"`
}
