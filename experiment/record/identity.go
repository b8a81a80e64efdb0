package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/text"
	"bench/experiment/unit"
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
	b, _ := json.Marshal(facts) // texts always have a JSON form
	return Sum(b)[:16]
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
			if !date().MatchString(key) {
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

// inUse is the listed model in use; all by their names, if the server takes a name that it does not list.
func (t *TargetInfo) inUse() map[string]map[string]any {
	all := map[string]map[string]any{}
	models, _ := t.Models.([]any) // nil if the server lists none
	for _, listed := range models {
		switch m, ok := listed.(map[string]any); {
		case !ok:
		case m["id"] == t.Model:
			return map[string]map[string]any{"": m}
		default:
			all[fmt.Sprint(m["id"])+"."] = m
		}
	}
	return all
}

var date = text.Lazy(`created|modified|date|time`)

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
	own, prefix := CacheConfig(line), "cache."
	if engine := own["engine"]; engine != "" && engine != "0" {
		prefix += engine + "."
	}
	for key, value := range own {
		if key != "engine" && key != "model_name" {
			f[prefix+key] = value
		}
	}
}

// notFlag matches names of settings that differ at each start, or that are where a server is.
var notFlag = text.Lazy(`(?i)(^|_)(seed|hosts?|ports?|addr|ip|dir)(_|$)|` +
	`^(session_|instance_)?id$|throughput|memory_usage`)

// AddFlags adds the settings that an engine reports, but no texts that can have a secret in them: JSON and URLs.
func (t *TargetInfo) AddFlags(reported map[string]any) {
	for name, v := range reported {
		value, ok := v.(string)
		if !ok {
			b, _ := json.Marshal(v) // it came from JSON
			value = string(b)
		}
		unsafe := strings.ContainsAny(value, "{@=") || strings.Contains(value, "//") || text.IsSecret(name, value)
		if value == "" || unsafe || notFlag().MatchString(name) {
			continue
		}
		if t.Flags == nil {
			t.Flags = map[string]string{}
		}
		t.Flags[name] = unit.ClipBytes(value, 500)
	}
	if states, _ := reported["internal_states"].([]any); len(states) > 0 { // of SGLang's replicas, which are alike
		if first, _ := states[0].(map[string]any); first[slotsOfReplica] != nil {
			t.AddFlags(map[string]any{slotsOfReplica: first[slotsOfReplica]})
		}
	}
}

// slotsOfReplica is SGLang's limit of one data-parallel replica in use: that of the flag, or of the memory.
const slotsOfReplica = "effective_max_running_requests_per_dp"

// Sources: vLLM 0.32 vllm serve --help, SGLang server_args.py, llama.cpp llama-server --help, TensorRT-LLM
// trtllm-serve --help.
var (
	slotFlags    = []string{"--max-num-seqs", "--max-running-requests", "--parallel", "-np", "--max-batch-size"}
	replicaFlags = []string{"--data-parallel-size", "-dp", "--dp-size", "--dp"}
)

// Slots is the number of requests that the server runs at once at most: as it reports, by the command line that started
// it, or by server_flags in [target.facts]; 0 = not known, or there are several servers. So are the data-parallel
// replicas of one: each has a limit and a batch of its own.
func (m *Manifest) Slots() int {
	t, commands := &m.Target, []string{m.Target.Surroundings["command line"], m.Facts["server_flags"]}
	replicas := max(len(t.Replicas), len(t.Others)+1, count(t.Flags["data_parallel_size"]), count(t.Flags["dp_size"]))
	props, _ := t.Props["total_slots"].(float64)
	all := []int{count(strconv.FormatFloat(props, 'f', -1, 64)), count(t.Flags[slotsOfReplica]),
		count(t.Flags["max_running_requests"]), count(t.Flags["max_num_seqs"])}
	for _, line := range commands {
		replicas, all = max(replicas, countIn(line, replicaFlags)), append(all, countIn(line, slotFlags))
	}
	if replicas > 1 {
		return 0
	}
	return all[max(0, slices.IndexFunc(all, func(n int) bool { return n > 0 }))]
}

// count is a plausible number of sequences or servers; 0 = the text is none.
func count(text string) int {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= 1<<20 {
		return n
	}
	return 0
}

// countIn is the count behind one of some flags: "--max-num-seqs 32" or "--max-num-seqs=32"; of several the last.
func countIn(line string, flags []string) (n int) {
	words := strings.Fields(line)
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		if slices.Contains(flags, strings.ReplaceAll(name, "_", "-")) {
			n = count(value)
		}
	}
	return n
}
