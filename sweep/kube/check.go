package kube

import (
	"errors"
	"fmt"
	"math"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"bench/experiment/target"
	"bench/sweep"
)

// problems are mistakes, each with a hint.
type problems []string

func (p *problems) add(hint, format string, args ...any) {
	*p = append(*p, fmt.Sprintf(format, args...)+"\nhint: "+hint)
}

// err is all of them; nil: none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return errors.New(strings.Join(p, "\nerror: "))
}

// check reports mistakes in the options, and a matrix that cannot run in a pod.
func (k *Manifests) check(p *problems) {
	o := &k.o
	switch {
	case o.Image == "":
		p.add("build deploy/Dockerfile, push it, and write --image registry/bench:tag", "missing --image")
	case !image(o.Image):
		p.add("write --image registry/bench:tag", "--image %q is not an image", o.Image)
	}
	if !image(o.Helper) {
		p.add("write --helper-image busybox:1.37", "--helper-image %q is not an image", o.Helper)
	}
	if !label(o.Name) || len(o.Name) > longestName {
		p.add("use at most 40 lower-case letters, digits and dashes", "--name %q cannot name a Job", o.Name)
	}
	if o.Namespace != "" && (!label(o.Namespace) || len(o.Namespace) > 63) {
		p.add("kubectl get namespaces", "--namespace %q is not a namespace", o.Namespace)
	}
	for _, n := range []struct{ flag, name, key string }{{"--secret", o.Secret, o.Key}, {"--token-secret", o.TokenSecret, o.TokenKey}, {"--volume", o.Volume, ""}} {
		const hint = "write the name that kubectl get shows, for a Secret also NAME:KEY"
		if n.name != "" && !isName(n.name) {
			p.add(hint, "%s %q is not a name", n.flag, n.name)
		}
		if n.name != "" && n.key != "" && !dataKey(n.key) {
			p.add(hint, "%s: %q is not a key of a Secret", n.flag, n.key)
		}
	}
	for _, l := range slices.Concat(o.ServerLabel, o.NodeLabel) {
		if !labelKey(l.Key) || !labelText(l.Value) {
			p.add("write --server-label app=vllm, as kubectl get pods --show-labels shows it", "%q is not a label", l.Key+"="+l.Value)
		}
	}
	if o.CPU < 1 {
		p.add("write --cpu 4: whole cores can be pinned", "--cpu %d is not a number of cores", o.CPU)
	}
	if !quantity(o.Memory) {
		p.add("write --memory 4Gi", "--memory %q is not a size", o.Memory)
	}
	if o.Volume == "" && o.Resume != "" {
		p.add("add --volume CLAIM", "--resume needs the volume with the run")
	}
	if o.Resume != "" && !below(path.Clean(o.Resume), resultsDir) {
		p.add("write --resume "+resultsDir+"/MATRIX/START, as kubectl logs shows it", "--resume %s is not in the volume, which is mounted at %s", o.Resume, resultsDir)
	}
	k.checkData(p)
	k.checkTimes(p)
	k.checkMode(p)
	k.checkMatrix(p)
}

