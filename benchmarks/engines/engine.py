"""What an engine reports about itself, read without bench: its models and the counters of its metrics page."""

import json
import re
import time
import urllib.request

SAMPLE = re.compile(r'^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)')


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def model(base):
    """The only model: (name, folder or None)."""
    (one,) = json.loads(get(f"{base}/v1/models"))["data"]
    return one["id"], one.get("root")


def counters(base):
    """{name: sum over its series}, without the labels; buckets are left out, a label of interest becomes name{value}."""
    sums = {}
    for line in get(f"{base}/metrics").splitlines():
        found = SAMPLE.match(line)
        if not found or found[1].endswith(("_bucket", "_created")):
            continue
        name, value = found[1], float(found[3])
        sums[name] = sums.get(name, 0) + value
        for source in re.findall(r'(?:^|,)source="([^"]*)"', found[2] or ""):
            sums[f"{name}{{{source}}}"] = sums.get(f"{name}{{{source}}}", 0) + value
    return sums


def idle(base, limit_s=60):
    """Waits until no request runs or waits; False if some still do."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        now = counters(base)
        left = sum(v for k, v in now.items() if k in (
            "vllm:num_requests_running", "vllm:num_requests_waiting", "llamacpp:requests_processing", "llamacpp:requests_deferred"))
        if left == 0:
            return True
        time.sleep(0.2)
    return False


def difference(before, after):
    return {k: v - before.get(k, 0) for k, v in after.items()}
