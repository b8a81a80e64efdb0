package kube

import (
	"path"
	"strconv"
	"time"
)

// role is what the pods of a Job do.
type role string

const (
	sweeps  role = "sweep" // also as the leader of workers
	works   role = "worker"
	nightly role = "nightly"
)

// user is neither root nor a user of the node.
const user = 65532

// template is the pod template of a Job.
func (k *Manifests) template(r role) object {
	spec := object{
		{key: "restartPolicy", value: "Never"},
		{key: "terminationGracePeriodSeconds", value: 60, comment: "SIGTERM ends a sweep as Ctrl-C does"},
		{key: "automountServiceAccountToken", value: false},
		{key: "enableServiceLinks", value: false},
		{key: "securityContext", value: securityOfPod()},
	}
	if len(k.o.NodeLabel) > 0 {
		spec = spec.with("nodeSelector", labelsOf(k.o.NodeLabel))
	}
	if len(k.o.ServerLabel) > 0 {
		spec = append(spec, field{"affinity", k.antiAffinity(),
			"Not on a node (topologyKey) with a pod of the server: it would share cores and network with it."})
	}
	if r == works {
		spec = append(spec, field{"topologySpreadConstraints", k.spread(),
			"On different nodes if there are enough: two workers of one node share its network."})
	}
	containers := []any{k.container(r)}
	if r == sweeps && k.o.Volume == "" {
		containers = append(containers, k.holder())
	}
	spec = spec.with("containers", containers).with("volumes", k.volumes(r))
	return object{{key: "metadata", value: object{{key: "labels", value: k.labels(string(r))}}}, {key: "spec", value: spec}}
}

func securityOfPod() object {
	return object{
		{key: "runAsNonRoot", value: true}, {key: "runAsUser", value: user}, {key: "runAsGroup", value: user},
		{key: "fsGroup", value: user}, {key: "fsGroupChangePolicy", value: "OnRootMismatch"},
		{key: "seccompProfile", value: object{{key: "type", value: "RuntimeDefault"}}},
	}
}

func securityOfContainer() object {
	return object{
		{key: "allowPrivilegeEscalation", value: false}, {key: "readOnlyRootFilesystem", value: true},
		{key: "capabilities", value: object{{key: "drop", value: []any{"ALL"}}}},
	}
}

// resources are requests equal to limits: QoS Guaranteed, which no neighbour slows and which the kubelet's static CPU
// manager pins if cpu is whole.
func resources(cpu, memory string) object {
	amount := object{{key: "cpu", value: cpu}, {key: "memory", value: memory}}
	return object{{key: "requests", value: amount}, {key: "limits", value: amount}}
}

func (k *Manifests) antiAffinity() object {
	term := object{
		{key: "topologyKey", value: "kubernetes.io/hostname"},
		{key: "labelSelector", value: object{{key: "matchLabels", value: labelsOf(k.o.ServerLabel)}}},
		{key: "namespaceSelector", value: object{}, comment: "in any namespace"},
	}
	return object{{key: "podAntiAffinity", value: object{{key: "requiredDuringSchedulingIgnoredDuringExecution", value: []any{term}}}}}
}

// spread is a wish, not a demand: nodes that are closed to the workers count as empty, so that a demand could never
// be met.
func (k *Manifests) spread() []any {
	return []any{object{
		{key: "maxSkew", value: 1}, {key: "topologyKey", value: "kubernetes.io/hostname"}, {key: "whenUnsatisfiable", value: "ScheduleAnyway"},
		{key: "labelSelector", value: object{{key: "matchLabels", value: k.labels(string(works))}}},
	}}
}

func labelsOf(list []Label) object {
	var o object
	for _, l := range list {
		o = o.with(l.Key, l.Value)
	}
	return o
}

// container is the one that runs bench.
func (k *Manifests) container(r role) object {
	o := object{{key: "name", value: "bench"}, {key: "image", value: k.o.Image}}
	if r == nightly {
		o = o.with("command", []any{"sh", path.Join(workDir, scriptName)}).with("workingDir", resultsDir)
	} else {
		o = o.with("workingDir", workDir)
	}
	o = o.with("args", texts(k.args(r)))
	if env := k.env(r); len(env) > 0 {
		o = o.with("env", env)
	}
	if ports := k.ports(r); len(ports) > 0 {
		o = o.with("ports", ports)
	}
	o = o.with("resources", resources(strconv.Itoa(k.o.CPU), k.o.Memory)).with("securityContext", securityOfContainer())
	return o.with("volumeMounts", k.mounts(r))
}

