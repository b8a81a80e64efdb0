// Package deploy holds no code of bench: its tests hold the files beside them to what the docs state.
package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// optional are the lines that a # without a space comments out.
var optional = regexp.MustCompile(`(?m)^( *)#([^ \n])`)

// kubernetes writes the files of kubernetes/, as they are and with all that is optional, to a folder.
func kubernetes(t *testing.T) (dir string, texts map[string]string) {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	dir, texts = t.TempDir(), map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		texts[name], texts["all-"+name] = string(text), optional.ReplaceAllString(string(text), "$1$2")
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, texts
}

// TestKubernetes: the objects are valid for Kubernetes 1.30 and the Prometheus operator.
func TestKubernetes(t *testing.T) {
	_, texts := kubernetes(t)
	objects := 0
	for name, text := range texts {
		for d := yaml.NewDecoder(strings.NewReader(text)); ; objects++ {
			var o map[string]any
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := valid(o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if objects != 2*(2+4+2)+2 { // two files end with an optional PodMonitor
		t.Errorf("%d objects", objects)
	}
}

// TestKubeconform runs the tool that people check objects with, if it is installed: .ci/run installs it.
func TestKubeconform(t *testing.T) {
	if _, err := exec.LookPath("kubeconform"); err != nil {
		t.Skip(err)
	}
	dir, _ := kubernetes(t)
	const schemas = "validate/schemas/{{.ResourceKind}}{{.KindSuffix}}.json"
	if out, err := exec.Command("kubeconform", "-strict", "-schema-location", schemas, dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestResultsPod: the pod of docs/scale.md that results are fetched from is valid.
func TestResultsPod(t *testing.T) {
	page, err := os.ReadFile("../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "--overrides='")
	overrides, _, found := strings.Cut(after, "'\n")
	o := map[string]any{}
	if err := json.Unmarshal([]byte(overrides), &o); err != nil || !found {
		t.Fatalf("%v in %s", err, overrides)
	}
	o["kind"], o["metadata"] = "Pod", map[string]any{"name": "a"}
	if err := valid(o); err != nil {
		t.Error(err)
	}
}

// TestSchemasAreStrict: an unknown key and a wrong type are errors, so that TestKubernetes can fail.
func TestSchemasAreStrict(t *testing.T) {
	for _, wrong := range []string{
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
			"spec": {"template": {"spec": {"containers": [], "imagePolicy": "x"}}}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"backoffLimit": "0", "template": {}}}`,
		`{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"}, "spec": {"schedule": "@daily"}}`,
		`{"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", "metadata": {"name": "a"},
			"spec": {"selector": {}, "endpoints": []}}`,
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
	schema, err := compiler.Compile("validate/schemas/" + name + version + ".json")
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
