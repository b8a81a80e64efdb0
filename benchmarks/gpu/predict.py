"""`bench predict`, asked for single points, with the usual efficiencies and with the fitted ones."""

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
        self.calibration, self.constants, self.points, self.errors, self.left_out = None, None, {}, [], ""

    def fit(self, directory):
        """Fits to the rows of a run; where they do not identify a fit, constants is the reason."""
        answer = self.run("calibrate", Path(directory).resolve())
        self.left_out = answer.stderr.strip()
        if answer.returncode:
            self.constants = {"error": " ".join(self.left_out.split())}
            return
        fit = json.loads(answer.stdout)["fit"]
        for p in fit.pop("points") + fit.pop("check", []):
            self.points[p["name"], p["metric"]] = p
        self.calibration, self.constants, self.errors = directory, fit, fit.pop("check_errors", [])

    def fitted(self, row, metric):
        """What the fit says of a point: (ms with the fit, ms that all other points predict)."""
        p = self.points.get((row, metric), {})
        return p.get("fitted_ms"), p.get("held_out_ms")

    def prefill(self, tokens, calibrated=False):
        """The bound of a prompt without the front end, which the server's own clock does not see."""
        ttft = self.ask(tokens, 2, (1,), calibrated)["ttft"]
        front = sum(t["ms"] for t in ttft["terms"] if t["name"] == "front end")
        share = 1 - front / ttft["expected_ms"]
        return {key: value * share for key, value in band(ttft).items()} | {"floor_ms": ttft["floor_ms"]}

    def decode(self, batch, context, calibrated=False):
        """The bound of a step of a whole batch. The context of a prediction is the input and half of the output."""
        return band(self.ask(max(1, round(context) - 1), 2, (batch,), calibrated)["decode"][0]["step"])

    @functools.cache
    def ask(self, tokens, output, batches, calibrated):
        fit = ["calibrate", Path(self.calibration).resolve()] if calibrated else []
        work = {"workload.input": tokens, "workload.output": output, "workload.batch": list(batches)}
        answer = self.run(*fit, *settings(work))
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
