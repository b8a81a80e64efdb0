"""A fixed grid: ten rates, evenly spaced on a logarithmic scale from 1/8 to twice the capacity, 5 s of warm-up and 40 s
of window each, drained. Its place between two rates is drawn, so that no rate lies at the limit by luck."""

import random

import windows

RATES, WARMUP_S, WINDOW_S = 10, 5, 40


def search(server, seed):
    found = windows.Found("grid", server.name, seed)
    step = 16 ** (1 / (RATES - 1))
    lowest = server.capacity / 8 * step ** random.Random(seed).uniform(-0.5, 0.5)
    for i in range(RATES):
        rate = lowest * step**i
        window = server.window(rate, WARMUP_S, WINDOW_S, windows.probe_seed(seed, i))
        found.add(rate, server.meets(window.values(server.metric)), max(WARMUP_S + WINDOW_S, window.server_s()))
    found.bracket()
    yield found


if __name__ == "__main__":
    windows.main(search)