// below reports whether a path is below a directory.
func below(at, dir string) bool { return strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/") }

// checkData reports claims at places that hide others, or that hold no file of the matrix.
func (k *Manifests) checkData(p *problems) {
	taken := []string{workDir, tempDir, resultsDir}
	for _, d := range k.o.Data {
		if !isName(d.Claim) || d.Dir == "" {
			p.add("write --data CLAIM:DIR, the directory as the matrix names it", "--data %q is not a claim with a directory", d.Claim+":"+d.Dir)
			continue
		}
		at := podPath(d.Dir)
		hides := func(dir string) bool { return at == dir || below(dir, at) }
		inDir := func(name string) bool { return below(podPath(name), at) }
		switch {
		case slices.ContainsFunc(taken, hides), below(at, tempDir), below(at, resultsDir):
			p.add("put the files into a directory of their own, and name it in the matrix", "--data %s:%s would be mounted over another directory of the pod", d.Claim, d.Dir)
		case inDir(k.m.File):
			p.add("move the matrix out of it", "--data %s:%s has the matrix in it, which is mounted on its own", d.Claim, d.Dir)
		case !slices.ContainsFunc(slices.Concat(k.m.Files, k.o.Files), inDir):
			p.add("write the directory as the matrix names it", "--data %s:%s: the matrix names no file there", d.Claim, d.Dir)
		}
		taken = append(taken, at)
	}
}

// checkTimes reports times that Kubernetes refuses.
func (k *Manifests) checkTimes(p *problems) {
	for _, x := range []struct {
		flag string
		time time.Duration
		none bool // 0 stands for none
	}{{"--ttl", k.o.TTL, false}, {"--deadline", k.o.Deadline, true}, {"--keep", k.o.Keep, false}} {
		if x.none && x.time == 0 {
			continue
		}
		if x.time < time.Second || x.time%time.Second != 0 || seconds(x.time) > math.MaxInt32 {
			p.add("write "+x.flag+" 3h", "%s %s is not a time of whole seconds, at least 1s", x.flag, x.time)
		}
	}
	if k.o.Volume == "" && k.o.Keep > 0 && k.o.Keep < leastKeep {
		p.add("write --keep 24h", "--keep %s is less than %s", k.o.Keep, leastKeep)
	}
}

// checkMode reports options that exclude each other.
func (k *Manifests) checkMode(p *problems) {
	o := &k.o
	if o.Workers == 0 && o.TokenSecret != "" {
		p.add("add --workers 4", "--token-secret needs --workers")
	}
	if o.Workers > 0 && len(k.endpoints()) == 0 {
		p.add("write --endpoint http://vllm:8000", "--workers needs a server that all pods reach, not the simulated one")
	}
	if o.Cron == "" {
		return
	}
	if !isSchedule(o.Cron) {
		p.add(`write --cron "30 2 * * *": minute, hour, day, month, weekday`, "--cron %q is not a schedule", o.Cron)
	}
	if o.Workers > 0 {
		p.add("omit one", "--cron and --workers exclude each other")
	}
	if o.Volume == "" {
		p.add("add --volume CLAIM", "--cron compares nights, and has no place for their results")
	}
	if len(o.Args) > 0 {
		p.add("omit them; docs/nightly.md has the job", "--cron takes no further arguments of bench sweep")
	}
	if k.m.Name != nightlyName {
		p.add(`write name = "nightly" in its first line`, "--cron takes a matrix named nightly, not %s", k.m.Name)
	}
	if o.Dashboard != nil {
		p.add("omit one", "--cron and --monitor exclude each other")
	}
}

// nightlyName is the name of the matrix that deploy/bench-nightly runs.
const nightlyName = "nightly"

// checkMatrix reports a matrix that cannot run in a pod.
func (k *Manifests) checkMatrix(p *problems) {
	m := k.m
	if len(m.Server.Command) > 0 {
		p.add("deploy the server, remove [server], and write --endpoint http://vllm:8000",
			"[server] starts a server, and the pod of bench has no GPU and no program but bench")
	}
	for _, e := range k.endpoints() {
		if local, err := loopback(e); err != nil {
			p.add("write --endpoint http://vllm:8000", "%v", err)
		} else if local {
			p.add("write --endpoint http://SERVICE.NAMESPACE.svc:8000", "the endpoint %s is on this machine: a pod does not reach it", target.Redact(e))
		}
		if target.Redact(e) != e {
			p.add("write the key into a Secret: --secret NAME", "the endpoint %s contains a password, which the objects would show", target.Redact(e))
		}
	}
	for _, e := range k.classEndpoints() {
		if local, err := loopback(e); err == nil && local { // sweep.Parse has refused what is no URL, or contains a password
			p.add(`write endpoint = "http://SERVICE.NAMESPACE.svc:8000" in its class`, "the endpoint %s of a class is on this machine: a pod does not reach it", e)
		}
	}
	if k.o.Endpoint != "" && m.Varies() && len(m.Server.Command) == 0 {
		p.add("omit --endpoint, or leave one endpoint in the matrix", "--endpoint cannot replace several endpoints")
	}
	if proxy := m.Target.Proxy; target.Redact(proxy) != proxy {
		p.add("name a proxy that needs no password", "the proxy %s contains a password, which the ConfigMap would show", target.Redact(proxy))
	}
	for name := range m.Target.Headers {
		if target.IsSecretHeader(name) {
			p.add("remove it; an API key is in a Secret: --secret NAME", "the header %q contains a secret, which the ConfigMap would show", name)
		}
	}
	if k.o.Cron != "" && k.endpoint() == "" {
		p.add("write --endpoint http://vllm:8000", "--cron needs the server's address")
	}
}

// classEndpoints are the servers of classes in the rows to run. --endpoint does not replace them.
func (k *Manifests) classEndpoints() []string {
	rows := k.m.Points[:0:0]
	for i := range k.m.Points {
		// A bad pattern is reported by who runs the rows.
		if ok, err := sweep.Match(&k.m.Points[i], k.o.Only); err == nil && ok {
			rows = append(rows, k.m.Points[i])
		}
	}
	return k.m.ClassEndpoints(rows)
}

// endpoints are the servers under test; without the simulated one, and without those of classes.
func (k *Manifests) endpoints() []string {
	all := slices.Concat([]string{k.m.Target.Endpoint}, k.m.Target.Endpoints, k.m.Target.Replicas)
	if k.o.Endpoint != "" {
		all = []string{k.o.Endpoint}
	}
	return slices.DeleteFunc(all, func(e string) bool { return e == "" || e == "mock" })
}

// endpoint is the one server under test; empty: there are several, or the simulated one.
func (k *Manifests) endpoint() string {
	if all := k.endpoints(); len(all) == 1 {
		return all[0]
	}
	return ""
}

// loopback reports whether an endpoint is on the machine of who asks.
func loopback(endpoint string) (bool, error) {
	base, err := target.BaseURL(endpoint)
	if err != nil {
		return false, err
	}
	u, _, err := target.SplitUser(base)
	if err != nil {
		return false, err
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()), nil
}
