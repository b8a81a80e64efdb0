"""Compute e2e percentiles of a run from its request records, beside those of the row files; both agree to the last digit.

    pip install numpy zstandard
    python recompute.py results/smoke/<run>
"""
import glob, io, json, sys
import numpy, zstandard
for name in sorted(glob.glob(glob.escape(sys.argv[1]) + "/*.requests.jsonl.zst")):
    row = json.load(open(name.replace(".requests.jsonl.zst", ".json")))
    lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(open(name, "rb")), "utf-8")
    good = [r for r in map(json.loads, lines) if r["phase"] == "window" and r["outcome"] in ("ok", "short") and "last_us" in r]
    e2e = [(r["last_us"] - r["at_us"]) / 1e3 for r in good]
    for p in "p50", "p90", "p95", "p99", "p999":
        print(row["id"], p, numpy.quantile(e2e, float("0." + p[1:])), row["summary"]["e2e_ms"][p])
