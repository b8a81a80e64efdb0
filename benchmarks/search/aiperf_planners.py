"""aiperf's planners, its own classes, fed with simulated profiles of an integer Poisson rate.

A profile is as aiperf runs it. smooth_isotonic (the default) adds a warm-up of 60 s, 30 s for a rate that it has run
before: a closed loop whose concurrency is the value of the searched rate. It is drained before profiling, so the
window begins with an empty server. monotonic_sla adds no warm-up. Profiling ends after 30 s (given here; there is no
default) or 1,000 requests (smooth_isotonic's default); what is in flight has 30 s of grace and is then cancelled and
not counted.

The row "warm" replaces the closed loop by Poisson arrivals that go on into the window: what the planner could do with
a settled server."""

import logging
import math

import numpy as np
from aiperf.common.enums import OptimizationDirection
from aiperf.common.models.export_models import JsonMetricResult
from aiperf.config.config import BenchmarkConfig
from aiperf.config.sweep import AdaptiveSearchSweep, Objective
from aiperf.config.sweep.adaptive import SearchSpaceDimension, SLAFilter
from aiperf.orchestrator.models import RunResult
from aiperf.orchestrator.search_planner.monotonic import MonotonicSLASearchPlanner
from aiperf.orchestrator.search_planner.smooth_isotonic import SmoothIsotonicSLAPlanner

import windows

PROFILE_S, GRACE_S = 30, 30
TAGS = {"ttft": "time_to_first_token", "tpot": "inter_token_latency", "e2e": "request_latency"}
PATH = "phases.profiling.rate"


def search(server, seed):
    for style, suffix, run in (
        ("smooth_isotonic", "", profile), ("smooth_isotonic", ", warm", settled), ("monotonic_sla", "", profile)):
        found = windows.Found(f"aiperf {style}{suffix}", server.name, seed)
        walk(found, server, planner(server, style), run)
        yield found


# Planners with the iterations of aiperf's recipe max-concurrency-under-sla.
PLANNERS = {"smooth_isotonic": (SmoothIsotonicSLAPlanner, 30), "monotonic_sla": (MonotonicSLASearchPlanner, 20)}


def planner(server, style):
    """A planner for the integer rates of the server's range."""
    made, iterations = PLANNERS[style]
    space = server.about["search"]
    rates = SearchSpaceDimension(path=PATH, lo=max(1, math.ceil(space["min"])), hi=space["max"], kind="int")
    throughput = Objective(metric="output_token_throughput", stat="avg", direction=OptimizationDirection.MAXIMIZE)
    return made(base(), AdaptiveSearchSweep(
        type="adaptive_search", planner=style, max_iterations=iterations, n_initial_points=1,
        sla_filters=[limit(server)], search_space=[rates], objectives=[throughput]))


def limit(server):
    tag, stat = TAGS[server.metric], f"p{server.percentile}"
    return SLAFilter(metric_tag=tag, stat=stat, op="lt", threshold=server.limit_ms)


def walk(found, server, planner, run):
    """One search, until the planner stops."""
    probe = 0
    while (asked := planner.ask()) is not None:
        config, variation = asked
        rate = int(variation.values[PATH])
        values, server_s = run(server, config, rate, windows.probe_seed(found.line["seed"], probe))
        planner.tell(variation, [result(server, variation.label, values)])
        found.add(rate, planner.history()[-1].feasible, server_s)
        probe += 1
    found.ends(planner.feasible_max, planner.infeasible_min, planner.convergence_reason())


def result(server, label, values):
    """What the planner reads of a profile."""
    if not values:
        return RunResult(label=label, success=False)
    of = limit(server)
    quantile = {of.stat: float(np.percentile(values, server.percentile))}  # aiperf's own percentiles are NumPy's
    summary = JsonMetricResult(unit="ms", avg=float(np.mean(values)), **quantile)
    return RunResult(label=label, success=True, summary_metrics={of.metric_tag: summary})


def base():
    """The least configuration that aiperf accepts."""
    return BenchmarkConfig.model_validate({
        "models": ["mock"],
        "endpoint": {"urls": ["http://127.0.0.1:1"], "type": "completions", "streaming": True},
        "datasets": [{"name": "main", "type": "synthetic", "entries": 10, "prompts": {"isl": 64, "osl": 32}}],
        "phases": [{"name": "profiling", "type": "poisson", "rate": 1, "duration": PROFILE_S,
                    "grace_period": GRACE_S}]})


def phases(config):
    """The seconds of a profile's warm-up, and its cap on requests."""
    warmup = sum(p.duration for p in config.phases if p.name == "warmup")
    return warmup, next(p.requests for p in config.phases if p.name == "profiling") or math.inf


def profile(server, config, rate, seed):
    """The values and the server seconds of a profile as aiperf runs it."""
    warmup_s, most = phases(config)
    server_s = 0.0
    if warmup_s:
        server_s = server.window(rate, 0, warmup_s, seed, "concurrency").server_s()
    window, profile_s = capped(server, rate, 0, most, seed)
    until = PROFILE_S + GRACE_S
    return window.values(server.metric, until), server_s + max(profile_s, min(window.server_s(), until))


def settled(server, config, rate, seed):
    """The same behind a warm-up at the same rate, which goes on into the window."""
    warmup_s, most = phases(config)
    window, profile_s = capped(server, rate, warmup_s, most, seed)
    until = warmup_s + PROFILE_S + GRACE_S
    return window.values(server.metric, until), max(warmup_s + profile_s, min(window.server_s(), until))


def capped(server, rate, warmup_s, most, seed):
    """A window that ends at its cap of requests, and its seconds."""
    window = server.window(rate, warmup_s, PROFILE_S, seed)
    if len(window.end_s) - window.warmup <= most:
        return window, PROFILE_S
    until = window.arrival_s[window.warmup + most] - warmup_s
    return server.window(rate, warmup_s, until, seed), until


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # one line for each contradiction
    windows.main(search)
