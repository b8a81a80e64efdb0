package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// longestName leaves room for the suffixes of bench and of Kubernetes: the label of a Job's pods has at most 63 bytes, a
// CronJob adds 11.
const longestName = 40

// nameOf derives the name of the objects from a matrix' name: a label of RFC 1123. Different names of matrices give
// different ones: a name that had to be changed ends in a part of its hash.
func nameOf(matrix string) string {
	clean := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(matrix), "-"), "-")
	name := "bench-" + clean
	if clean == matrix && clean != "" && len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(matrix))
	tail := "-" + hex.EncodeToString(sum[:3])
	name = name[:min(len(name), longestName-len(tail))]
	return strings.TrimRight(name, "-") + tail
}

// grammar returns a test of texts by a pattern. Its first call compiles the pattern, as only bench kube needs it.
func grammar(pattern string) func(string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(s string) bool { return compiled().MatchString(s) }
}

// Grammars of Kubernetes.
var (
	label     = grammar(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) // RFC 1123
	subdomain = grammar(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	dataKey   = grammar(`^[-._a-zA-Z0-9]{1,253}$`)
	labelKey  = grammar(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelText = grammar(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	quantity  = grammar(`^[1-9][0-9]{0,12}(Ki|Mi|Gi|Ti|k|M|G|T)?$`)
	image     = grammar(`^[A-Za-z0-9][-A-Za-z0-9._/:@]{0,400}$`)
)

// isName reports whether a text names an object.
func isName(s string) bool { return len(s) <= 253 && subdomain(s) }

// keyIn returns the key of a ConfigMap for a file. No two files get the same one.
func keyIn(taken map[string]bool, file string) string {
	base := regexp.MustCompile(`[^-._a-zA-Z0-9]+`).ReplaceAllString(path.Base(file), "_")
	base = strings.TrimLeft(base[max(0, len(base)-100):], ".")
	if base == "" {
		base = "file"
	}
	key := base
	for n := 2; taken[key]; n++ {
		key = fmt.Sprintf("%d-%s", n, base)
	}
	taken[key] = true
	return key
}
