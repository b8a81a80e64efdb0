"""The ground truth beside the client's figures: the time of single steps, taken by the server itself
between two events of the device, without HTTP or a scheduler. Also what the card reaches in a copy and in a
matrix product, and which kernels the time goes to."""

import copy
import platform
import statistics
import time

import torch

from engine import BATCHES
from plain import PAGE, Plain

DECODE_CONTEXTS = [128, 1024, 4096]  # tokens in the KV cache of each row
PREFILL_LENGTHS = [128, 256, 512, 1024, 2048, 4096, 8192]


@torch.inference_mode()
def measure(engine, repeats=20):
    model = engine.model
    figures = {
        "model": model.shape.id,
        "params": model.shape.params,
        "kernels": model.ops.name,
        "device": device(engine),
    }
    figures["check"] = check(model)
    if engine.cuda:
        figures["ceilings"] = ceilings(model.device)
    figures["decode"] = [
        decode(engine, b, c, repeats)
        for c in DECODE_CONTEXTS
        for b in BATCHES
        if b <= engine.max_seqs and room(engine, b, c)
    ]
    figures["prefill"] = [
        prefill(engine, n) for n in PREFILL_LENGTHS if n < engine.max_context and room(engine, 1, n)
    ]
    if engine.cuda:
        figures["profile"] = profiles(engine)
    return figures


def device(engine):
    d = {
        "torch": torch.__version__,
        "kv_tokens": (engine.pages - 1) * PAGE,
        "python": platform.python_version(),
    }
    if engine.cuda:
        p = torch.cuda.get_device_properties(0)
        d |= {
            "name": p.name,
            "memory_gib": round(p.total_memory / 2**30, 1),
            "multiprocessors": p.multi_processor_count,
            "cuda": torch.version.cuda,
        }
    return d


def timed(engine, work, repeats):
    """The times of the device for each of the repeats, in ms."""
    times = []
    for _ in range(repeats):
        start = engine.event()
        work()
        end = engine.event()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return times


