package record

import "testing"

// Slots are those that an engine reports, else those of the flags that it was started with, else those that the matrix
// states; a server of several replicas has none.
func TestSlots(t *testing.T) {
	flags := func(all ...string) TargetInfo {
		info := TargetInfo{Flags: map[string]string{}}
		for i := 0; i < len(all); i += 2 {
			info.Flags[all[i]] = all[i+1]
		}
		return info
	}
	started := func(line string) TargetInfo {
		return TargetInfo{Surroundings: map[string]string{"command line": line}}
	}
	replicas := *target(t, llamaModels, llamaProps)
	replicas.Replicas = make([]Replica, 2)
	for _, tt := range []struct {
		name   string
		info   TargetInfo
		stated string
		want   int
	}{
		{"llama.cpp", *target(t, llamaModels, llamaProps), "", 4},
		{"nothing", *target(t, llamaModels, ""), "", 0},
		{"a text", *target(t, llamaModels, `{"total_slots":"4"}`), "", 0},
		{"too many", *target(t, llamaModels, `{"total_slots":1e300}`), "", 0},
		{"negative", *target(t, llamaModels, `{"total_slots":-1}`), "", 0},
		{"replicas", replicas, "--max-num-seqs 8", 0},
		{"vLLM's log", flags("max_num_seqs", "16", "data_parallel_size", "1"), "", 16},
		{"vLLM's replicas", flags("max_num_seqs", "16", "data_parallel_size", "2"), "", 0},
		{"SGLang's flag", flags("max_running_requests", "48", "dp_size", "1"), "", 48},
		{"SGLang's memory", flags("max_running_requests", "null", slotsOfReplica, "52", "dp_size", "1"), "", 52},
		{"SGLang's replicas", flags("max_running_requests", "64", slotsOfReplica, "16", "dp_size", "4"), "", 0},
		{"a command", started("python3 vllm serve m --max-num-seqs 32 --port 1"), "", 32},
		{"a joined flag", started("python3 -m sglang.launch_server --max-running-requests=64"), "", 64},
		{"underscores", started("vllm serve m --max_num_seqs 32"), "", 32},
		{"a short flag", started("llama-server -np 8"), "", 8},
		{"the last one", started("llama-server --parallel 8 --parallel 2"), "", 2},
		{"automatic", started("llama-server --parallel -1"), "", 0},
		{"no value", started("llama-server --parallel"), "", 0},
		{"a command of replicas", started("vllm serve m --max-num-seqs 32 -dp 2"), "", 0},
		{"stated", TargetInfo{}, "--max-num-seqs 24", 24},
		{"stated of replicas", TargetInfo{}, "--max-num-seqs 24 --data-parallel-size 2", 0},
		{"reported and stated", flags("max_num_seqs", "16"), "--max-num-seqs 24", 16},
	} {
		m := Manifest{Target: tt.info, Facts: map[string]string{"server_flags": tt.stated}}
		if got := m.Slots(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
