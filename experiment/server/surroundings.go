package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/processes"
	"bench/experiment/text"
)

// Variables of the environment that change the speed of a server: those whose values are stored, and beginnings of
// others, of which a hash is. None that can be a secret is.
const (
	plain = "OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES KMP_AFFINITY KMP_BLOCKTIME MKL_NUM_THREADS " +
		"OPENBLAS_NUM_THREADS CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES " +
		"NVIDIA_VISIBLE_DEVICES PYTORCH_CUDA_ALLOC_CONF TOKENIZERS_PARALLELISM MALLOC_ARENA_MAX GOMAXPROCS " +
		"VLLM_ATTENTION_BACKEND VLLM_CPU_OMP_THREADS_BIND VLLM_CPU_KVCACHE_SPACE VLLM_USE_V1 NCCL_P2P_DISABLE " +
		"NCCL_ALGO NCCL_PROTO LLAMA_ARG_THREADS LLAMA_ARG_UBATCH LLAMA_ARG_N_PARALLEL LD_PRELOAD"
	hashed = "OMP_ KMP_ MKL_ CUDA_ HIP_ PYTORCH_ TORCH TRITON_ VLLM_ SGLANG_ SGL_ NCCL_ RCCL_ UCX_ GGML_ LLAMA_ " +
		"FLASHINFER_ TRTLLM_ TLLM_"
	secret = "KEY TOKEN SECRET PASS PWD CREDENTIAL AUTH"
)

// Surroundings are what can explain the speed of the server: command line and variables of the process that listens,
// and the limits of that process (of its own control group: a parent's may be tighter) and of this machine; its command
// line without secrets. nil: the process is not seen.
func (s Running) Surroundings() map[string]string {
	_, address, _ := net.SplitHostPort(Config{URL: s.URL}.address())
	port, err := strconv.Atoi(address)
	if err != nil {
		return nil
	}
	out := surroundings(port, processes.System, "/sys")
	if line, seen := out["command line"]; seen {
		out["command line"] = s.secrets.Hide(line)
	}
	return out
}

func surroundings(port int, proc processes.Root, sys string) map[string]string {
	owners := proc.Owners(port)
	if len(owners) == 0 {
		return nil
	}
	pid := slices.Min(owners) // of forked workers the first
	out := map[string]string{}
	for v := range strings.SplitSeq(proc.Text(pid, "environ"), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		begins := func(with string) bool { return strings.HasPrefix(name, with) }
		contains := func(word string) bool { return strings.Contains(name, word) }
		switch {
		case slices.Contains(strings.Fields(plain), name):
			out[name] = value
		case slices.ContainsFunc(strings.Fields(secret), contains):
		case slices.ContainsFunc(strings.Fields(hashed), begins):
			sum := sha256.Sum256([]byte(value))
			out[name] = "sha256:" + hex.EncodeToString(sum[:6])
		}
	}
	put := func(fact, value string) {
		if value = strings.TrimSpace(value); value != "" {
			out[fact] = value
		}
	}
	command := strings.TrimRight(proc.Text(pid, "cmdline"), "\x00")
	put("command line", strings.Join(text.MaskCommand(strings.Split(command, "\x00")), " "))
	for line := range strings.Lines(proc.Text(pid, "status")) {
		if cpus, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			put("allowed CPUs", cpus)
		}
	}
	read := func(path ...string) string {
		content, _ := os.ReadFile(filepath.Join(append([]string{sys}, path...)...))
		return string(content)
	}
	put("CPU governor", read("devices/system/cpu/cpu0/cpufreq/scaling_governor"))
	put("NUMA nodes", read("devices/system/node/online"))
	_, pages, _ := strings.Cut(read("kernel/mm/transparent_hugepage/enabled"), "[")
	pages, _, _ = strings.Cut(pages, "]")
	put("transparent huge pages", pages)
	for line := range strings.Lines(proc.Text(pid, "cgroup")) { // 0::/path, or 4:cpu,cpuacct:/path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		own := func(controller, name string) string { // in a container the path can be that of the host
			limit := read("fs/cgroup", controller, parts[2], name)
			if limit == "" {
				limit = read("fs/cgroup", controller, name)
			}
			return strings.TrimSpace(limit)
		}
		switch controllers := strings.Split(parts[1], ","); {
		case parts[1] == "":
			put("cgroup cpu.max", own("", "cpu.max"))
			put("cgroup memory.max", own("", "memory.max"))
		case slices.Contains(controllers, "cpu"):
			if quota := own("cpu", "cpu.cfs_quota_us"); quota != "" {
				put("cgroup cpu.max", strings.Replace(quota, "-1", "max", 1)+" "+own("cpu", "cpu.cfs_period_us"))
			}
		case slices.Contains(controllers, "memory"):
			put("cgroup memory.max", own("memory", "memory.limit_in_bytes"))
		}
	}
	return out
}

// Reported are the settings that vLLM writes to its log when it starts: the arguments that it got, and what it made of
// them. nil: none, or there is no log.
func (s Running) Reported() map[string]any {
	if s.log == nil {
		return nil
	}
	return reported(s.secrets.Hide(s.log.end(4 << 20)))
}

var (
	// (EngineCore pid=7) INFO 11-29 16:17:04 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: a=…
	settingsLine = text.Lazy(`non-default args: \{(.*)|LLM engine \(v\S*\) with config: (.*)|` +
		`Chunked prefill is enabled with (.*)\.|(Using \w+ attention backend)`)
	// pythonSetting is an item of a dict or a keyword argument, on any level: 'a': 1, b=[2, 3].
	pythonSetting = text.Lazy(`(\w+)(?:=|': )('[^']*'|\[[^\]]*\]|<[^>]*>|[\w.+-]+)`)
)

// reported joins the values of a name that a line has more than once.
func reported(log string) map[string]any {
	out := map[string]any{}
	for _, line := range settingsLine().FindAllStringSubmatch(log, -1) {
		own := map[string]string{}
		for _, m := range pythonSetting().FindAllStringSubmatch(strings.Join(line[1:4], ""), -1) {
			own[m[1]] = strings.TrimPrefix(own[m[1]]+", "+strings.Trim(m[2], "'"), ", ")
		}
		if line[4] != "" {
			own["attention_backend"] = strings.Fields(line[4])[1]
		}
		for name, value := range own {
			out[name] = value
		}
	}
	return out
}
