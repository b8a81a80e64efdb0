"""Figures from raw data: percentiles, errors against the truth, CPU per event."""

from math import floor

from server import differences


def percentile(ordered, p):
    """Hyndman and Fan's type 7, what numpy and bench use; ordered must be sorted and not empty."""
    h = (len(ordered) - 1) * p / 100
    low = floor(h)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (h - low)


def summary(values, divisor=1):
    """n, min, p50, p99 and max of values over divisor; None of nothing."""
    v = sorted(values)
    if not v:
        return None
    shown = {"n": len(v)}
    for name, p in (("min", 0), ("p50", 50), ("p99", 99), ("max", 100)):
        shown[name] = round(percentile(v, p) / divisor, 3)
    return shown


def mean(values):
    return sum(values) / len(values)


def of_server(truths):
    """How exact the server itself was; µs."""
    return {
        "late_us": summary([w - d for t in truths for w, d in zip(t.writing, t.due)], 1e3),
        "width_us": summary([b - a for t in truths for a, b in zip(t.writing, t.written)], 1e3),
        "arrived_gap_us": summary(differences(sorted(t.arrival for t in truths)), 1e3),
    }


def true_distributions(truths, per_request):
    """TTFT, and the gaps or, where the client tells no more, each request's mean gap; ms."""
    gaps = [mean(t.gaps()) for t in truths] if per_request else [g for t in truths for g in t.gaps()]
    return {"ttft_ms": summary([t.ttft() for t in truths], 1e6), "itl_ms": summary(gaps, 1e6)}


def reported_distributions(seen):
    return {
        "ttft_ms": summary([s.ttft for s in seen if s.ttft is not None], 1e6),
        "itl_ms": summary([g for s in seen for g in s.gaps], 1e6),
    }


def pair(seen, truths):
    """(seen, truth) of the same request, by the client's id or the server's."""
    by_id = {t.request_id: t for t in truths} | {t.id: t for t in truths}
    by_id.pop("", None)
    return [(s, by_id[s.id]) for s in seen if s.id in by_id]


def errors(pairs, per_request):
    """The client's error, event by event: its stamp − the truth, its gap − the true gap (as it is, and without its sign), µs."""
    whole = [(s, t) for s, t in pairs if per_request or len(s.gaps) == len(t.due) - 1]
    ttft = [s.ttft - t.ttft() for s, t in pairs if s.ttft is not None]
    gaps = [] if per_request else [g - true for s, t in whole for g, true in zip(s.gaps, t.gaps())]
    out = {
        "requests": len(pairs), "requests_with_all_events": len(whole),
        "ttft_us": summary(ttft, 1e3), "gap_us": summary(gaps, 1e3), "gap_abs_us": summary(map(abs, gaps), 1e3),
    }
    for name in ("stamps", "user"):
        late = [a - b for s, t in whole if getattr(s, name) for a, b in zip(getattr(s, name), t.writing)]
        out[f"{name}_us"] = summary(late, 1e3)
    return out
