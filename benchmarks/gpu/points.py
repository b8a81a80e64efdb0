"""Points: a measured time, what bench predicts of it, and what the server's own clock shows."""

import json
import statistics
from datetime import datetime

from predict import band


def of_run(directory, steps):
    """The points of a run's rows, in the order in which they ran."""
    rows = [json.loads(path.read_text()) for path in directory.glob("*-r[0-9]*.json")]
    out = []
    for row in sorted(rows, key=lambda r: r["started_at"]):
        if row.get("roofline") and row["summary"].get("itl_ms"):
            out += of_row(row, within(row, steps))
    return out


def within(row, steps):
    begin, end = (datetime.fromisoformat(row[key]).timestamp() for key in ("started_at", "ended_at"))
    return [s for s in steps if begin <= s["at"] <= end]


def of_row(row, steps):
    """With one request in flight TTFT and decode step; with several the decode step or, in the row "load", TTFT
    and TPOT at that concurrency."""
    spec, s, roofline = row["spec"], row["summary"], row["roofline"]
    alone = spec.get("concurrency") == 1
    about = {
        "row": row["id"],
        "batch": roofline["batch"],
        "context": roofline["context_tokens"],
        "input": roofline["input_tokens"],
        "n": s["requests"]["completed"],
        "findings": row["checks"]["failed"],
        "idle_ms": idle_ms(steps),
    }
    decode, prefill = decode_ms(steps), prefill_ms(steps, roofline["input_tokens"])
    points = []

    def add(metric, measured, server, bound):
        p = about | {"metric": metric, "measured_ms": s[measured]["p50"], "server_ms": server}
        p["predicted"] = band(roofline[bound])
        points.append(p)
        errors(points[-1])

    if spec["name"] == "load":
        add("TTFT at concurrency", "ttft_ms", prefill, "ttft_at_load")
        add("TPOT at concurrency", "tpot_ms", decode, "tpot_beside_prompts")
        return points
    if alone:
        add("TTFT", "ttft_ms", prefill, "ttft")
    add("decode step", "itl_ms", decode, "tpot")
    return points


def errors(p):
    """Adds (predicted − measured) / measured, and whether the measured time lies in the typical range."""
    measured, usual = p["measured_ms"], p["predicted"]
    p["expected_error"] = usual["expected_ms"] / measured - 1
    p["in_band"] = usual["low_ms"] <= measured <= usual["high_ms"]


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
    """The steps that the server timed without a client, with the prediction."""
    out = []
    for d in steps["decode"]:
        out.append(step("decode step", d, predictor.decode(d["batch"], d["context"])))
    for d in steps["prefill"]:
        out.append(step("prefill", d, predictor.prefill(d["input"])))
    return out


def step(metric, d, predicted):
    p = {"metric": metric, "measured_ms": d["ms"], "predicted": predicted}
    more = ("batch", "context", "input", "launch_ms", "experts_touched", "experts_even")
    p |= {key: d[key] for key in more if key in d}
    errors(p)
    return p
