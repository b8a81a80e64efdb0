package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

type Change struct{ Fact, Was, Is string }

// String is "meta.n_vocab: 8000 → 32000".
func (c Change) String() string { return c.Fact + ": " + c.Was + " → " + c.Is }

func (c Change) Measured() bool { return isMeasured(c.Fact) }

// sameSize: vLLM and SGLang fill the memory that is left after profiling, which differs by a few blocks.
const sameSize = 0.02

var measuredSizes = []string{"num_gpu_blocks", "num_cpu_blocks", "num_pages", "kv_cache_size_tokens",
	"kv_cache_max_concurrency", "kv_cache_memory_bytes", "max_total_num_tokens", slotsOfReplica}

func isMeasured(fact string) bool {
	return slices.Contains(measuredSizes, fact[strings.LastIndexByte(fact, '.')+1:])
}

func (t *TargetInfo) Changes(was *TargetInfo) []Change { return changedFacts(was.Facts(), t.Facts()) }

func changedFacts(before, now map[string]string) (out []Change) {
	for _, fact := range slices.Sorted(maps.Keys(now)) {
		old, ok := before[fact]
		if ok && old != now[fact] && !(isMeasured(fact) && similar(old, now[fact])) {
			out = append(out, Change{fact, old, now[fact]})
		}
	}
	return out
}

// SurroundingChanges are those of what is not the server, but changes its speed, and of its flags; none if one side's
// are not known. A variable that one side lacks is unset there; any other fact may not have been readable.
func (t *TargetInfo) SurroundingChanges(was *TargetInfo) []Change {
	out := changedFacts(was.Flags, t.Flags)
	if len(was.Surroundings) == 0 || len(t.Surroundings) == 0 {
		return out
	}
	all := maps.Clone(was.Surroundings)
	maps.Copy(all, t.Surroundings)
	for _, fact := range slices.Sorted(maps.Keys(all)) {
		before, now := was.Surroundings[fact], t.Surroundings[fact]
		if strings.ToUpper(fact) == fact { // a variable
			before, now = cmp.Or(before, "unset"), cmp.Or(now, "unset")
		}
		if before != now && before != "" && now != "" {
			out = append(out, Change{fact, before, now})
		}
	}
	return out
}

func similar(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 != nil || err2 != nil || math.Abs(x-y) <= sameSize*math.Max(x, y)
}

func (t *TargetInfo) Hash() string {
	facts := t.Facts()
	maps.DeleteFunc(facts, func(fact, _ string) bool { return isMeasured(fact) })
	return hash(facts)
}

func hash(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain values that came from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func (t *TargetInfo) Facts() map[string]string {
	f := map[string]string{"model": t.Model}
	add := func(name string, v any) {
		switch v := v.(type) {
		case nil:
		case string:
			f[name] = v
		default:
			text, err := json.Marshal(v)
			if err != nil {
				panic(err) // it came from JSON
			}
			f[name] = string(text)
		}
	}
	for prefix, m := range t.inUse() {
		for _, key := range []string{"root", "max_model_len", "owned_by"} {
			add(prefix+key, m[key])
		}
		meta, _ := m["meta"].(map[string]any)
		for key, v := range meta {
			if !isDate(key) {
				add(prefix+"meta."+key, v)
			}
		}
	}
	for key, v := range t.Props {
		add("props."+key, v)
	}
	add("version", t.Version)
	if s := t.Headers["Server"]; s != "" {
		f["header.Server"] = s
	}
	if t.Simulator != "" {
		f["simulator"] = t.Simulator
	}
	if t.PromptForm != "" {
		f["prompt_form."+cmp.Or(t.PromptAPI, t.API)] = t.PromptForm
	}
	for _, line := range t.BuildInfo {
		addCacheConfig(f, line)
	}
	for _, o := range t.Others {
		for fact, v := range o.Facts {
			f[o.Name+" "+fact] = v
		}
	}
	return f
}

func (t *TargetInfo) listed() []map[string]any {
	var out []map[string]any
	models, _ := t.Models.([]any) // nil if the server lists none
	for _, m := range models {
		if m, ok := m.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// inUse is the listed model in use; all by their names, if the server takes a name that it does not list.
func (t *TargetInfo) inUse() map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, m := range t.listed() {
		if m["id"] == t.Model {
			return map[string]map[string]any{"": m}
		}
		all[fmt.Sprint(m["id"])+"."] = m
	}
	return all
}

func isDate(key string) bool {
	return slices.ContainsFunc([]string{"created", "modified", "date", "time"},
		func(word string) bool { return strings.Contains(key, word) })
}

// CacheConfig are the labels of vLLM's or SGLang's cache_config_info, one line for each engine; nil: another line.
func CacheConfig(line string) map[string]string {
	name, labels, _ := strings.Cut(line, "{")
	if !strings.HasSuffix(name, "cache_config_info") {
		return nil
	}
	own := map[string]string{}
	for {
		key, rest, ok := strings.Cut(labels, `="`)
		value, after, whole := strings.Cut(rest, `"`) // none of these values has a quote in it
		if !ok || !whole {
			return own
		}
		own[strings.TrimLeft(key, ", ")] = value
		labels = after
	}
}

func addCacheConfig(f map[string]string, line string) {
	own := CacheConfig(line)
	prefix := "cache."
	if engine := own["engine"]; engine != "" && engine != "0" {
		prefix += engine + "."
	}
	for key, value := range own {
		if key != "engine" && key != "model_name" {
			f[prefix+key] = value
		}
	}
}
