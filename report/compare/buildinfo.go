package compare

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	notReported = "not reported" // by the server
	// shownLabels bounds the list: a server of another version changes many labels.
	shownLabels = 8
)

// foldBuildInfo is what differs: "block_size=16, num_gpu_blocks=4096".
func foldBuildInfo(base, changed []string) (was, is string) {
	a, b := infoLabels(base), infoLabels(changed)
	differ := slices.DeleteFunc(slices.Sorted(slices.Values(union(sortedKeys(a), sortedKeys(b)))),
		func(key string) bool { return a[key] == b[key] })
	text := func(labels map[string]string) string {
		if len(labels) == 0 && len(differ) > 0 {
			return notReported
		}
		var parts []string
		for _, key := range differ[:min(shownLabels, len(differ))] {
			_, label, _ := strings.Cut(key, "{")
			parts = append(parts, label+"="+cmp.Or(labels[key], "none"))
		}
		if more := len(differ) - shownLabels; more > 0 {
			parts = append(parts, fmt.Sprintf("%d more in build_info of run.json", more))
		}
		return strings.Join(parts, ", ")
	}
	return text(a), text(b)
}

// infoLabel matches the name of a metric, or a label with its value. A stored line can be clipped.
var infoLabel = regexp.MustCompile(`([\w:]+)\{|(\w+)="((?:[^"\\]|\\.)*)"`)

// infoLabels are by metric and name, "metric{label". A label with several values has all of them.
func infoLabels(runs []string) map[string]string {
	out := map[string]string{}
	metric := ""
	for _, m := range infoLabel.FindAllStringSubmatch(strings.Join(runs, "; "), -1) {
		if m[1] != "" {
			metric = m[1]
			continue
		}
		key, value := metric+"{"+m[2], m[3]
		if old := out[key]; old == "" {
			out[key] = value
		} else if !slices.Contains(strings.Split(old, "|"), value) {
			out[key] = old + "|" + value
		}
	}
	return out
}
