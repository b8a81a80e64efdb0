"""Windows of simulated servers, from the Go program windows/, and what the searches of this folder share."""

import argparse
import json
import math
import subprocess
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


class Window:
    """The requests of one probe, in the order of arrival. Times are seconds since its start, from an empty server."""

    def __init__(self, warmup, arrival_s, first_s, end_s, output):
        self.warmup = warmup  # the first requests, which arrived in the warm-up
        self.arrival_s, self.first_s = arrival_s or [], first_s or []  # null: no request
        self.end_s, self.output = end_s or [], output or []

    def values(self, metric, ended_by=math.inf):
        """The latencies in ms of the requests behind the warm-up that ended by a time."""
        rows = list(zip(self.arrival_s, self.first_s, self.end_s, self.output))[self.warmup:]
        rows = [r for r in rows if r[2] <= ended_by]
        if metric == "ttft":
            return [1000 * (first - arrival) for arrival, first, _, _ in rows]
        if metric == "tpot":
            return [1000 * (end - first) / (output - 1) for _, first, end, output in rows if output > 1]
        return [1000 * (end - arrival) for arrival, _, end, _ in rows]

    def server_s(self):
        """Seconds until the last request ended."""
        return max(self.end_s, default=0.0)


class Server:
    """One server of servers/, and the program that simulates it."""

    def __init__(self, program, name):
        self.name = name
        with open(HERE / "servers" / f"{name}.toml", "rb") as f:
            self.about = tomllib.load(f)
        slo = self.about["slo"]
        self.metric, self.percentile = slo["metric"], slo["percentile"]
        self.limit_ms = milliseconds(slo["limit"])
        self.capacity = self.about["truth"]["capacity"]
        command = [program, "-servers", HERE / "servers" / "*.toml"]
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def window(self, load, warmup_s, window_s, seed, kind=""):
        question = {"server": self.name, "kind": kind, "load": load, "warmup_s": warmup_s, "window_s": window_s,
                    "seed": seed}
        self.program.stdin.write(json.dumps(question) + "\n")
        self.program.stdin.flush()
        return Window(**json.loads(self.program.stdout.readline()))

    def meets(self, values):
        """Whether the percentile, by nearest rank, meets the limit. Without a request it does not."""
        rank = math.ceil(self.percentile / 100 * len(values))
        return bool(values) and sorted(values)[rank - 1] <= self.limit_ms


class Found:
    """One search: its probes, and its answer. Written as one line of JSON."""

    def __init__(self, tool, server, seed):
        self.line = {"tool": tool, "server": server, "seed": seed, "probes": [], "low": None, "high": None,
                     "answer": None, "stop": ""}

    def add(self, load, meets, server_s):
        self.line["probes"].append({"load": load, "pass": meets, "server_s": server_s})

    def bracket(self):
        """The answer of a list of rates: the highest that met the limit below the first that did not."""
        failed = [p["load"] for p in self.line["probes"] if not p["pass"]]
        high = min(failed, default=None)
        met = [p["load"] for p in self.line["probes"] if p["pass"] and (high is None or p["load"] < high)]
        self.ends(max(met, default=None), high)

    def ends(self, low, high, stop=""):
        self.line.update(low=low, high=high, answer=low, stop=stop)

    def print(self):
        print(json.dumps(self.line), flush=True)


def milliseconds(text):
    """The value of a duration such as 500ms."""
    for unit, ms in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * ms
    raise ValueError(f"no duration: {text}")


def main(search):
    """Runs search(server, seed), which yields one Found or more, for all seeds."""
    p = argparse.ArgumentParser()
    p.add_argument("--windows", required=True, help="the program windows")
    p.add_argument("--server", required=True, help="name of a file in servers/, without .toml")
    p.add_argument("--seeds", type=int, default=100)
    args = p.parse_args()
    server = Server(args.windows, args.server)
    for seed in range(args.seeds):
        for found in search(server, seed):
            found.print()


def probe_seed(seed, probe):
    """A seed for one probe of one search."""
    return seed * 1000 + probe + 1
