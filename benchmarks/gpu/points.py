"""Points: a measured time, what bench predicts of it, and what the server's own clock shows."""

import json
import statistics
from datetime import datetime


def of_run(kind, directory, steps, predictor):
    """The points of a run's rows, in the order in which they ran; kind is calibrate or check."""
    rows = [json.loads(path.read_text()) for path in directory.glob("*-r[0-9]*.json")]
    out = []
    for row in sorted(rows, key=lambda r: r["started_at"]):
        if row.get("roofline") and row["summary"].get("itl_ms"):
            out += of_row(kind, row, within(row, steps), predictor)
    return out


def within(row, steps):
    begin, end = (datetime.fromisoformat(row[key]).timestamp() for key in ("started_at", "ended_at"))
    return [s for s in steps if begin <= s["at"] <= end]


def of_row(kind, row, steps, predictor):
    """A row with one request in flight gives TTFT and decode step; with several the decode step; with a
    rate TPOT and TTFT."""
    spec, s, roofline = row["spec"], row["summary"], row["roofline"]
    about = {
        "set": kind,
        "row": row["id"],
        "batch": roofline["batch"],
        "context": roofline["context_tokens"],
        "input": roofline["input_tokens"],
        "n": s["requests"]["completed"],
        "failed_checks": row["checks"]["failed"],
        "idle_ms": idle_ms(steps),
    }
    decode, prefill = decode_ms(steps), prefill_ms(steps, roofline["input_tokens"])
    points = []
    if spec.get("rate"):
        points.append(
            about
            | {
                "metric": "TPOT at a rate",
                "measured_ms": s["tpot_ms"]["p50"],
                "server_ms": decode,
                "predicted": band(roofline["tpot_beside_prompts"]),
            }
        )
        points.append(
            about
            | {
                "metric": "TTFT at a rate",
                "measured_ms": s["ttft_ms"]["p50"],
                "server_ms": prefill,
                "predicted": band(roofline["ttft"]),
            }
        )
    else:
        points.append(
            about
            | {
                "metric": "decode step",
                "measured_ms": s["itl_ms"]["p50"],
                "server_ms": decode,
                "predicted": band(roofline["tpot"]),
            }
        )
        if spec.get("concurrency") == 1:
            points.append(
                about
                | {
                    "metric": "TTFT",
                    "measured_ms": s["ttft_ms"]["p50"],
                    "server_ms": prefill,
                    "predicted": band(roofline["ttft"]),
                }
            )
    for p in points:
        calibrated(p, kind, predictor)
        errors(p)
    return points


def calibrated(p, kind, predictor):
    """Adds what the fit says: of its own points as fitted and held out, of others as predicted."""
    if predictor.calibration is None:
        return
    name = {"decode step": ", decode", "TTFT": ", TTFT"}.get(p["metric"])
    if kind == "calibrate":
        p["calibrated_ms"], p["held_out_ms"] = predictor.fitted(p["row"] + name) if name else (None, None)
    elif p["metric"].startswith("TTFT"):
        p["calibrated_ms"] = predictor.prefill(round(p["input"]), calibrated=True)["expected_ms"]
    elif p["metric"] == "decode step":
        p["calibrated_ms"] = predictor.decode(p["batch"], p["context"], calibrated=True)["expected_ms"]


def errors(p):
    """Adds (predicted − measured) / measured, and whether the measured time lies in the band without a
    fit."""
    measured, usual = p["measured_ms"], p["predicted"]
    p["expected_error"] = usual["expected_ms"] / measured - 1
    p["in_band"] = usual["low_ms"] <= measured <= usual["high_ms"]
    if p.get("calibrated_ms"):
        p["calibrated_error"] = p["calibrated_ms"] / measured - 1


def band(bound):
    return {
        key: bound.get(key) or bound["expected_ms"]
        for key in ("floor_ms", "low_ms", "expected_ms", "high_ms")
    }


def decode_ms(steps):
    """The median decode step as a token meets it: each step counts once for each of its rows."""
    return weighted_median([(s["ms"], s["rows"]) for s in steps if s["kind"] == "decode"])


def idle_ms(steps):
    """The median time for which the device waited for the host before a decode step."""
    times = [s["idle_ms"] for s in steps if s["kind"] == "decode" and s["idle_ms"] is not None]
    return statistics.median(times) if times else None


def prefill_ms(steps, tokens):
    """The median step that prefilled one prompt of this length."""
    times = [
        s["ms"] for s in steps if s["kind"] == "prefill" and s["rows"] == 1 and s["tokens"] == round(tokens)
    ]
    return statistics.median(times) if times else None


def weighted_median(pairs):
    left = sum(weight for _, weight in pairs) / 2
    for value, weight in sorted(pairs):
        left -= weight
        if left <= 0:
            return value
    return None


def of_steps(steps, predictor):
    """The steps that the server timed without a client, with both predictions."""
    out = []
    for d in steps["decode"]:
        out.append(
            step(
                "decode step", d, lambda fit, d=d: predictor.decode(d["batch"], d["context"], fit), predictor
            )
        )
    for d in steps["prefill"]:
        out.append(step("prefill", d, lambda fit, d=d: predictor.prefill(d["input"], fit), predictor))
    return out


def step(metric, d, predict, predictor):
    p = {"metric": metric, "measured_ms": d["ms"], "predicted": band(predict(False))}
    p |= {
        key: d[key]
        for key in ("batch", "context", "input", "launch_ms", "experts_touched", "experts_even")
        if key in d
    }
    if predictor.calibration:
        p["calibrated_ms"] = predict(True)["expected_ms"]
    errors(p)
    return p