def summary(times):
    times = sorted(times)
    return {
        "ms": statistics.median(times),
        "p10_ms": times[len(times) // 10],
        "p90_ms": times[-1 - len(times) // 10],
        "n": len(times),
    }


def room(engine, rows, context):
    return context < engine.max_context and rows * pages(context) < engine.pages


def pages(context):
    return context // PAGE + 1


def fill(engine, rows, context):
    """Puts rows of this context into the batch: random tokens, pages of their own, whose contents do not
    matter."""
    engine.tokens.random_(engine.model.shape.vocab)
    engine.positions.zero_()
    engine.positions[:rows] = context - 1  # the step then reads context tokens, its own among them
    engine.active.zero_()  # the same step again and again
    engine.tables.zero_()
    n = pages(context - 1)
    own = torch.arange(1, rows * n + 1, dtype=torch.int32, device=engine.model.device)
    engine.tables[:rows, :n] = own.view(rows, n)


def decode(engine, rows, context, repeats):
    fill(engine, rows, context)
    timed(engine, lambda: engine.replay(rows), 3)
    figures = {
        "batch": rows,
        "context": context,
        **summary(timed(engine, lambda: engine.replay(rows), repeats)),
    }
    if engine.model.shape.experts:
        figures |= touched(engine, rows)
    return figures


def touched(engine, rows):
    """The mean number of experts of a layer that the batch chose, beside what an even choice would give."""
    model, ops, counts = engine.model, engine.model.ops, []

    def route(logits, top_k):
        experts, weights = type(ops).route(ops, logits, top_k)
        counts.append(len(experts.unique()))
        return experts, weights

    ops.route = route
    model.decode(engine.tokens[:rows], engine.positions[:rows], engine.tables[:rows])
    del ops.route
    s = model.shape
    return {
        "experts_touched": statistics.mean(counts),
        "experts_even": s.experts * (1 - (1 - s.top_k / s.experts) ** rows),
    }


def prefill(engine, length, repeats=7):
    """Launched layer by layer: launch_ms is the time of the host, which hides behind the device's for long
    prompts."""
    prompt = torch.randint(engine.model.shape.vocab, (length,)).tolist()
    own = list(range(1, pages(length) + 1))
    launch = []

    def work():
        begun = time.perf_counter()
        engine.prefill([prompt], [own])
        launch.append((time.perf_counter() - begun) * 1000)

    timed(engine, work, 2)
    times = timed(engine, work, repeats)
    return {"input": length, **summary(times), "launch_ms": statistics.median(launch[-repeats:])}


def ceilings(device):
    """What the card reaches: a copy of 1 GiB, bytes read and written, and a bf16 product of 8192³."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device=device).random_()
    target = torch.empty_like(source)
    copy_ms = median_ms(lambda: target.copy_(source), 10)
    x = torch.randn(8192, 8192, dtype=torch.bfloat16, device=device)
    y = torch.randn_like(x)
    product_ms = median_ms(lambda: x @ y, 10)
    return {"copy_gb_s": 2 * (1 << 30) / copy_ms / 1e6, "bf16_tflops": 2 * 8192**3 / product_ms / 1e9}


def median_ms(work, repeats):
    """The median time of the device, after three times that do not count."""
    times = []
    for _ in range(repeats + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[3:])


def profiles(engine):
    """The kernels that the time goes to, for a few steps. A profiler that does not start is no reason to
    stop."""
    out = {}
    for name, work in [
        ("decode, batch 1, context 1024", lambda: decode_once(engine, 1)),
        ("decode, batch 64, context 1024", lambda: decode_once(engine, min(64, engine.max_seqs))),
        ("prefill, 2048 tokens", lambda: prefill(engine, 2048, repeats=1)),
    ]:
        try:
            out[name] = profile(work)
        except Exception as e:
            out[name] = str(e)
    return out


def decode_once(engine, rows):
    if room(engine, rows, 1024):
        fill(engine, rows, 1024)
        engine.replay(rows)


def profile(work, most=14):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
        work()
        torch.cuda.synchronize()
    rows = sorted(p.key_averages(), key=lambda e: -e.self_device_time_total)[:most]
    return [{"kernel": e.key[:90], "calls": e.count, "ms": e.self_device_time_total / 1000} for e in rows]


def check(model):
    """Relative errors of the logits, on the first two layers: the kernels beside plain PyTorch, and a
    prompt's last token as a decode step beside the same token inside of the prompt."""
    small = copy.copy(model)
    small.layers, small.cache = model.layers[:2], model.cache[:2]
    plain = copy.copy(small)
    plain.ops = Plain()
    own, reference = both_ways(small), both_ways(plain)
    return {
        "prefill_beside_plain": error(own[0], reference[0]),
        "decode_beside_plain": error(own[1], reference[1]),
        "decode_beside_prefill": error(own[1], own[0]),
    }


def both_ways(model, length=70):
    """The logits behind a prompt, with all its tokens prefilled, and with the last of them decoded in a
    batch of 3."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(model.shape.vocab, (length,), generator=generator).to(model.device)
    positions = torch.arange(length, device=model.device)

    def prefilled(n):
        last = torch.tensor([n - 1], device=model.device)
        return model.prefill_logits(tokens[:n], positions[:n], positions[:n] + PAGE, [(0, n)], last)

    whole = prefilled(length)
    prefilled(length - 1)
    tables = torch.zeros(3, pages(length) + 1, dtype=torch.int32, device=model.device)
    tables[1, : pages(length)] = torch.arange(1, pages(length) + 1)
    feed, at = torch.zeros(2, 3, dtype=torch.int64, device=model.device)
    feed[1], at[1] = tokens[-1], length - 1
    return whole[0], model.decode_logits(feed, at, tables)[1]


def error(a, b):
    return ((a.float() - b.float()).norm() / b.float().norm()).item()
