"""Figures → Markdown."""


def markdown(figure):
    m = figure["machine"]
    lines = [
        f"{figure['date'][:10]}, {m['cores']} cores of {m['cpu']}, Linux {m['kernel']}, {m['go']}, load average before {m['load_before']}. "
        f"The server: first token {figure['ttft_ms']} ms after the request, then one each {figure['itl_ms']} ms.", "",
    ]
    for load in dict.fromkeys(r["load"] for r in figure["runs"]):
        runs = [r for r in figure["runs"] if r["load"] == load]
        lines += [f"### {load}", "", *reported(runs), "", *errors(runs), ""]
    lines += ["### The server in each run", "", *server(figure["runs"]), "", *versions(figure["clients"])]
    return "\n".join(lines) + "\n"


def grid(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def reported(runs):
    head = ["client", "requests", "TTFT p50 / p99, ms", "true", "gaps p50 / p99, ms", "true", "CPU, µs/event", "× limit", "CPU in all, s"]
    limit = next((r["cpu"]["per_event_us"] for r in runs if r["client"] == "C reader" and "cpu" in r), None)
    return grid(head, [reported_row(r, limit) for r in runs])


def reported_row(r, limit):
    if "error" in r:
        return [r["client"], f"failed: {r['error'].replace('|', '/')}", *[""] * 7]
    cost = r["cpu"]["per_event_us"]
    cpu = [f"{cost:.2f}", f"{cost / limit:.1f}" if limit else "", f"{r['cpu']['whole_s']:.1f}"]
    if "reported" not in r:
        return [r["client"], str(r["server"]["requests"]), "", "", "", "", *cpu]
    mark = " ¹" if r["per_request"] else ""
    times = [two(r[of][what]) for what in ("ttft_ms", "itl_ms") for of in ("reported", "true")]
    times[2] += mark
    return [r["client"], str(r["requests"]), *times, *cpu]


def errors(runs):
    head = ["client", "pairs", "TTFT error p50 / p99 / max, µs", "error of a gap (no sign), µs", "stamp − write, µs", "after the read − write, µs"]
    rows = [errors_row(r) for r in runs if r.get("error_of", {}).get("requests")]
    return grid(head, rows) if rows else []


def errors_row(r):
    e = r["error_of"]
    return [r["client"], str(e["requests"]), *[three(e[k]) for k in ("ttft_us", "gap_abs_us", "stamps_us", "user_us")]]


def server(runs):
    head = ["load", "client", "events", "late p50 / p99 / max, µs", "width of a write, µs", "CPU, µs/event", "clock step, µs"]
    return grid(head, [server_row(r) for r in runs if "server" in r])


def server_row(r):
    s = r["server"]
    cost = r["server_cpu_s"] / s["events"] * 1e6
    width = three(s["width_us"]) if r["writing"] else "not told"
    return [r["load"], r["client"], f"{s['events']:,}", three(s["late_us"]), width, f"{cost:.1f}", f"{r['clock_step_us']:.0f}"]


def versions(clients):
    yield "¹ each request's mean gap: it tells no more. Versions:"
    yield ""
    for c in clients:
        yield f"- {c['name']}: " + (f"{c['version']}; {c['note']}" if c["version"] else f"not there ({c['install']})")


def two(s):
    return f"{s['p50']:.2f} / {s['p99']:.2f}" if s else "—"


def three(s):
    return f"{s['p50']:,.0f} / {s['p99']:,.0f} / {s['max']:,.0f}" if s else "—"
