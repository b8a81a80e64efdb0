#!/usr/bin/env python3
"""Draws an open-loop run of a real engine and its twin; RUN is its directory, LOADS those that the twin is fitted to:

go -C benchmarks run ./search/twin -run RUN -fit LOADS -seqs 8 | benchmarks/engines/curve.py RUN LOADS >twin.svg
"""

import json
import math
import re
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 340, 240, 52, 12, 24, 40
MEASURED, TWIN = "#333", "#c33"


def panel(metric, rows, curve, foreseen, fitted, x0):
    name, p = metric.split("_")
    measured = {r["spec"]["rate"]: r["summary"][f"{name}_ms"] for r in rows}
    values = [s[p] for s in measured.values()] + [v for _, v in foreseen]
    low, high = math.log10(min(values) / 1.5), math.log10(max(values) * 2)
    most = max(measured)

    def at(x, y):
        y = min(max(math.log10(y), low), high)
        return (x0 + LEFT + x / most * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM))

    def line(pairs):
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in pairs)

    out = [f'<text x="{x0 + LEFT}" y="14" font-weight="bold">{name.upper()} {p}, ms</text>']
    steps = (1,) if high - low > 2 else (1, 2, 5)
    ticks = [m * 10 ** e for e in range(math.floor(low), math.ceil(high) + 1) for m in steps]
    for tick in (t for t in ticks if low <= math.log10(t) <= high):
        x, y = at(0, tick)
        out.append(f'<path d="M{x:.1f} {y:.1f}H{x0 + WIDTH - RIGHT}" stroke="#ddd"/>'
                   f'<text x="{x - 4:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>')
    band = [at(c["load"], c["high_ms"]) for c in curve] + [at(c["load"], c["low_ms"]) for c in reversed(curve)]
    out.append(f'<path d="{line(band)}Z" fill="{TWIN}" fill-opacity=".15"/>')
    out.append(f'<path d="{line([at(c["load"], c["ms"]) for c in curve])}" fill="none" stroke="{TWIN}"/>')
    for load, s in measured.items():
        x, y = at(load, s[p])
        first, last = (s.get("ci95") or {}).get(p) or (s[p], s[p])
        top, bottom = at(load, last or 10 ** high)[1], at(load, first or 10 ** low)[1]
        out.append(f'<path d="M{x:.1f} {bottom:.1f}V{top:.1f}" stroke="{MEASURED}"/>'
                   f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{MEASURED}"/>'
                   f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{load:g}/s</text>')
    for load, value in foreseen:
        x, y = at(load, value)
        cross = f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" stroke="{TWIN}" stroke-width="2"/>'
        out.append(cross if load not in fitted else cross.replace("/>", ' stroke-opacity=".4"/>'))
    return "".join(out)


def main():
    run, fitted = Path(sys.argv[1]), [float(x) for x in sys.argv[2].split(",")]
    foreseen = {}
    for text in filter(str.strip, sys.stdin):
        load = text.split()[0]
        for name, p, value in re.findall(r"(ttft|tpot) (p\d+) +[\d.]+ / +([\d.]+)", text):
            foreseen.setdefault(f"{name}_{p}", []).append((float(load), float(value)))
    twin = json.loads((run / "run.json").read_text())["twins"][0]
    rows = [json.loads(f.read_text()) for f in sorted(run.glob("*-r1.json"))]
    metrics = ["ttft_p95", "tpot_p95"]
    title = "Measured percentiles, the twin on the same arrivals, and the twin's long runs"
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(metrics)} {HEIGHT}" role="img"'
          f' font-family="sans-serif" font-size="11" fill="#333"><title>{title}</title>'
          '<rect width="100%" height="100%" fill="#fff"/>'
          + "".join(panel(m, rows, [c for c in twin["curve"] if c["metric"] == m], foreseen[m], fitted, i * WIDTH)
                    for i, m in enumerate(metrics))
          + f'<text x="{LEFT}" y="{HEIGHT - 6}">● measured, 95 %   <tspan fill="{TWIN}">× twin, same arrivals (pale: fitted'
          ' to)   — its long run, 95 %</tspan></text></svg>')


main()
