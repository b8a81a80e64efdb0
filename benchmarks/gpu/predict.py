"""`bench predict`, asked for single points."""

import functools
import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Predictor:
    def __init__(self, bench, model, hardware):
        self.bench, self.model = str(Path(bench).resolve()) if "/" in str(bench) else bench, model
        # of bench sweep and bench predict
        self.target = settings({"target.hardware": hardware, "target.gpus": 1, "target.precision": "bf16"})
        # the working directory of bench, with its tables of models and devices
        self.tables = HERE / "tiny" if model.startswith("bench/") else None

    def prefill(self, tokens):
        """The bound of a prompt without the front end, which the server's own clock does not see."""
        ttft = self.ask(tokens, 2, (1,))["ttft"]
        front = sum(t["ms"] for t in ttft["terms"] if t["name"] == "front end")
        share = 1 - front / ttft["expected_ms"]
        return {key: value * share for key, value in band(ttft).items()} | {"floor_ms": ttft["floor_ms"]}

    def decode(self, batch, context):
        """The bound of a step of a whole batch. The context of a prediction is the input and half of the output."""
        return band(self.ask(max(1, round(context) - 1), 2, (batch,))["decode"][0]["step"])

    @functools.cache
    def ask(self, tokens, output, batches):
        work = {"workload.input": tokens, "workload.output": output}
        answer = self.run("--batch", ",".join(map(str, batches)), *settings(work))
        if answer.returncode:
            raise RuntimeError(f"bench predict: {answer.stderr.strip()}")
        return json.loads(answer.stdout)

    def run(self, *flags):
        command = [self.bench, "predict", *flags, "--format", "json", *self.target, *settings({"target.model": self.model})]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.tables)


def settings(keys):
    """Arguments that set keys of bench's matrix."""
    return [word for key, value in keys.items() for word in ("--set", f"{key}={json.dumps(value)}")]


def band(bound):
    """A bound without a typical range has its expected time in place of both ends."""
    return {key: bound.get(key) or bound["expected_ms"] for key in ("floor_ms", "low_ms", "expected_ms", "high_ms")}
