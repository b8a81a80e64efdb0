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

// foldBuildInfo is what differs: "block_size=16, num_gpu_blocks=4096"; if one side reports none, the metrics' names.
func foldBuildInfo(base, changed []string) (was, is string) {
	a, b := infoLabels(base), infoLabels(changed)
	if len(a) == 0 || len(b) == 0 {
		return infoNames(a), infoNames(b)
	}
	var left, right []string
	differ := 0
	for _, key := range slices.Sorted(slices.Values(union(sortedKeys(a), sortedKeys(b)))) {
		if a[key] == b[key] {
			continue
		}
		if differ++; differ > shownLabels {
			continue
		}
		_, label, _ := strings.Cut(key, "{")
		left = append(left, label+"="+cmp.Or(a[key], "none"))
		right = append(right, label+"="+cmp.Or(b[key], "none"))
	}
	was, is = strings.Join(left, ", "), strings.Join(right, ", ")
	if more := differ - shownLabels; more > 0 {
		is += fmt.Sprintf(" and %d more (build_info in run.json)", more)
	}
	return was, is
}

func infoNames(labels map[string]string) string {
	var names []string
	for _, key := range sortedKeys(labels) {
		if name, _, _ := strings.Cut(key, "{"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), notReported)
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
