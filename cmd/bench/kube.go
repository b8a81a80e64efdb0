package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	tree "bench"
	"bench/experiment/mock"
	"bench/sweep/kube"
)

// kubeFlags are the flags of `bench kube`, as typed.
type kubeFlags struct {
	kube.Options
	secret, token        string
	data, servers, nodes []string
	monitor              bool
}

func newKube(c *cli) *cobra.Command {
	f := &kubeFlags{}
	cmd := &cobra.Command{
		Use:   "kube MATRIX [-- SWEEP-FLAG…]",
		Short: "print Kubernetes objects that run a matrix in a cluster",
		Long: `kube prints YAML for kubectl: a ConfigMap with the matrix and the files that it names, and a Job that runs bench sweep.
Comments at its top are the commands to start it and to fetch results. It talks to no cluster.
With --workers a leader and an Indexed Job of load workers; with --cron the nightly job of docs/nightly.md.`,
		Example: `  bench kube matrices/chat.toml --image registry/bench:v1 --endpoint http://vllm:8000 | kubectl apply --server-side -f -
  bench kube chat.toml --image registry/bench:v1 --server-label app=vllm --secret vllm-key:api-key --volume results
  bench kube chat.toml --image registry/bench:v1 -- --only 'D-*' --enforce      flags of bench sweep
  bench kube chat.toml --image registry/bench:v1 --workers 4 --monitor
  bench kube nightly.toml --image registry/bench-sh:v1 --cron "30 2 * * *" --volume results --endpoint http://vllm:8000`,
		Args: positional(oneBeforeDash),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.kube(cmd, f, args[0], args[1:])
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// oneBeforeDash takes one argument, and any number after --.
func oneBeforeDash(cmd *cobra.Command, args []string) error {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		args = args[:at]
	}
	return cobra.ExactArgs(1)(cmd, args)
}

func (f *kubeFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.Image, "image", "", "`IMAGE` of bench, built from deploy/Dockerfile")
	fl.StringVar(&f.Name, "name", "", "name of the objects (default: bench- and the matrix's name)")
	fl.StringVar(&f.Namespace, "namespace", "", "namespace of the objects (default: kubectl's)")
	fl.StringVar(&f.Endpoint, "endpoint", "", "server under test, as a pod reaches it (default: [target] endpoint)")
	fl.StringVar(&f.secret, "secret", "", "Secret with the API key: `NAME[:KEY]` (default key: api-key)")
	fl.StringVar(&f.Volume, "volume", "", "`CLAIM` for results (default: they stay in the pod until they are fetched)")
	fl.StringArrayVar(&f.data, "data", nil, "`CLAIM:DIR` with files of the matrix that are too large for a ConfigMap (repeatable)")
	fl.StringArrayVar(&f.servers, "server-label", nil, "`KEY=VALUE` of the server's pods: bench stays off their nodes (repeatable)")
	fl.StringArrayVar(&f.nodes, "node-label", nil, "`KEY=VALUE` of the nodes to run on (repeatable)")
	fl.IntVar(&f.CPU, "cpu", 4, "cores of each pod: its request and its limit")
	fl.StringVar(&f.Memory, "memory", "4Gi", "memory of each pod, `SIZE`: its request and its limit")
	fl.StringVar(&f.Helper, "helper-image", "busybox:1.37", "`IMAGE` with sh and tar, to fetch results with")
	fl.DurationVar(&f.Keep, "keep", 24*time.Hour, "without --volume: how long the pod keeps its results after their last change")
	fl.DurationVar(&f.TTL, "ttl", 24*time.Hour, "how long finished jobs stay")
	fl.DurationVar(&f.Deadline, "deadline", 0, "`TIME` after which a job is ended (default: none; with --cron 3h)")
	fl.StringVar(&f.Cron, "cron", "", `nightly job at a schedule, e.g. "30 2 * * *"; IMAGE needs sh and flock`)
	fl.IntVar(&f.Workers, "workers", 0, "number of load workers, each a pod; the sweep leads them")
	fl.StringVar(&f.token, "token-secret", "", "Secret with the workers' token: `NAME[:KEY]` (default: the objects' name with -token; key: token)")
	fl.BoolVar(&f.monitor, "monitor", false, "print a PodMonitor (Prometheus operator) and a Grafana dashboard, too")
}

