"""guidellm's sweep profile, its own class, fed with simulated benchmarks of 30 s: synchronous, throughput with 512
streams, then eight rates on a linear grid between. As in guidellm, a benchmark has no warm-up, and what is in flight
at its end is cancelled and not counted. Even gaps are its default. Poisson arrivals here are true ones; in guidellm
0.8 workers share a seed, so that gaps repeat."""

import contextlib
import io
import types

import windows

with contextlib.redirect_stdout(io.StringIO()):
    from guidellm.benchmark.profiles.sweep import SweepProfile
    from guidellm.schemas.benchmark.profiles import SweepProfileArgs

BENCHMARK_S = 30


def search(server, seed):
    for arrivals, kind in (("constant", "constant"), ("poisson", "rate")):
        yield sweep(server, seed, arrivals, kind)


def sweep(server, seed, arrivals, kind):
    found = windows.Found(f"guidellm sweep, {arrivals}", server.name, seed)
    profile = SweepProfile(SweepProfileArgs(kind="sweep", strategy_type=arrivals), random_seed=seed, constraints=None)
    streams = {"synchronous": 1, "throughput": profile.args.max_concurrency}
    strategy, benchmark = None, None
    while (strategy := profile.next_strategy(strategy, benchmark)) is not None:
        profile.completed_strategies.append(strategy)
        probe = windows.probe_seed(seed, len(profile.completed_strategies))
        if strategy.type_ in streams:
            window = server.window(streams[strategy.type_], 0, BENCHMARK_S, probe, "concurrency")
        else:
            window = server.window(strategy.rate, 0, BENCHMARK_S, probe, kind)
        ended = window.values(server.metric, BENCHMARK_S)
        benchmark = benchmark_of(len(ended) / BENCHMARK_S)
        if strategy.type_ == "throughput":  # overloaded by design: no evidence about a rate
            found.line["beside_s"] = BENCHMARK_S
            continue
        found.add(getattr(strategy, "rate", len(ended) / BENCHMARK_S), server.meets(ended), BENCHMARK_S)
    found.bracket()
    return found


def benchmark_of(rate):
    """What the sweep reads of a benchmark: its rate of successful requests."""
    mean = types.SimpleNamespace(successful=types.SimpleNamespace(mean=rate))
    return types.SimpleNamespace(request_throughput=mean)


if __name__ == "__main__":
    windows.main(search)
