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
	"regexp"
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

// TestKubernetes runs the pods of deploy/kubernetes as processes, with their arguments, files and environment: the Job,
// and a leader with an Indexed Job of workers.
func TestKubernetes(t *testing.T) {
	for file, workers := range map[string]int{"job.yaml": 0, "workers.yaml": 4} {
		t.Run(file, func(t *testing.T) {
			home, listen := t.TempDir(), freeAddress(t)
			base, stop := startMock(mock.Config{})
			defer stop()
			program, err := exec.LookPath("bench")
			if err != nil {
				t.Fatal(err)
			}
			matrix := filepath.Join(home, "matrix")
			if err := os.Mkdir(matrix, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(matrix, "matrix.toml"), clustered)
			write(t, filepath.Join(matrix, "lengths.txt"), "16\n32\n")
			c := cluster{t: t, root: home, program: program, local: strings.NewReplacer("/matrix", matrix,
				"/results", home+"/results", "0.0.0.0:9470", listen, "bench-leader:9470", listen, "http://vllm:8000", base)}
			c.run(deployed(t, "kubernetes/"+file))
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

// TestKubernetesCommands: bench reads the commands of the pods, also with all arguments that are commented out.
func TestKubernetesCommands(t *testing.T) {
	for _, file := range []string{"job.yaml", "workers.yaml"} {
		text := deployed(t, "kubernetes/"+file)
		all := regexp.MustCompile(`(?m)^( *)#([^ \n])`).ReplaceAllString(text, "$1$2")
		for _, text := range []string{text, all} {
			for _, job := range jobs(t, text) {
				var args []string
				for _, arg := range under[[]any](t, containerOf(t, job), "args") {
					args = append(args, arg.(string))
				}
				cmd, rest, err := newRoot(&cli{}).Find(args)
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err == nil {
					err = cmd.ValidateArgs(cmd.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s: %q: %v", file, args, err)
				}
			}
		}
	}
}

func jobs(t *testing.T, stream string) (list []map[string]any) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(stream)); ; {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		if o["kind"] == "Job" {
			list = append(list, o)
		}
	}
}

func containerOf(t *testing.T, job map[string]any) map[string]any {
	t.Helper()
	return under[map[string]any](t, job, "spec", "template", "spec", "containers", 0)
}

// cluster runs Jobs as processes of this machine. local maps paths and addresses.
type cluster struct {
	t             *testing.T
	root, program string
	local         *strings.Replacer
}

// run runs all pods of all Jobs at once, and waits for them.
func (c *cluster) run(stream string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	for _, job := range jobs(c.t, stream) {
		pods, _ := under[map[string]any](c.t, job, "spec")["completions"].(int)
		for index := range max(pods, 1) {
			cmd := c.pod(ctx, containerOf(c.t, job), index)
			running.Go(func() {
				if out, err := cmd.CombinedOutput(); err != nil {
					c.t.Errorf("%q: %v\n%s", cmd.Args, err, out)
				}
			})
		}
	}
	running.Wait()
}

// pod is the process of a container of bench.
func (c *cluster) pod(ctx context.Context, container map[string]any, index int) *exec.Cmd {
	c.t.Helper()
	cmd := exec.CommandContext(ctx, c.program)
	for _, arg := range under[[]any](c.t, container, "args") {
		cmd.Args = append(cmd.Args, c.local.Replace(arg.(string)))
	}
	if dir, ok := container["workingDir"].(string); ok {
		cmd.Dir = c.local.Replace(dir)
	}
	cmd.Env = []string{"HOME=" + c.root, "BENCH_TOKEN=correct-horse", fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index)}
	return cmd
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
