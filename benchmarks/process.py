"""Runs a client and accounts for its CPU, children and grandchildren included (Linux: /proc)."""

import ctypes
import os
import resource
import signal
import subprocess
import time
from dataclasses import dataclass, field

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SAMPLE_S = 0.2  # a look at /proc takes a few ms of CPU of ours
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Outcome:
    code: int | None  # None: it ran past its limit and was ended
    wall_s: float
    cpu_s: float  # user + system of the whole process tree, from start to end
    samples: list = field(default_factory=list)  # (ns of the wall clock, CPU s so far)

    def cpu_between(self, start_ns, end_ns):
        """CPU s used between two times, straight lines between the samples."""
        return self._cpu_at(end_ns) - self._cpu_at(start_ns)

    def _cpu_at(self, t):
        before = (self.samples[0][0], 0.0)
        for sample in self.samples:
            if sample[0] >= t:
                width = max(sample[0] - before[0], 1)
                return before[1] + (sample[1] - before[1]) * (t - before[0]) / width
            before = sample
        return before[1]


def adopt_orphans():
    """Makes grandchildren whose parent has ended ours, so that none is left behind and all are accounted for."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_of(pid):
    """(parent, CPU s) of a process, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), (int(fields[11]) + int(fields[12])) * TICK_S


def descendants(apart):
    """{pid: CPU s} of all our descendants but those under the pids in apart."""
    found = {int(p): cpu_of(p) for p in os.listdir("/proc") if p.isdigit()}
    children = {}
    for pid, stat in found.items():
        if stat:
            children.setdefault(stat[0], []).append(pid)
    tree, todo = {}, [os.getpid()]
    while todo:
        for pid in children.get(todo.pop(), []):
            if pid not in apart:
                tree[pid] = found[pid][1]
                todo.append(pid)
    return tree


class Tree:
    """The CPU of a process tree over time; what has ended keeps what it had when last seen."""

    def __init__(self, apart):
        self.apart, self.last, self.samples = apart, {}, []

    def look(self):
        self.last |= descendants(self.apart)
        self.samples.append((time.time_ns(), sum(self.last.values())))


def run(command, env, cwd, log, apart, limit_s):
    """Runs a command to its end, its output in the file log. env changes the environment, None takes out; apart are pids (the
    server) that are none of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start, code = time.monotonic(), None
    tree = Tree(apart)
    env = {k: v for k, v in (os.environ | env).items() if v is not None}
    with open(log, "wb") as out:
        child = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            while code is None and time.monotonic() - start < limit_s:
                tree.look()
                try:
                    code = child.wait(SAMPLE_S)
                except subprocess.TimeoutExpired:
                    pass
            wall = time.monotonic() - start
        finally:
            end_all(apart)
            child.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome(code, wall, cpu, tree.samples)


def end_all(apart):
    """Ends what is left of a client: asks, waits two seconds, then kills."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + 2
        for pid in descendants(apart):
            try:
                os.kill(pid, signum)
            except ProcessLookupError:
                pass
        while reap(apart) and time.monotonic() < deadline:
            time.sleep(0.05)


def reap(apart):
    """Collects descendants that have ended; returns those that have not."""
    left = descendants(apart)
    for pid in list(left):
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                del left[pid]
        except ChildProcessError:
            pass  # not ours to wait for: a grandchild, or already waited for
    return left