// args are the arguments of bench, or of the nightly script.
func (k *Manifests) args(r role) []string {
	switch r {
	case nightly:
		return []string{podPath(k.m.File), k.endpoint(), resultsDir}
	case works:
		return []string{"work", "--join", "http://" + k.o.Name + ":" + strconv.Itoa(joinPort)}
	}
	args := []string{"sweep", k.matrixPath()}
	if k.o.Resume == "" {
		args = append(args, "--out", resultsDir)
	}
	if k.o.Endpoint != "" {
		args = append(args, "--endpoint", k.o.Endpoint)
	}
	if k.o.Workers > 0 {
		args = append(args, "--workers", strconv.Itoa(k.o.Workers), "--listen", "0.0.0.0:"+strconv.Itoa(joinPort))
	}
	if k.o.Dashboard != nil {
		args = append(args, "--metrics-listen", "0.0.0.0:"+strconv.Itoa(metricsPort))
	}
	return append(args, k.o.Args...)
}

// env are the secrets of bench.
func (k *Manifests) env(r role) (env []any) {
	add := func(name, secret, key string) {
		ref := object{{key: "name", value: secret}, {key: "key", value: key}}
		env = append(env, object{{key: "name", value: name}, {key: "valueFrom", value: object{{key: "secretKeyRef", value: ref}}}})
	}
	if k.o.Secret != "" {
		add("OPENAI_API_KEY", k.o.Secret, k.o.Key)
	}
	if k.o.Workers > 0 {
		add("BENCH_TOKEN", k.o.TokenSecret, k.o.TokenKey)
	}
	return env
}

func (k *Manifests) ports(r role) (ports []any) {
	add := func(name string, port int) {
		ports = append(ports, object{{key: "name", value: name}, {key: "containerPort", value: port}})
	}
	if r == sweeps && k.o.Workers > 0 {
		add(joinName, joinPort)
	}
	if r == sweeps && k.o.Dashboard != nil {
		add(metricsName, metricsPort)
	}
	return ports
}

// Names of ports.
const (
	joinName    = "join"
	metricsName = "metrics"
)

// mounts are the places of the container of bench. Each file has a mount of its own, so that it is where the matrix
// names it, and does not change during the run.
func (k *Manifests) mounts(r role) []any {
	list := []any{mount("temp", tempDir)}
	if r == works {
		return list // the leader sends the files
	}
	list = append(list, resultsMount())
	for _, f := range k.files {
		list = append(list, mount("matrix", f.path).with("subPath", f.key).with("readOnly", true))
	}
	for i, d := range k.o.Data {
		list = append(list, mount(dataVolume(i), podPath(d.Dir)).with("readOnly", true))
	}
	return list
}

func mount(volume, at string) object {
	return object{{key: "name", value: volume}, {key: "mountPath", value: at}}
}

func resultsMount() object { return mount("results", resultsDir) }

func dataVolume(i int) string { return "data-" + strconv.Itoa(i) }

// claimed is a volume of a PersistentVolumeClaim.
func claimed(name, claim string) object {
	return object{{key: "name", value: name}, {key: "persistentVolumeClaim", value: object{{key: "claimName", value: claim}}}}
}

func (k *Manifests) volumes(r role) []any {
	empty := func(name string) object {
		return object{{key: "name", value: name}, {key: "emptyDir", value: object{}}}
	}
	list := []any{empty("temp")}
	if r == works {
		return list
	}
	if k.o.Volume != "" {
		list = append(list, claimed("results", k.o.Volume))
	} else {
		list = append(list, empty("results"))
	}
	list = append(list, object{{key: "name", value: "matrix"}, {key: "configMap", value: object{{key: "name", value: k.o.Name}}}})
	for i, d := range k.o.Data {
		list = append(list, claimed(dataVolume(i), d.Claim))
	}
	return list
}

// holder is a container that keeps the pod, and so its results, until they are fetched, or for a time after their last
// change: a sweep can take longer. It looks once a minute. The image of bench has no tar for that.
func (k *Manifests) holder() object {
	script := `trap exit TERM; n=0; until [ -e ` + fetched + ` ] || [ $n -ge ` + strconv.Itoa(seconds(k.o.Keep)) + ` ]; do ` +
		`sleep 1; n=$((n+1)); if [ $((n % 60)) = 0 ] && find ` + resultsDir + ` -mmin -2 | grep -q .; then n=0; fi; done`
	return object{
		{key: "name", value: "results"}, {key: "image", value: k.o.Helper},
		{key: "command", value: []any{"sh", "-c", script}},
		{key: "resources", value: resources("10m", "32Mi")}, {key: "securityContext", value: securityOfContainer()},
		{key: "volumeMounts", value: []any{resultsMount()}},
	}
}

// leastKeep is long enough for the holder to see a change.
const leastKeep = 5 * time.Minute

// fetched is the file that ends the holder.
const fetched = resultsDir + "/.fetched"
