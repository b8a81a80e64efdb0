package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"bench/experiment/openai"
)

// keyFlags are the three ways to give an API key. The key goes into the request header and nowhere else.
type keyFlags struct {
	env, file, key string
}

func (k *keyFlags) register(f *pflag.FlagSet) {
	f.StringVar(&k.env, "api-key-env", "OPENAI_API_KEY", "environment variable that holds the API key")
	f.StringVar(&k.file, "api-key-file", "", "file that holds the API key")
	f.StringVar(&k.key, "api-key", "", "the API key itself; others on this machine can see it: prefer the two above")
}

// resolve gives the key; empty when none is given.
func (k *keyFlags) resolve(f *pflag.FlagSet, stderr io.Writer) (string, error) {
	given := 0
	for _, name := range []string{"api-key", "api-key-file", "api-key-env"} {
		if f.Changed(name) {
			given++
		}
	}
	if given > 1 {
		return "", usage("more than one of --api-key, --api-key-file and --api-key-env\nhint: give one")
	}
	switch {
	case f.Changed("api-key"):
		fmt.Fprintln(stderr, "warning: others on this machine can see --api-key in the process list; --api-key-env VAR or --api-key-file FILE keep it to yourself")
		return clean(k.key, "--api-key")
	case f.Changed("api-key-file"):
		b, err := os.ReadFile(k.file)
		if err != nil {
			return "", usage("reading the API key: %w", err)
		}
		return clean(string(b), k.file)
	}
	key, ok := os.LookupEnv(k.env)
	if f.Changed("api-key-env") && !ok {
		return "", usage("the environment variable %s is not set\nhint: export %s=… first", k.env, k.env)
	}
	if key == "" {
		return "", nil
	}
	return clean(key, k.env)
}

// clean refuses a key that can't be a header value, without showing it.
func clean(key, from string) (string, error) {
	key = strings.TrimSpace(key)
	if key == "" {
		return "", usage("the API key in %s is empty", from)
	}
	for _, c := range key {
		if c <= ' ' || c >= 0x7f {
			return "", usage("the API key in %s holds a character that no header can carry", from)
		}
	}
	return key, nil
}

// redacted is the command line with its secrets taken out.
func redacted(args []string) []string {
	out := []string{"bench"}
	hideNext := false
	for _, a := range args {
		switch {
		case hideNext:
			a, hideNext = "<redacted>", false
		case a == "--api-key":
			hideNext = true
		case strings.HasPrefix(a, "--api-key="):
			a = "--api-key=<redacted>"
		default:
			a = redactURL(a)
		}
		out = append(out, a)
	}
	return out
}

// redactURL takes user info out of an argument that is a URL, or a flag with one.
func redactURL(a string) string {
	flag, value, isFlag := strings.Cut(a, "=")
	if !isFlag || !strings.HasPrefix(a, "--") {
		flag, value = "", a
	} else {
		flag += "="
	}
	if !strings.Contains(value, "@") {
		return a
	}
	return flag + openai.Redact(value)
}
