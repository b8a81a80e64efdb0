// Package kube writes the Kubernetes objects that run a matrix in a cluster: a ConfigMap with the matrix and its files,
// and a Job, a CronJob, or a leader's Job with an Indexed Job of load workers; with a PodMonitor and a Grafana
// dashboard if asked. Its steps: New checks the options against the matrix (check, files), Text writes the YAML and,
// above it, the commands to apply it and to fetch its results (pod, job, workers, monitor, notes).
//
// It talks to no cluster.
package kube

import (
	"slices"
	"time"

	"bench/sweep"
)

// Options are what the matrix does not contain. The zero value of a field without a comment is an error.
type Options struct {
	Image     string // of bench
	Name      string // of the objects; empty: bench- and the matrix's name
	Namespace string // empty: the kubectl command's
	Endpoint  string // empty: the matrix's
	// Secret and Key name the API key; an empty Secret: the server needs none.
	Secret, Key string
	Volume      string   // PersistentVolumeClaim for results; empty: they stay in the pod until it ends
	Data        []Data   // claims with files that the matrix names
	ServerLabel []Label  // of the server's pods, to stay off their nodes; empty: not specified
	NodeLabel   []Label  // of the nodes to run on; empty: any
	CPU         int      // cores of each pod
	Memory      string   // of each pod
	Args        []string // further arguments of bench sweep; nil: none
	Resume      string   // directory of the run that Args resume; empty: a new run
	Files       []string // that Args name; nil: none
	Only        []string // patterns of rows, of --only in Args; nil: all rows

	Helper string        // image with sh and tar, to fetch results with
	Keep   time.Duration // without Volume: how long the pod keeps its results after their last change
	TTL    time.Duration // how long finished Jobs stay

	Cron     string        // schedule; empty: run once
	Script   string        // deploy/bench-nightly, for Cron
	Deadline time.Duration // of a Job; 0 = none

	Workers     int    // load workers; 0 = the Job sends the load itself
	TokenSecret string // of the workers' token; empty: Name-token
	TokenKey    string

	Dashboard []byte // of Grafana, printed with a PodMonitor; nil: neither

	Command []string // the command line, for the notes
}

// Data is a claim that is mounted at a directory.
type Data struct{ Claim, Dir string }

// Label is a label of Kubernetes.
type Label struct{ Key, Value string }

// Manifests are the objects of a matrix, checked.
type Manifests struct {
	o     Options
	m     *sweep.Matrix
	files []file
}

// New checks the options, and reads the files that the matrix names. The error lists every mistake with a hint.
func New(m *sweep.Matrix, o Options) (*Manifests, error) {
	if o.Name == "" {
		o.Name = nameOf(m.Name)
	}
	k := &Manifests{o: o, m: m}
	var p problems
	k.check(&p)
	if o.TokenSecret == "" {
		k.o.TokenSecret = o.Name + "-token"
	}
	k.read(&p)
	return k, p.err()
}

// Text is the YAML, with the commands that use it as comments.
func (k *Manifests) Text() []byte {
	objects := []object{k.configMap()}
	switch {
	case k.o.Cron != "":
		objects = append(objects, k.cronJob())
	case k.o.Workers > 0:
		objects = append(objects, k.service(), k.job(), k.workers())
	default:
		objects = append(objects, k.job())
	}
	if k.o.Dashboard != nil {
		objects = append(objects, k.podMonitor(), k.dashboard())
	}
	return append([]byte(k.notes()), encode(objects)...)
}

// Places in a pod.
const (
	workDir    = "/home/bench" // what names of files in the matrix are relative to
	resultsDir = "/results"
	tempDir    = "/tmp"
)

// Ports of a pod.
const (
	joinPort    = 9470
	metricsPort = 9464
)

// head is the beginning of an object. more are its labels beside those of all objects.
func (k *Manifests) head(version, kind, suffix string, more ...Label) object {
	meta := object{{key: "name", value: k.o.Name + suffix}}
	if k.o.Namespace != "" {
		meta = meta.with("namespace", k.o.Namespace)
	}
	return object{{key: "apiVersion", value: version}, {key: "kind", value: kind},
		{key: "metadata", value: meta.with("labels", slices.Concat(k.labels(""), labelsOf(more)))}}
}

// labels identify the objects, and with a role its pods.
func (k *Manifests) labels(role string) object {
	l := object{{key: "app.kubernetes.io/name", value: "bench"}, {key: "app.kubernetes.io/instance", value: k.o.Name}}
	if role != "" {
		l = l.with("app.kubernetes.io/component", role)
	}
	return l
}
