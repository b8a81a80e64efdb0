package collect

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"bench/experiment/processes"
)

// tgi is a /proc of a launcher (20) with a router (21) that listens on 8080 and its shard (22), below a shell (10)
// that also started this client (30) and another job (40).
func tgi(t *testing.T) (root string, write func(name, text string)) {
	root, write = proc(t)
	for pid, text := range map[int]string{1: "init) S 0 1 1 0", 10: "bash) S 1 10 10 0", 20: "launcher) S 10 10 10 0", 21: "router) S 20 10 10 0",
		22: "shard) S 20 10 10 0", 30: "bench) S 10 10 10 0", 40: "busy) S 10 10 10 0"} {
		write(strconv.Itoa(pid)+"/stat", strconv.Itoa(pid)+" ("+text)
		write(strconv.Itoa(pid)+"/task/"+strconv.Itoa(pid)+"/schedstat", "1000000000 2000000000 1")
	}
	write("self/net/tcp", "head\n 0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 4711 1\n")
	write("21/fd/dir", "")
	if err := os.Symlink("socket:[4711]", filepath.Join(root, "21/fd/3")); err != nil {
		t.Fatal(err)
	}
	write("21/cgroup", "4:memory:/x\n0::/serving/tgi\n")
	write("pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=5000000\n")
	return root, write
}

func TestFindServer(t *testing.T) {
	root, write := tgi(t)
	write("cgroups/serving/tgi/cpu.pressure", "some total=0\n")
	cgroups := filepath.Join(root, "cgroups")
	find := func(self int, ports ...int) *ServerProcesses {
		return findServer(processes.Root(root), cgroups, self, ports)
	}
	s := find(30, 8080)
	if s == nil || !slices.Equal(s.family, []int{21}) || !slices.Equal(s.group, []int{20, 21, 22}) || s.pressure != filepath.Join(cgroups, "serving/tgi/cpu.pressure") {
		t.Fatalf("%+v", s)
	}
	if find(30, 8080, 8081) != nil || find(21, 8080) != nil {
		t.Error("a port without a visible listener, or this process")
	}
	write("21/stat", "21 (docker-proxy) S 20 10 10 0")
	if find(30, 8080) != nil {
		t.Error("a proxy is no server")
	}
	write("21/stat", "21 (bench) S 20 10 10 0")
	write("21/cmdline", "bench\x00mock\x00--ttft")
	if find(30, 8080) == nil {
		t.Error("the simulated server is not found")
	}
}

func TestSampleServer(t *testing.T) {
	root, write := tgi(t)
	s := newSampler(root)
	defer s.close()
	s.server = findServer(processes.Root(root), filepath.Join(root, "none"), 30, []int{8080})
	before, now := new(reading), new(reading)
	s.read(before, nil)
	write("21/task/21/schedstat", "1050000000 2020000000 2") // 50 ms on a core, 20 ms without
	write("22/task/22/schedstat", "1900000000 2030000000 2") // beside it
	write("40/task/40/schedstat", "1900000000 9000000000 2")
	write("pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=5040000\n")
	s.read(now, nil)
	now.at = before.at.Add(100 * time.Millisecond)
	x := difference(before, now)
	if *x.ServerCores != 0.5 || *x.ServerRunDelay != 0.5 || *x.CPUPressure != 0.4 || x.ServerCPUPressure != nil {
		t.Errorf("cores %v, run delay %v, pressure %v, of the cgroup %v", *x.ServerCores, *x.ServerRunDelay, *x.CPUPressure, x.ServerCPUPressure)
	}
	s.server = nil
	if s.read(now, nil); difference(before, now).ServerCores != nil {
		t.Error("figures of no server")
	}
}
