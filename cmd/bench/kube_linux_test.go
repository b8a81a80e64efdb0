package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"bench/experiment/mock"
)

const clustered = `name = "clustered"
[target]
endpoint = "http://elsewhere:8000"
[[row]]
name = "open"
input = { dist = "empirical", file = "lengths.txt" }
output = 5
rate = 40
requests = 20
`

// TestKube runs the pods that bench kube prints as processes, with their arguments, files and environment: the Job,
// and a leader with an Indexed Job of two workers.
func TestKube(t *testing.T) {
	for name, workers := range map[string]int{"job": 0, "workers": 2} {
		t.Run(name, func(t *testing.T) {
			home, listen := t.TempDir(), freeAddress(t)
			base, stop := startMock(mock.Config{})
			defer stop()
			write(t, filepath.Join(home, "clustered.toml"), clustered)
			write(t, filepath.Join(home, "lengths.txt"), "16\n32\n")
			args := []string{"kube", "clustered.toml", "--image", "a", "--endpoint", "http://vllm:8000"}
			if workers > 0 {
				args = append(args, "--workers", fmt.Sprint(workers))
			}
			program, err := exec.LookPath("bench")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, args...)
			cmd.Dir = home
			printed, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			if err := os.Remove(filepath.Join(home, "lengths.txt")); err != nil { // a pod has only the ConfigMap
				t.Fatal(err)
			}
			c := cluster{t: t, root: home, program: program, local: strings.NewReplacer("/home/bench", home+"/home/bench", "/results", home+"/results",
				"0.0.0.0:9470", listen, "bench-clustered:9470", listen, "http://vllm:8000", base)}
			c.apply(printed)
			for _, file := range []string{"run.json", "report.html", "open-r1.json"} {
				if found, _ := filepath.Glob(filepath.Join(home, "results/clustered/*", file)); len(found) != 1 {
					t.Errorf("results have no %s", file)
				}
			}
			rows, _ := filepath.Glob(filepath.Join(home, "results/clustered/*/open-r1.json"))
			if len(rows) == 0 {
				return
			}
			if row, err := os.ReadFile(rows[0]); err != nil || bytes.Count(row, []byte(`"start_skew_us"`)) != workers {
				t.Errorf("the row does not list %d workers: %v", workers, err)
			}
		})
	}
}

// cluster runs Jobs as processes of this machine. local maps paths and addresses.
type cluster struct {
	t             *testing.T
	root, program string
	local         *strings.Replacer
}

// apply runs all pods of all Jobs at once, and waits for them.
func (c *cluster) apply(stream []byte) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	var data map[string]any
	for d := yaml.NewDecoder(bytes.NewReader(stream)); ; {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			c.t.Fatal(err)
		}
		switch o["kind"] {
		case "ConfigMap":
			data = under[map[string]any](c.t, o, "data")
		case "Job":
			pods, _ := under[map[string]any](c.t, o, "spec")["completions"].(int)
			for index := range max(pods, 1) {
				container := under[map[string]any](c.t, o, "spec", "template", "spec", "containers", 0)
				cmd := c.pod(ctx, container, data, index)
				running.Go(func() {
					if out, err := cmd.CombinedOutput(); err != nil {
						c.t.Errorf("%q: %v\n%s", cmd.Args, err, out)
					}
				})
			}
		}
	}
	running.Wait()
}

// pod is the process of a container of bench, with its files.
func (c *cluster) pod(ctx context.Context, container, data map[string]any, index int) *exec.Cmd {
	c.t.Helper()
	writeMounted(c.t, container, data, c.local)
	cmd := exec.CommandContext(ctx, c.program)
	for _, arg := range under[[]any](c.t, container, "args") {
		cmd.Args = append(cmd.Args, c.local.Replace(arg.(string)))
	}
	cmd.Dir = c.local.Replace(under[string](c.t, container, "workingDir"))
	cmd.Env = []string{"HOME=" + c.root, "BENCH_TOKEN=correct-horse", fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index)}
	if err := os.MkdirAll(cmd.Dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	return cmd
}

// writeMounted writes the files of a ConfigMap where a container mounts them; local maps paths.
func writeMounted(t *testing.T, container, data map[string]any, local *strings.Replacer) {
	t.Helper()
	for i := range under[[]any](t, container, "volumeMounts") {
		mount := under[map[string]any](t, container, "volumeMounts", i)
		key, ok := mount["subPath"].(string)
		if !ok {
			continue
		}
		at := local.Replace(mount["mountPath"].(string))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, at, data[key].(string))
	}
}

// TestSlurm runs deploy/slurm.sbatch with three nodes that are this machine: two workers, and the leader's exit code.
func TestSlurm(t *testing.T) {
	program, err := exec.LookPath("bench")
	if err != nil {
		t.Fatal(err)
	}
	home, listen := t.TempDir(), freeAddress(t)
	base, stop := startMock(mock.Config{})
	defer stop()
	write(t, filepath.Join(home, "lengths.txt"), "16\n32\n")
	write(t, filepath.Join(home, "clustered.toml"), clustered)
	write(t, filepath.Join(home, "scontrol"), "#!/bin/sh\necho a; echo b; echo c\n")
	write(t, filepath.Join(home, "srun"), `#!/bin/bash
while [[ $1 == --* ]]; do case $1 in --ntasks=*) n=${1#*=};; esac; shift; done
for ((i = 0; i < n; i++)); do SLURM_PROCID=$i "$@" & pids+=($!); done
trap 'kill "${pids[@]}"' TERM
for p in "${pids[@]}"; do wait $p || code=$?; done
exit $code
`)
	write(t, filepath.Join(home, "job"), deployed(t, "slurm.sbatch", "0.0.0.0:9470", listen, "$leader:9470", listen))
	env := []string{"PATH=" + home + ":" + filepath.Dir(program) + ":/usr/bin:/bin", "HOME=" + home,
		"SLURM_JOB_NUM_NODES=3", "SLURM_JOB_NODELIST=a,b,c", "SLURM_CPUS_PER_TASK=4"}
	code, printed := bare(t, home, env, "bash", filepath.Join(home, "job"), "clustered.toml", base)
	for _, text := range []string{"worker 0 (of 0 to 1)", "worker 1 (of 0 to 1)", "MEASURED"} {
		if !strings.Contains(printed, text) {
			t.Errorf("%q is not in\n%s", text, printed)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, printed)
	}
	if code, printed := bare(t, home, env, "bash", filepath.Join(home, "job"), "missing.toml", base); code != codeUsage {
		t.Errorf("without a matrix: exit code %d\n%s", code, printed)
	}
}
