"""The table of searches, from files of their lines."""

import json
import math
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
HEAD = ["tool", "searches", "probes p50 (most)", "server s p50 (p90)", "error p50 / p90", "bias", "width p50 (p90)",
        "no end", "held", "contradicted"]


def table(files):
    """Markdown: one table for each server, one row for each tool, in the order of the lines."""
    found = {}
    for file in files:
        for line in Path(file).read_text().splitlines():
            one = json.loads(line)
            found.setdefault(one["server"], {}).setdefault(one["tool"], []).append(one)
    out = []
    for server, tools in found.items():
        with open(HERE / "servers" / f"{server}.toml", "rb") as f:
            about = tomllib.load(f)
        slo, truth = about["slo"], about["truth"]["load"]
        slo_text = f"{slo['metric']} p{slo['percentile']} ≤ {slo['limit']}"
        out.append(f"**{server}** ({about['about']}); {slo_text} up to {truth}/s\n")
        out += [" | ".join(HEAD), "|".join(["---"] * len(HEAD))]
        out += [" | ".join(row(tool, searches, truth)) for tool, searches in tools.items()]
        out.append("")
    return "\n".join(out)


def row(tool, searches, truth):
    probes = [len(s["probes"]) for s in searches]
    seconds = [sum(p["server_s"] for p in s["probes"]) + s.get("beside_s", 0) for s in searches]
    errors = [s["answer"] / truth - 1 for s in searches if s["answer"] is not None]
    widths = [s["high"] / s["low"] - 1 for s in searches if s["low"] and s["high"]]
    held = [s for s in searches if (s["low"] or s["high"]) and (s["low"] or 0) <= truth <= (s["high"] or math.inf)]
    return [
        tool, str(len(searches)), f"{quantile(probes, 50)} ({max(probes)})",
        f"{quantile(seconds, 50):.0f} ({quantile(seconds, 90):.0f})",
        pair([abs(e) for e in errors], "{:.1f} / {:.1f} %"), pair(errors, "{:+.1f} %"), pair(widths, "{:.0f} % ({:.0f} %)"),
        str(len(searches) - len(widths)), share(held, searches), share(list(filter(contradicted, searches)), searches),
    ]


def pair(values, form):
    """The p50 and the p90 of shares, in percent."""
    return form.format(100 * quantile(values, 50), 100 * quantile(values, 90)) if values else "–"


def share(part, whole):
    return f"{100 * len(part) / len(whole):.0f} %"


def contradicted(search):
    """Whether a load missed the SLO in one probe, and the same or a higher one met it in another."""
    met = max((p["load"] for p in search["probes"] if p["pass"]), default=-math.inf)
    return any(p["load"] <= met for p in search["probes"] if not p["pass"] and p["pass"] is not None)


def quantile(values, percentile):
    """By nearest rank."""
    return sorted(values)[max(0, math.ceil(percentile / 100 * len(values)) - 1)]
