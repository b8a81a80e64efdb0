package kube

import (
	"fmt"
	"strings"
	"time"

	"bench/experiment/safetext"
	"bench/experiment/unit"
)

// notes are the commands that use the objects, as comments.
func (k *Manifests) notes() string {
	var b strings.Builder
	say := func(format string, args ...any) {
		for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			b.WriteString(strings.TrimRight("# "+safetext.Escape(line), " ") + "\n")
		}
	}
	say("Made by: %s", safetext.ShellWords(k.o.Command))
	if k.o.Secret != "" {
		say("API key: %s", k.kubectl("create", "secret", "generic", k.o.Secret, "--from-file="+k.o.Key+"=FILE"))
	}
	if k.o.Workers > 0 {
		say("Token:   %s --from-literal=%s=\"$(openssl rand -hex 32)\"", k.kubectl("create", "secret", "generic", k.o.TokenSecret), k.o.TokenKey)
	}
	say("Start:   save this text as %s.yaml, then", k.o.Name)
	say("         %s    (without --server-side a ConfigMap above 256 KiB is refused)", k.kubectl("apply", "--server-side", "-f", k.o.Name+".yaml"))
	switch {
	case k.o.Cron != "":
		say("Now:     %s", k.kubectl("create", "job", k.o.Name+"-now", "--from=cronjob/"+k.o.Name))
		say("The image needs sh and flock beside bench: docs/kubernetes.md.")
	default:
		say("Follow:  %s", k.kubectl("logs", "-f", "job/"+k.o.Name, "-c", "bench"))
		if k.o.Workers > 0 {
			say("         %s", k.kubectl("logs", "--prefix", "--tail", "20", "-l", "job-name="+k.o.Name+"-workers"))
		}
	}
	if k.o.Dashboard != nil {
		say("Monitor: if your Prometheus selects monitors by a label, e.g. release: %s", k.kubectl("label", "podmonitor/"+k.o.Name, "release=prometheus"))
	}
	k.fetch(say)
	if k.o.Cron == "" {
		say("Again:   %s, then start", k.kubectl("delete", k.jobs()...))
	}
	if len(k.o.ServerLabel) == 0 && k.endpoint() != "" {
		say("Without --server-label the pod can land on the server's node, and take its cores.")
	}
	if len(k.endpoints()) == 0 {
		say("It measures the simulated server inside the pod: --endpoint names a real one.")
	}
	return b.String()
}

// fetch prints how results leave the cluster: through tar in a pod that has it.
func (k *Manifests) fetch(say func(format string, args ...any)) {
	tar := []string{"--", "tar", "cf", "-", "-C", resultsDir, "./" + k.m.Name}
	into := "mkdir -p results && %s | tar xf - -C results"
	if k.o.Volume == "" {
		pod := []string{"job/" + k.o.Name, "-c", "results"}
		say("Results: "+into, k.kubectl("exec", append(pod, tar...)...))
		say("         %s", k.kubectl("exec", append(pod, "--", "touch", fetched)...))
		say("         They stay in the pod until then, at most %s after their last change: --keep.", unit.Clock(k.o.Keep))
		if k.o.Deadline > 0 {
			say("         --deadline ends the pod, and they are lost: with --volume they are not.")
		}
		return
	}
	pod := k.o.Name + "-results"
	say("Results: %s", k.kubectl("run", pod, "--image="+k.o.Helper, "--restart=Never", "--overrides="+k.helperPod(pod)))
	say("         %s", k.kubectl("wait", "--for=condition=Ready", "pod/"+pod))
	say("         "+into, k.kubectl("exec", append([]string{pod}, tar...)...))
	say("         %s", k.kubectl("delete", "pod", pod))
}

// jobs are the names of all Jobs, as kubectl takes them.
func (k *Manifests) jobs() []string {
	if k.o.Workers > 0 {
		return []string{"job/" + k.o.Name, "job/" + k.o.Name + "-workers"}
	}
	return []string{"job/" + k.o.Name}
}

// kubectl is a command line in the namespace of the objects. It goes before the arguments: after -- it would be one of
// the container's.
func (k *Manifests) kubectl(verb string, args ...string) string {
	words := []string{"kubectl"}
	if k.o.Namespace != "" {
		words = append(words, "-n", k.o.Namespace)
	}
	return safetext.ShellWords(append(append(words, verb), args...))
}

// helperPod is a pod that mounts the results, in JSON: bench's own image has no tar.
func (k *Manifests) helperPod(name string) string {
	container := object{
		{key: "name", value: name}, {key: "image", value: k.o.Helper},
		{key: "command", value: []any{"sleep", fmt.Sprint(int(time.Hour / time.Second))}},
		{key: "securityContext", value: securityOfContainer()}, {key: "volumeMounts", value: []any{resultsMount()}},
	}
	return compact(object{{key: "apiVersion", value: "v1"}, {key: "spec", value: object{
		{key: "securityContext", value: securityOfPod()}, {key: "containers", value: []any{container}}, {key: "volumes", value: []any{claimed("results", k.o.Volume)}},
	}}})
}
