#!/usr/bin/env python3
"""Writes the schemas beside it, strict and without descriptions, in the layout that kubeconform reads:

    go mod download sigs.k8s.io/kubectl-validate@v0.0.4 github.com/prometheus-operator/prometheus-operator@v0.82.0
    m=$(go env GOMODCACHE); ./generate.py $m/sigs.k8s.io/kubectl-validate@v0.0.4 $m/github.com/prometheus-operator/prometheus-operator@v0.82.0

Of Kubernetes 1.30 and the Prometheus operator 0.82, both under the Apache License 2.0.
"""
import json
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).parent
KINDS = {"persistentvolumeclaim-v1": "io.k8s.api.core.v1.PersistentVolumeClaim", "service-v1": "io.k8s.api.core.v1.Service",
         "pod-v1": "io.k8s.api.core.v1.Pod", "job-batch-v1": "io.k8s.api.batch.v1.Job", "cronjob-batch-v1": "io.k8s.api.batch.v1.CronJob"}
KEPT = {"type", "properties", "required", "items", "additionalProperties", "enum", "oneOf", "anyOf", "format", "pattern",
        "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "$ref"}


def strict(s):
    """s without what only documents, closed to unknown keys."""
    if s.get("x-kubernetes-int-or-string") or s.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    if len(s.get("allOf", [])) == 1:  # a reference with a default beside it
        return strict(s["allOf"][0])
    out = {}
    for key in sorted(KEPT & s.keys()):
        v = s[key]
        if key == "properties":
            v = {name: strict(p) for name, p in sorted(v.items())}
        elif key in ("items", "additionalProperties") and isinstance(v, dict):
            v = strict(v)
        elif key in ("oneOf", "anyOf"):
            v = [strict(p) for p in v]
        elif key == "$ref":
            v = "_definitions.json#/definitions/" + v.rsplit("/", 1)[1]
        out[key] = v
    if "properties" in out and "additionalProperties" not in out:
        out["additionalProperties"] = False
    return out


def names(v):
    """The definitions that v refers to."""
    if isinstance(v, dict):
        for key, inner in v.items():
            yield from [inner.rsplit("/", 1)[1]] if key == "$ref" else names(inner)
    elif isinstance(v, list):
        for inner in v:
            yield from names(inner)


def write(name, v):
    (HERE / (name + ".json")).write_text(json.dumps(v, separators=(",", ":")) + "\n")


def main(validate, operator):
    builtins = pathlib.Path(validate, "pkg/openapiclient/builtins/1.30")
    every = {}
    for part in ["api/v1.json", "apis/batch/v1.json"]:
        every |= json.loads((builtins / part).read_text())["components"]["schemas"]
    used, todo = {}, list(KINDS.values())
    while todo:
        name = todo.pop()
        if name not in used:
            used[name] = strict(every[name])
            todo += names(used[name])
    write("_definitions", {"definitions": dict(sorted(used.items()))})
    for name, definition in KINDS.items():
        write(name, {"$ref": "_definitions.json#/definitions/" + definition, "required": ["apiVersion", "kind", "metadata"]})
    crd = yaml.safe_load(pathlib.Path(operator, "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml").read_text())
    schema = strict(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"$ref": "_definitions.json#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    write("podmonitor-monitoring-v1", schema)


main(*sys.argv[1:])
