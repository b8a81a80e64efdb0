package record

import (
	"slices"
	"strconv"
	"strings"
)

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
