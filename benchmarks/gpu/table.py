"""The figures as Markdown and CSV."""

METRICS = ["TTFT", "decode step", "TTFT at concurrency", "TPOT at concurrency"]
BAND = ["floor_ms", "low_ms", "expected_ms", "high_ms"]
POINT = ["row", "metric", "batch", "context", "input", "n", "measured_ms", "server_ms", "expected_error"]
POINT += ["idle_ms", "in_band"]


def markdown(figures):
    lines = []
    for model in figures["models"]:
        lines += [f"## {model['model']} on {model['hardware']}", "", *about(model), "", *summary(model), ""]
        points = model["points"]
        lines += ["### Points", "", *(clients(points) if points else ["No row has a bound."]), ""]
        lines += ["### Single steps, timed by the server", "", *steps(model["step_points"]), ""]
    return "\n".join(lines)


def about(model):
    s = model["steps"]
    device = ", ".join(f"{key} {value}" for key, value in s["device"].items())
    check = ", ".join(f"{key} {value:.1e}" for key, value in s["check"].items())
    lines = [f"- device: {device}; kernels: {s['kernels']}", f"- relative error of the logits: {check}"]
    if c := s.get("ceilings"):
        lines.append(f"- a copy of 1 GiB reaches {c['copy_gb_s']:,.0f} GB/s")
        lines.append(f"- a bf16 matrix product of 8192³ reaches {c['bf16_tflops']:,.0f} TFLOP/s")
    return lines


def summary(model):
    """How many points lie in the typical range, and the mean absolute error."""
    lines = head("metric", "points", "in range", "mean error")
    for metric in METRICS:
        points = [p for p in model["points"] if p["metric"] == metric]
        if points:
            inside = sum(p["in_band"] for p in points)
            lines.append(row(metric, len(points), inside, mean_abs(points, "expected_error")))
    return lines


def clients(points):
    columns = ["row", "metric", "batch", "context or input", "measured, ms", "server, ms", "idle, ms"]
    lines = head(*columns, "expected (range), ms", "error")
    for p in points:
        tokens = p["input"] if p["metric"].startswith("TTFT") else p["context"]
        times = ms(p["measured_ms"]), ms(p["server_ms"]), ms(p["idle_ms"])
        cells = [name(p), p["metric"], f"{p['batch']:.1f}", f"{tokens:,.0f}", *times]
        lines.append(row(*cells, *predictions(p)))
    return lines


def steps(points):
    columns = ["step", "batch", "context or input", "measured, ms", "expected (range), ms", "error"]
    lines = head(*columns, "experts touched (even)", "launch, ms")
    for p in points:
        experts = f"{p['experts_touched']:.1f} ({p['experts_even']:.1f})" if "experts_touched" in p else ""
        cells = [p["metric"], p.get("batch", 1), f"{p.get('context') or p.get('input'):,}", ms(p["measured_ms"])]
        lines.append(row(*cells, *predictions(p), experts, ms(p.get("launch_ms"))))
    return lines


def predictions(p):
    b = p["predicted"]
    expected = f"{ms(b['expected_ms'])} ({ms(b['low_ms'])} to {ms(b['high_ms'])})"
    return expected, percent(p["expected_error"])


def name(p):
    findings = f" ({', '.join(p['findings'])})" if p["findings"] else ""
    return p["row"].removesuffix("-r1") + findings


def csv(figures):
    lines = [",".join(["model", *POINT, *BAND, "findings"])]
    for model in figures["models"]:
        for p in model["points"]:
            cells = [model["model"], *(p.get(key) for key in POINT), *(p["predicted"][key] for key in BAND)]
            lines.append(",".join(cell(c) for c in [*cells, " ".join(p["findings"])]))
    return "\n".join(lines) + "\n"


def cell(value):
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f'"{text}"' if "," in text else text


def head(*columns):
    """The head of a table whose first column is text and whose others are numbers."""
    return [row(*columns), "|---|" + "---:|" * (len(columns) - 1)]


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def ms(value):
    return "" if value is None else f"{value:#.3g}".rstrip(".")


def percent(value):
    return "" if value is None else f"{value:+.0%}".replace("-", "−")


def mean_abs(points, key):
    return f"{sum(abs(p[key]) for p in points) / len(points):.0%}"
