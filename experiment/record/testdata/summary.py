# Computes every metric of a row from its request records, from the definitions in docs and not from
# the Go code: the independent reading that summary_test.go holds Summarize against. Needs numpy:
#
#     cd experiment/record/testdata && python3 summary.py
import json

import numpy as np

START, END = 1_000_000, 11_000_000  # the window, µs
SECONDS = (END - START) / 1e6


def sample(values):
    if not values:
        return None
    v = np.array(values, dtype=float)
    out = {"n": len(values), "mean": v.mean(), "std": v.std(), "min": v.min(), "max": v.max()}
    for name, p in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)]:
        out[name] = np.quantile(v, p, method="linear")
    return {k: float(x) for k, x in out.items()}


def span(r, start, end):
    if start in r and end in r:
        return (r[end] - r[start]) / 1000
    return None


def tpot(r):
    if r["output_tokens"] >= 2 and "first_us" in r:
        return (r["last_us"] - r["first_us"]) / 1000 / (r["output_tokens"] - 1)
    return None


def inside(t):
    return START <= t < END


def tokens_inside(r):
    """Output tokens by the time of the event that carried them."""
    if "first_us" not in r:
        return r["output_tokens"] if "last_us" in r and inside(r["last_us"]) else 0
    times = r["first_us"] + np.concatenate([[0], np.cumsum(r.get("gaps_us", []))])
    weights = r.get("tokens_per_event", [r["output_tokens"] / len(times)] * len(times))
    return sum(w for t, w in zip(times, weights) if inside(t))


def concurrency(records):
    spans = [(max(r["sent_us"], START), min(r["end_us"], END)) for r in records if "sent_us" in r and "end_us" in r]
    spans = [(a, b) for a, b in spans if a < b]
    busy = sum(b - a for a, b in spans) / (END - START)
    most = max((sum(a <= t < b for a, b in spans) for t, _ in spans), default=0)
    return {"mean": busy, "max": most}


def summarize(records, stream, each, gpus):
    window = [r for r in records if r["phase"] == "window"]
    done = [r for r in window if r["outcome"] in ("ok", "short")]
    bad = [r for r in window if r["outcome"] not in ("ok", "short")]
    names = {
        "e2e_ms": ("at_us", "last_us"),
        "e2e_from_send_ms": ("sent_us", "last_us"),
        "cap_wait_ms": ("at_us", "ready_us"),
        "lag_ms": ("ready_us", "sent_us"),
    }
    if stream:
        names |= {
            "ttft_ms": ("at_us", "first_us"),
            "ttft_from_send_ms": ("sent_us", "first_us"),
            "ttfe_ms": ("sent_us", "first_event_us"),
        }
    out = {k: sample([x for r in done if (x := span(r, *ends)) is not None]) for k, ends in names.items()}
    if stream:
        out["tpot_ms"] = sample([x for r in done if (x := tpot(r)) is not None])
        out["itl_ms"] = sample([g / 1000 for r in done for g in r.get("gaps_us", [])])
        out["itl_requests"] = sum("gaps_us" in r for r in done)
        events = sum(len(r.get("gaps_us", [])) + 1 for r in done if "first_us" in r)
        if events:
            out["tokens_per_event"] = sum(r["output_tokens"] for r in done if "first_us" in r) / events
    out = {k: v for k, v in out.items() if v is not None and v != 0}
    out["requests"] = {
        "planned": len(window),
        "sent": sum("sent_us" in r for r in window),
        "completed": len(done),
        "short": sum(r["outcome"] == "short" for r in done),
        "failed": len(bad),
        "unfinished": sum(r["outcome"] == "unfinished" for r in bad),
        "warmup": sum(r["phase"] == "warmup" for r in records),
        "errors": {o: sum(r["outcome"] == o for r in bad) for o in sorted({r["outcome"] for r in bad})},
    }
    out["error_rate"] = len(bad) / len(window) if window else None
    cached = [r["cached_tokens"] for r in done if "cached_tokens" in r]
    out["tokens"] = {
        "prompt": sum(r.get("prompt_tokens", r["prompt_asked"]) for r in done),
        "output": sum(r["output_tokens"] for r in done),
        "cached": sum(cached) if cached else None,
        "estimated": any(r["estimated"] or "prompt_tokens" not in r for r in done),
    }
    out["duration_s"] = SECONDS
    arrived = [r for r in records if "last_us" in r and inside(r.get("first_us", r["last_us"]))]
    output = sum(tokens_inside(r) for r in records) / SECONDS
    out["throughput"] = {
        "requests_per_s": sum(r["outcome"] in ("ok", "short") and inside(r["last_us"]) for r in records) / SECONDS,
        "prompt_tokens_per_s": sum(r.get("prompt_tokens", r["prompt_asked"]) for r in arrived) / SECONDS,
        "output_tokens_per_s": output,
        "output_tokens_per_s_per_gpu": output / gpus if gpus else None,
    }
    if each:
        figure = {"ttft": lambda r: span(r, "at_us", "first_us"), "e2e": lambda r: span(r, "at_us", "last_us"), "tpot": tpot}
        good = [r for r in done if all((x := figure[m](r)) is None or x <= limit for m, limit in each.items())]
        out["goodput"] = {
            "requests_per_s": len(good) / SECONDS,
            "output_tokens_per_s": sum(r["output_tokens"] for r in good) / SECONDS,
            "share": len(good) / len(window) if window else 0,
            "limits": [f"{m} ≤ {limit} ms" for m, limit in each.items()],
        }
    out["concurrency"] = concurrency(records)
    return out


def main():
    cases = []
    for name, file, kept, stream, each, gpus in [
        ("streamed", "records.jsonl", "", True, {"ttft": 250, "tpot": 20, "e2e": 600}, 4),
        ("one class", "records.jsonl", "rag", True, {"e2e": 500}, 1),
        ("no limits, no GPUs", "records.jsonl", "chat", True, {}, 0),
        ("not streamed", "whole.jsonl", "", False, {"e2e": 500}, 2),
        ("nothing", "records.jsonl", "no such class", True, {"ttft": 250}, 1),
    ]:
        records = [json.loads(line) for line in open(file)]
        records = [r for r in records if kept in ("", r["class"])]
        cases.append(
            {
                "name": name,
                "file": file,
                "class": kept,
                "stream": stream,
                "each": each,
                "gpus": gpus,
                "window": {"start_us": START, "end_us": END},
                "summary": summarize(records, stream, each, gpus),
            }
        )
    with open("summary.json", "w") as f:
        json.dump(cases, f, indent=1, ensure_ascii=False)
        f.write("\n")


main()