func (c *cli) kube(cmd *cobra.Command, f *kubeFlags, file string, more []string) error {
	if err := checkNumber(cmd.Flags(), f.Workers); err != nil {
		return err
	}
	o := f.Options
	swept := &sweepFlags{}
	var err error
	if o.Args = more; len(more) > 0 {
		if o.Files, err = c.sweepArgs(swept, more); err != nil {
			return err
		}
	}
	o.Resume, o.Only = swept.resume, swept.only
	if o.Secret, o.Key, _ = strings.Cut(f.secret, ":"); o.Key == "" {
		o.Key = "api-key"
	}
	if o.TokenSecret, o.TokenKey, _ = strings.Cut(f.token, ":"); o.TokenKey == "" {
		o.TokenKey = "token"
	}
	for _, d := range f.data {
		claim, dir, _ := strings.Cut(d, ":")
		o.Data = append(o.Data, kube.Data{Claim: claim, Dir: dir})
	}
	o.ServerLabel, o.NodeLabel = labels(f.servers), labels(f.nodes)
	if f.monitor {
		o.Dashboard = tree.Dashboard
	}
	if o.Cron != "" {
		if o.Script = tree.Nightly; !cmd.Flags().Changed("deadline") {
			o.Deadline = 3 * time.Hour
		}
	}
	o.Command = append([]string{"bench"}, c.args...) // New refuses secrets
	return c.printKube(cmd.Context(), file, swept, o)
}

// printKube refuses what the sweep in the pod would refuse.
func (c *cli) printKube(ctx context.Context, file string, swept *sweepFlags, o kube.Options) error {
	models, hardware, err := swept.tables.read(c.stderr)
	if err != nil {
		return err
	}
	m, err := readMatrix(ctx, file, swept.set, &mock.Config{Models: models, Devices: hardware})
	if err != nil {
		return err
	}
	k, err := kube.New(m, o)
	if err != nil {
		return usage("%w", err)
	}
	picked, err := pickRows(m, swept.only)
	if err != nil {
		return err
	}
	swept.lead.workers = o.Workers
	if err := swept.lead.checkWorkers(m, picked); err != nil {
		return err
	}
	_, err = c.stdout.Write(k.Text())
	return err
}

func labels(words []string) (list []kube.Label) {
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			key, value = "", w // which is no label
		}
		list = append(list, kube.Label{Key: key, Value: value})
	}
	return list
}

// setByKube are flags of bench sweep that the objects set, and those that make no sense in a pod.
var setByKube = []string{"out", "endpoint", "workers", "listen", "metrics-listen", "token-file", "tls-cert", "tls-key",
	"api-key", "api-key-env", "api-key-file", "help"}

// sweepArgs reads arguments of bench sweep, and returns the files that they name.
func (c *cli) sweepArgs(into *sweepFlags, args []string) (files []string, err error) {
	sweeps := sweepCommand(c, into)
	fl := sweeps.Flags()
	sweeps.InitDefaultHelpFlag()
	if err := fl.Parse(args); err != nil {
		return nil, usage("after --: %w\nhint: bench sweep --help", err)
	}
	if fl.NArg() > 0 {
		return nil, usage("after -- come flags of bench sweep, got: %s\nhint: bench sweep --help", fl.Arg(0))
	}
	fl.Visit(func(flag *pflag.Flag) {
		switch {
		case slices.Contains(setByKube, flag.Name):
			err = usage("--%s of bench sweep is set by bench kube\nhint: bench kube --help", flag.Name)
		case strings.HasSuffix(flag.Name, "-configs"):
			files = append(files, fmt.Sprint(flag.Value))
		}
	})
	return files, err
}
