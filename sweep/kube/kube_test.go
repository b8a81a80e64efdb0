package kube

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"bench/experiment/mock"
	"bench/sweep"
)

var update = flag.Bool("update", false, "write the golden files anew")

const chat = `name = "chat"
[target]
endpoint = "http://vllm:8000"
[defaults]
requests = 10
[[row]]
name = "a"
input = 16
output = 4
concurrency = 1
`

func matrix(t testing.TB, file, text string) *sweep.Matrix {
	t.Helper()
	m, err := sweep.Parse(file, []byte(text), sweep.Extension{Table: "mock", Into: &mock.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// plainJob are the options of bench kube without flags, but for the image.
func plainJob() Options {
	return Options{Image: "registry/bench:v1", Helper: "busybox:1.37", Key: "api-key", TokenKey: "token", CPU: 4, Memory: "4Gi",
		Keep: 24 * time.Hour, TTL: 24 * time.Hour, Command: []string{"bench", "kube", "chat.toml", "--image", "registry/bench:v1"}}
}

// forms are every form of the output.
func forms(t testing.TB) map[string]*Manifests {
	t.Helper()
	made := map[string]*Manifests{}
	for name, change := range map[string]func(*Options){
		"job": func(*Options) {},
		"all": func(o *Options) {
			o.Name, o.Namespace, o.Endpoint = "mine", "load", "https://host/v1"
			o.Secret, o.Volume, o.Data = "key", "claim", []Data{{"traces", "data"}, {"more", "/mnt/more"}}
			o.ServerLabel, o.NodeLabel = []Label{{"app.kubernetes.io/name", "vllm"}}, []Label{{"pool", "cpu"}}
			o.Deadline, o.Dashboard, o.Args = time.Hour, []byte(`{"title": "bench"}`), []string{"--only", "a"}
		},
		"workers": func(o *Options) { o.Workers = 4 },
		"cron": func(o *Options) {
			o.Cron, o.Script, o.Volume, o.Deadline = "30 2 * * *", "#!/bin/sh\nexit 0\n", "claim", 3*time.Hour
		},
	} {
		o, text := plainJob(), chat
		change(&o)
		if o.Cron != "" {
			text = strings.Replace(chat, `"chat"`, `"nightly"`, 1)
		}
		m := matrix(t, "chat.toml", text)
		if len(o.Data) > 0 {
			m.Files = []string{"data/a.jsonl", "/mnt/more/b.csv"}
		}
		k, err := New(m, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		made[name] = k
	}
	return made
}

// documents are the objects of a YAML stream.
func documents(t testing.TB, stream []byte) (all []map[string]any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, stream)
		}
		all = append(all, o)
	}
}

// compiler keeps the schemas that it has read.
var compiler = jsonschema.NewCompiler()

// valid checks an object with the schema of its kind.
func valid(o map[string]any) error {
	group, version, grouped := strings.Cut(o["apiVersion"].(string), "/")
	if !grouped {
		group, version = "", group
	}
	name := strings.ToLower(o["kind"].(string)) + "-"
	if group != "" {
		name += strings.Split(group, ".")[0] + "-"
	}
	schema, err := compiler.Compile("testdata/schemas/" + name + version + ".json")
	if err != nil {
		return err
	}
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// TestValid: every form is valid for Kubernetes, and as it was.
func TestValid(t *testing.T) {
	for name, k := range forms(t) {
		stream := k.Text()
		for _, o := range documents(t, stream) {
			if err := valid(o); err != nil {
				t.Errorf("%v\n%s", err, stream)
			}
		}
		golden := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(golden, stream, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(stream)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestHelperPod: the pod that kubectl run makes from the printed overrides is valid.
func TestHelperPod(t *testing.T) {
	k := forms(t)["all"]
	_, after, _ := strings.Cut(string(k.Text()), "--overrides=")
	overrides, _, _ := strings.Cut(after, "'\n")
	o := map[string]any{}
	if err := json.Unmarshal([]byte(overrides), &o); err != nil {
		t.Fatalf("%v in %s", err, overrides)
	}
	o["kind"], o["metadata"] = "Pod", map[string]any{"name": "a"}
	if err := valid(o); err != nil {
		t.Error(err)
	}
}

// TestSchemasAreStrict: an unknown key and a wrong type are errors, so that TestValid can fail.
func TestSchemasAreStrict(t *testing.T) {
	for _, wrong := range []string{
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": [], "imagePolicy": "x"}}}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"backoffLimit": "0", "template": {}}}`,
		`{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": {"schedule": "@daily"}}`,
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": 1}}`,
		`{"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": {"name": "a"}, "spec": {"selector": {}, "endpoints": []}}`,
	} {
		var o map[string]any
		if err := json.Unmarshal([]byte(wrong), &o); err != nil {
			t.Fatal(err)
		}
		if err := valid(o); !errors.As(err, new(*jsonschema.ValidationError)) {
			t.Errorf("%v: %s", err, wrong)
		}
	}
}

// TestValidators runs the tools that people check objects with, if they are installed.
func TestValidators(t *testing.T) {
	dir := t.TempDir()
	for name, k := range forms(t) {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), k.Text(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range [][]string{
		{"kubeconform", "-strict", "-schema-location", "testdata/schemas/{{.ResourceKind}}{{.KindSuffix}}.json", dir},
		{"kubectl-validate", "--version", "1.30", dir + "/job.yaml", dir + "/workers.yaml", dir + "/cron.yaml"}, // which has no schema of PodMonitor
	} {
		t.Run(command[0], func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip(err)
			}
			if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestFilesArrive: each file is in the ConfigMap byte for byte, at the path by which the matrix in the pod reaches it.
func TestFilesArrive(t *testing.T) {
	root := t.TempDir()
	contents := map[string]string{"lengths/in.csv": "10\n20\n", root + "/in.csv": "30\n", "../out.txt": "4\n5 \n\n"}
	if err := os.Mkdir(root+"/here", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root + "/here")
	list := "name = 'chat'\n[target]\nendpoint = 'a:1'\n[defaults]\nrequests = 1\n"
	for name, content := range contents {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		list += fmt.Sprintf("[[row]]\nname = 'r%d'\ninput = {dist = 'empirical', file = '%s'}\noutput = 1\nrate = 1\n", len(list), name)
	}
	k, err := New(matrix(t, "dir/chat.toml", list), plainJob())
	if err != nil {
		t.Fatal(err)
	}
	all := documents(t, k.Text())
	data, mounts := all[0]["data"].(map[string]any), map[string]string{}
	for _, v := range pod(all[1])["containers"].([]any)[0].(map[string]any)["volumeMounts"].([]any) {
		if key, ok := v.(map[string]any)["subPath"].(string); ok {
			mounts[v.(map[string]any)["mountPath"].(string)] = data[key].(string)
		}
	}
	want := map[string]string{"/home/bench/dir/chat.toml": list, "/home/bench/lengths/in.csv": contents["lengths/in.csv"],
		root + "/in.csv": contents[root+"/in.csv"], "/home/out.txt": contents["../out.txt"]}
	if diff := cmp.Diff(want, mounts); diff != "" {
		t.Error(diff)
	}
}

// pod is the pod's specification in a Job.
func pod(job map[string]any) map[string]any {
	return job["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
}

// FuzzTextArrives: any name and any content of a file make YAML that reads back as they were.
func FuzzTextArrives(f *testing.F) {
	f.Add("nightly", "a: b\n# c \n\tx\r\n")
	f.Add("yes", "\xff\x00")
	f.Add("Ünï/codé .. \n---\nkind: Secret", "---\n...\n\u0085\u2028\ufeff")
	f.Add("", " leading\n  more\n\n\n")
	f.Fuzz(func(t *testing.T, name, content string) {
		o := plainJob()
		o.Command = []string{"bench", "kube", name}
		m := &sweep.Matrix{Name: name, File: "a", Text: content}
		k, err := New(m, o)
		if err != nil {
			t.Fatal(err)
		}
		all := documents(t, k.Text())
		if len(all) != 2 {
			t.Fatalf("%d objects", len(all))
		}
		for _, o := range all {
			if err := valid(o); err != nil {
				t.Error(err)
			}
		}
		if name := all[1]["metadata"].(map[string]any)["name"].(string); !label(name) || len(name) > longestName {
			t.Errorf("a Job named %q", name)
		}
		got := ""
		data, _ := all[0]["data"].(map[string]any)
		if v, ok := data["a"].(string); ok {
			got = v
		} else {
			b, err := base64.StdEncoding.DecodeString(all[0]["binaryData"].(map[string]any)["a"].(string))
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != content {
			t.Errorf("%q came as %q", content, got)
		}
	})
}

// TestHolder: results stay as long as they change, and then for --keep.
func TestHolder(t *testing.T) {
	o := plainJob()
	o.Keep = leastKeep
	k, err := New(matrix(t, "chat.toml", chat), o)
	if err != nil {
		t.Fatal(err)
	}
	holder := k.holder()
	command := slices.IndexFunc(holder, func(f field) bool { return f.key == "command" })
	script := holder[command].value.([]any)[2].(string)
	for name, changed := range map[string]time.Duration{"a sweep that writes": 0, "a sweep that ended": time.Hour} {
		dir := t.TempDir()
		at := time.Now().Add(-changed)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := exec.CommandContext(ctx, "sh", "-c", "sleep() { :; }; "+strings.ReplaceAll(script, resultsDir, dir)).Run()
		if cancel(); (err == nil) != (changed > 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
