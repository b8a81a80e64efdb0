"""`bench predict`, asked for single points, with the usual efficiencies and with the fitted ones."""

import functools
import json
import math
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Predictor:
    def __init__(self, bench, model, hardware):
        self.bench, self.model, self.hardware = bench, model, hardware
        self.tables = []  # flags that name the tables of the test shapes
        if model.startswith("bench/"):
            self.tables = [
                "--model-configs",
                HERE / "tiny.json",
                "--hardware-configs",
                HERE / "tiny-devices.json",
            ]
        self.calibration, self.constants, self.points, self.left_out = None, None, {}, ""

    def fit(self, directory):
        """Fits to the rows of a run; where they do not identify a fit, constants is the reason."""
        answer = self.run("--calibrate", str(directory))
        self.left_out = answer.stderr.strip()
        if answer.returncode:
            self.constants = {"error": " ".join(self.left_out.split())}
            return
        fit = json.loads(answer.stdout)["fit"]
        self.points = {p["name"]: p for p in fit.pop("points")}
        self.calibration, self.constants = str(directory), fit

    def fitted(self, name):
        """A point of the fit itself: (fitted ms, ms that all other points predict)."""
        p = self.points.get(name, {})
        return p.get("fitted_ms"), p.get("held_out_ms")

    def prefill(self, tokens, calibrated=False):
        return self.ask(tokens, 2, (1,), calibrated)["ttft"]

    def decode(self, batch, context, calibrated=False):
        """The bound of a step. bench takes whole batches: one between two is read off the line between
        them."""
        low, high = math.floor(batch), math.ceil(batch)
        # The context of a prediction is the input and half of the output.
        steps = self.ask(
            max(1, round(context) - 1), 2, tuple(sorted({max(1, low), max(1, high)})), calibrated
        )["decode"]
        a, b = steps[0]["tpot"], steps[-1]["tpot"]
        share = batch - low if high > low else 0
        return {
            key: a[key] + share * (b[key] - a[key])
            for key in ("floor_ms", "low_ms", "expected_ms", "high_ms")
            if key in a
        }

    @functools.cache
    def ask(self, tokens, output, batches, calibrated):
        flags = ["--calibrate", self.calibration] if calibrated else []
        answer = self.run(
            *flags, "--input", str(tokens), "--output", str(output), "--batch", ",".join(map(str, batches))
        )
        if answer.returncode:
            raise RuntimeError(f"bench predict: {answer.stderr.strip()}")
        return json.loads(answer.stdout)

    def run(self, *flags):
        command = [
            self.bench,
            "predict",
            "--model",
            self.model,
            "--hardware",
            self.hardware,
            "--gpus",
            "1",
            "--precision",
            "bf16",
            "--format",
            "json",
        ]
        return subprocess.run([*command, *self.tables, *flags], capture_output=True, text=True)
