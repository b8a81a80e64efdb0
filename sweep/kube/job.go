package kube

import (
	"strconv"
	"time"
)

// job is the Job that sweeps, also as the leader of workers.
func (k *Manifests) job() object {
	return k.head("batch/v1", "Job", "").with("spec", append(object{
		{key: "backoffLimit", value: 0, comment: "A failed sweep is not repeated: it would load the server again. --resume goes on."},
		{key: "ttlSecondsAfterFinished", value: seconds(k.o.TTL)},
	}, k.jobSpec(sweeps)...))
}

// jobSpec is the end of a Job's specification.
func (k *Manifests) jobSpec(r role) (spec object) {
	if k.o.Deadline > 0 {
		spec = spec.with("activeDeadlineSeconds", seconds(k.o.Deadline))
	}
	return spec.with("template", k.template(r))
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// cronJob runs deploy/bench-nightly. The image needs a shell with flock.
func (k *Manifests) cronJob() object {
	job := append(object{{key: "backoffLimit", value: 0}}, k.jobSpec(nightly)...)
	return k.head("batch/v1", "CronJob", "").with("spec", object{
		{key: "schedule", value: k.o.Cron},
		{key: "concurrencyPolicy", value: "Forbid"},
		{key: "startingDeadlineSeconds", value: 3600, comment: "a night that cannot start in an hour is left out"},
		{key: "jobTemplate", value: object{{key: "spec", value: job}}},
	})
}

// service gives the leader's pod a name for its workers. It is headless: there is one pod, and no proxy between.
func (k *Manifests) service() object {
	return k.head("v1", "Service", "").with("spec", object{
		{key: "clusterIP", value: "None"},
		{key: "publishNotReadyAddresses", value: true},
		{key: "selector", value: k.labels(string(sweeps))},
		{key: "ports", value: []any{object{{key: "name", value: joinName}, {key: "port", value: joinPort}}}},
	})
}

// workers is the Indexed Job of the load workers.
func (k *Manifests) workers() object {
	n := k.o.Workers
	retry := object{
		{key: "rules", value: []any{
			object{{key: "action", value: "FailJob"}, {key: "onExitCodes", value: object{
				{key: "containerName", value: "bench"}, {key: "operator", value: "In"}, {key: "values", value: []any{2}}}}},
			object{{key: "action", value: "Ignore"}, {key: "onPodConditions", value: []any{
				object{{key: "type", value: "DisruptionTarget"}, {key: "status", value: "True"}}}}},
		}},
	}
	spec := object{
		{key: "completionMode", value: "Indexed", comment: strconv.Itoa(n) + " pods; JOB_COMPLETION_INDEX is the worker's number"},
		{key: "completions", value: n},
		{key: "parallelism", value: n},
		{key: "backoffLimit", value: 2 * n, comment: "A worker that dies is replaced, and the leader repeats the row."},
		{key: "podFailurePolicy", value: retry, comment: "but not after a usage error (2); a drained node does not count"},
		{key: "ttlSecondsAfterFinished", value: seconds(k.o.TTL)},
	}
	return k.head("batch/v1", "Job", "-workers").with("spec", append(spec, k.jobSpec(works)...))
}

// podMonitor has the Prometheus operator scrape the sweep. Its schema: monitoring.coreos.com/v1, PodMonitor.
func (k *Manifests) podMonitor() object {
	return k.head("monitoring.coreos.com/v1", "PodMonitor", "").with("spec", object{
		{key: "selector", value: object{{key: "matchLabels", value: k.labels(string(sweeps))}}},
		{key: "podMetricsEndpoints", value: []any{object{{key: "port", value: metricsName}, {key: "interval", value: "5s"}}}},
	})
}

// dashboard is a ConfigMap as the sidecar of Grafana's chart finds it.
func (k *Manifests) dashboard() object {
	o := k.head("v1", "ConfigMap", "-dashboard", Label{"grafana_dashboard", "1"})
	return o.with("data", object{{key: "bench.json", value: string(k.o.Dashboard)}})
}
