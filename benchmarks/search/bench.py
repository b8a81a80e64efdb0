#!/usr/bin/env python3
"""bench's own search on the servers of servers/, as a user runs it: bench predict of a matrix with a search, in virtual time.
One line of JSON for each search, as table.py reads it."""

import argparse
import json
import subprocess
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def matrix(world, budget, seed):
    work, search, slo = world["requests"], world["search"], world["slo"]
    output = work.get("output") or {"dist": "lognormal", "p50": work["output_p50"], "p95": work["output_p95"], "max": work["output_max"]}
    if isinstance(output, dict):
        output = "{ " + ", ".join(f"{k} = {json.dumps(v)}" for k, v in output.items()) + " }"
    mock = "\n".join(f"{k} = {json.dumps(v)}" for k, v in world["mock"].items())
    load = {"rate": "rate", "constant": "rate", "concurrency": "concurrency"}[search["load"]]
    arrival = {"rate": 'arrival = "poisson"', "constant": 'arrival = "constant"', "concurrency": ""}[search["load"]]
    return f"""name = "search"
[target]
endpoint = "mock"
[mock]
queue = 1000000
{mock}
[slo]
{slo["metric"]}_p{slo["percentile"]:g} = "{slo["limit"]}"
[[row]]
name = "r"
seed = {seed}
input = {work["input"]}
output = {output}
{arrival}
warmup = "5s"
{load} = {{ search = "slo", min = {search["min"]}, max = {search["max"]}, tolerance = "1%", budget = "{budget}s" }}
"""


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bench", type=Path, required=True, help="the program")
    p.add_argument("--server", required=True)
    p.add_argument("--seeds", type=int, default=100)
    p.add_argument("--budgets", default="200,600,1200,2700", help="server time of a search, s")
    args = p.parse_args()
    world = tomllib.loads((HERE / "servers" / f"{args.server}.toml").read_text())
    for budget in args.budgets.split(","):
        for seed in range(1, args.seeds + 1):
            with tempfile.TemporaryDirectory() as tmp:
                (Path(tmp) / "m.toml").write_text(matrix(world, budget, seed))
                subprocess.run([args.bench, "predict", "m.toml", "--out", "out"], cwd=tmp, check=True, capture_output=True)
                run = next(Path(tmp).glob("out/*/*/run.json"))
                found = json.loads(run.read_text())["searches"][0]
                rows = [json.loads(f.read_text()) for f in run.parent.glob("r,*.json")]
            verdicts = {"PASS": True, "FAIL": False}
            probes = [{"load": r["spec"].get("rate") or r["spec"]["concurrency"], "pass": verdicts.get(r["slo"][0]["verdict"]),
                       "server_s": sum(v for k, v in r["time"].items() if k in ("warmup_s", "window_s", "drain_s"))} for r in rows]
            line = {"tool": f"bench, {budget} s", "server": world["name"], "seed": seed, "answer": found.get("best"),
                    "low": found["low"], "high": found["high"], "probes": probes}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
