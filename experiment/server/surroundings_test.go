package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/processes"
)

// plant writes a file below a folder, with its folders.
func plant(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSurroundings(t *testing.T) {
	proc, sys := t.TempDir(), t.TempDir()
	listening := "sl local rem st\n0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 77 1\n"
	plant(t, proc, "self/net/tcp", listening)
	plant(t, proc, "42/environ", strings.Join([]string{"HOME=/root", "OMP_NUM_THREADS=64", "VLLM_API_KEY=sk-1",
		"VLLM_CACHE_ROOT=/x", "TOKENIZERS_PARALLELISM=false", "LLAMA_ARG_API_KEY_FILE=/k", ""}, "\x00"))
	plant(t, proc, "42/cmdline", "llama-server\x00--ctx-size\x008192\x00--api-key\x00sk-1\x00")
	plant(t, proc, "42/status", "Name:\tx\nCpus_allowed_list:\t0-3\n")
	plant(t, proc, "42/cgroup", "4:cpu,cpuacct:/pod\n3:memory:/pod\n0::/pod\n")
	if err := os.MkdirAll(filepath.Join(proc, "42/fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("socket:[77]", filepath.Join(proc, "42/fd/3")); err != nil {
		t.Skip(err)
	}
	plant(t, sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
	plant(t, sys, "devices/system/node/online", "0-1\n")
	plant(t, sys, "kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
	plant(t, sys, "fs/cgroup/cpu/pod/cpu.cfs_quota_us", "-1\n")
	plant(t, sys, "fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n")
	plant(t, sys, "fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n")
	sum := sha256.Sum256([]byte("/x"))
	hash := hex.EncodeToString(sum[:6])
	want := map[string]string{
		"OMP_NUM_THREADS": "64", "TOKENIZERS_PARALLELISM": "false", "VLLM_CACHE_ROOT": "sha256:" + hash,
		"allowed CPUs": "0-3", "CPU governor": "powersave", "NUMA nodes": "0-1", "transparent huge pages": "madvise",
		"command line": "llama-server --ctx-size 8192 --api-key ***", "cgroup cpu.max": "max 100000", "cgroup memory.max": "1073741824",
	}
	got := surroundings(0x1F90, processes.Root(proc), sys)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := surroundings(1, processes.Root(proc), sys); got != nil {
		t.Errorf("without a process: %v", got)
	}
}

// Of this very process, which listens.
func TestSurroundingsOfARunningServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if got := (Running{URL: "http://127.0.0.1:" + port + "/v1"}).Surroundings(); got["allowed CPUs"] == "" {
		t.Errorf("%v", got)
	}
}
