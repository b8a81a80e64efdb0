"""The figures as Markdown and CSV."""

METRICS = ["TTFT", "decode step", "TTFT at concurrency", "TPOT at concurrency"]
TITLES = {"check": "Check: points that the fit has not seen", "fit": "The points of the fit"}
BAND = ["floor_ms", "low_ms", "expected_ms", "high_ms"]
POINT = ["set", "row", "metric", "batch", "context", "input", "n", "measured_ms", "server_ms", "expected_error"]
POINT += ["idle_ms", "in_band", "calibrated_ms", "calibrated_error", "held_out_ms"]


def markdown(figures):
    lines = []
    for model in figures["models"]:
        lines += [f"## {model['model']} on {model['hardware']}", "", *about(model), "", *summary(model), ""]
        for kind, title in TITLES.items():
            of = [p for p in model["points"] if p["set"] == kind]
            lines += [f"### {title}", "", *(clients(of, kind) if of else ["No row has a bound."]), ""]
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
    return lines + [f"- fit: {line}" for line in fit(model)]


def fit(model):
    f = model["fit"]
    if "error" in f:
        return [f"none; {f['error']}"]
    constants = ", ".join(f"{c['name']} {amount(c)}" for c in f["constants"])
    return [constants, *map(check_error, model["errors"]), *(f.get("notes") or []), *model["left_out"].splitlines()]


def amount(c):
    value = f"{c['value']:.1%}" if c.get("of") else f"{c['value']:.2f} ms"
    return value if c["uncertainty"] is not None else f"not determined ({value} without the fit)"


def check_error(e):
    load = "at concurrency" if e["loaded"] else "alone"
    errors = f"median error {e['median_absolute']:.1%}, worst {percent(e['worst'])}"
    return f"kept out: {e['metric'].upper()} {load}: {errors} ({e['points']} points)"


def summary(model):
    """How many points lie in the typical range without a fit, and the mean absolute errors of the check rows."""
    lines = head("metric", "points", "in range", "check points", "mean error, expected", "mean error, calibrated")
    for metric in METRICS:
        points = [p for p in model["points"] if p["metric"] == metric]
        check = [p for p in points if p["set"] == "check"]
        if points:
            inside = sum(p["in_band"] for p in points)
            errors = [mean_abs(check, key) for key in ("expected_error", "calibrated_error")]
            lines.append(row(metric, len(points), inside, len(check), *errors))
    return lines


def clients(points, kind):
    held = kind == "fit"
    columns = ["row", "metric", "batch", "context or input", "measured, ms", "server, ms", "idle, ms"]
    columns += ["expected (range), ms", "error"]
    columns += ["fitted, ms", "error", "held out, ms"] if held else ["calibrated, ms", "error"]
    lines = head(*columns)
    for p in points:
        tokens = p["input"] if p["metric"].startswith("TTFT") else p["context"]
        times = ms(p["measured_ms"]), ms(p["server_ms"]), ms(p["idle_ms"])
        cells = [name(p), p["metric"], f"{p['batch']:.1f}", f"{tokens:,.0f}", *times]
        lines.append(row(*cells, *predictions(p), *([ms(p.get("held_out_ms"))] if held else [])))
    return lines


def steps(points):
    columns = ["step", "batch", "context or input", "measured, ms", "expected (range), ms", "error"]
    lines = head(*columns, "calibrated, ms", "error", "experts touched (even)", "launch, ms")
    for p in points:
        experts = f"{p['experts_touched']:.1f} ({p['experts_even']:.1f})" if "experts_touched" in p else ""
        cells = [p["metric"], p.get("batch", 1), f"{p.get('context') or p.get('input'):,}", ms(p["measured_ms"])]
        lines.append(row(*cells, *predictions(p), experts, ms(p.get("launch_ms"))))
    return lines


def predictions(p):
    b = p["predicted"]
    expected = f"{ms(b['expected_ms'])} ({ms(b['low_ms'])} to {ms(b['high_ms'])})"
    calibrated = ms(p.get("calibrated_ms")), percent(p.get("calibrated_error"))
    return expected, percent(p["expected_error"]), *calibrated


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
    values = [abs(p[key]) for p in points if key in p]
    return f"{sum(values) / len(values):.0%}" if values else ""
