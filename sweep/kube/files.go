package kube

import (
	"cmp"
	"encoding/base64"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// file is a file of the ConfigMap.
type file struct {
	key, path string // path: in the pod
	content   []byte
}

// roomOfConfigMap is what Kubernetes accepts in a ConfigMap, bytes.
const roomOfConfigMap = 1 << 20

// read reads the matrix and the files that it names, without the files of a claim.
func (k *Manifests) read(p *problems) {
	keys, size := map[string]bool{}, 0
	add := func(name string, content []byte) {
		at := podPath(name)
		if slices.ContainsFunc(k.files, func(f file) bool { return f.path == at }) {
			return
		}
		k.files = append(k.files, file{keyIn(keys, at), at, content})
		size += len(content)
	}
	add(k.m.File, []byte(k.m.Text))
	named := slices.Concat(k.m.Files, k.o.Files)
	for _, name := range named {
		if k.inClaim(podPath(name)) {
			continue
		}
		if info, err := os.Stat(name); err == nil && info.Size() > roomOfConfigMap {
			size += int(min(info.Size(), 1<<50)) // too large in any case
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			p.add("the path is relative to the working directory", "reading a file of the matrix: %v", err)
			continue
		}
		add(name, text)
	}
	if k.o.Cron != "" {
		add(scriptName, []byte(k.o.Script))
	}
	if size > roomOfConfigMap {
		p.add("copy them to a volume, and mount it where the matrix names them: --data CLAIM:DIR",
			"the matrix and its files have %.1f MiB, a ConfigMap holds 1: %s", float64(size)/roomOfConfigMap, strings.Join(named, ", "))
	}
}

// scriptName is the file of the nightly job.
const scriptName = "bench-nightly"

// podPath is the path of a file in the pod, as the kernel resolves its name there.
func podPath(name string) string {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(workDir, name)
}

// inClaim reports whether a path of the pod is in a claim.
func (k *Manifests) inClaim(at string) bool {
	return slices.ContainsFunc(k.o.Data, func(d Data) bool { return below(at, podPath(d.Dir)) })
}

func (k *Manifests) configMap() object {
	var data, binary object
	for _, f := range k.files {
		if isText(f.content) {
			data = data.with(f.key, string(f.content))
		} else {
			binary = binary.with(f.key, base64.StdEncoding.EncodeToString(f.content))
		}
	}
	o := k.head("v1", "ConfigMap", "").with("data", data)
	if len(binary) > 0 {
		o = o.with("binaryData", binary)
	}
	return o
}

// matrixPath is the matrix in the pod, as bench there is told: relative to the working directory where it is below it.
func (k *Manifests) matrixPath() string {
	at := podPath(k.m.File)
	return cmp.Or(strings.TrimPrefix(at, workDir+"/"), at)
}
