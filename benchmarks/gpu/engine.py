"""Continuous batching: a step prefills whole prompts, or decodes the batch. Steps are queued one ahead of
the one whose tokens are delivered, so that the device does not wait for the host between decode steps."""

import collections
import threading
import time
from dataclasses import dataclass, field

import torch

from plain import PAGE

BATCHES = [1, 2, 4, 8, 16, 32, 64, 128]  # decode batches are padded to the next of these


@dataclass(eq=False)  # a request is itself alone, whatever its tokens are
class Request:
    """tokens are the prompt's ids. The engine's sink gets a list of (request, token, finished) for each
    step."""

    tokens: list
    max_tokens: int
    context: object = None  # the front end's own
    cancelled: bool = False
    pages: list = field(default_factory=list)
    done: int = 0  # tokens launched
    arrived: float = field(default_factory=time.perf_counter)

    @property
    def position(self):
        """Of the token that the next decode step feeds: its place in the sequence."""
        return len(self.tokens) + self.done - 1


@dataclass
class Step:
    """A launched step. The time of the device is between its two events."""

    kind: str  # "prefill" or "decode"
    requests: list
    out: torch.Tensor  # the tokens, on the host once the step has ended
    start: object
    end: object
    padded: int  # rows computed
    tokens: int  # prefill: prompt tokens; decode: tokens in the KV cache, of all rows
    launch_ms: float = 0.0  # of the host


class Clock:
    """An event of a device without events: the time of the host."""

    def record(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return (other.at - self.at) * 1000


class Engine:
    """run is the loop of one thread; submit and stats may be called from any."""

    def __init__(
        self, model, sink, max_seqs=128, max_context=8192 + 1024, max_step_tokens=16384, memory=0.9, pages=0
    ):
        self.model, self.sink, self.max_seqs, self.max_step_tokens = model, sink, max_seqs, max_step_tokens
        self.cuda = model.device.type == "cuda"
        self.table_pages = -(-max_context // PAGE)
        self.max_context = self.table_pages * PAGE
        self.pages = pages or self.pages_that_fit(memory)
        model.allocate(self.pages)
        self.free = list(range(1, self.pages))
        self.waiting, self.running, self.flying = collections.deque(), [], collections.deque()
        self.wake, self.stopped = threading.Condition(), False
        self.log = collections.deque(maxlen=500_000)
        self.totals = collections.Counter()
        self.previous_end = None
        self.batch = []  # the requests whose state is in the rows of the device
        self.columns = {}  # id of a request → its index in the tokens of the last steps (rows, then fresh)
        self.tokens = self.rows(torch.int64)
        self.positions = self.rows(torch.int64)
        self.active = self.rows(torch.int64)
        self.tables = torch.zeros(max_seqs, self.table_pages, dtype=torch.int32, device=model.device)
        self.fresh = self.tokens[:0]  # first tokens of prompts that are in no row yet
        self.graphs = {}
        if self.cuda:
            self.capture()

    def rows(self, dtype):
        return torch.zeros(self.max_seqs, dtype=dtype, device=self.model.device)

    def pages_that_fit(self, memory):
        """As many pages as the share of the memory holds beside weights and a step's activations, and rows
        can use."""
        most = self.max_seqs * self.table_pages + 1
        if not self.cuda:
            return most
        free, total = torch.cuda.mem_get_info()
        s = self.model.shape
        widest = max(
            2 * s.intermediate, s.top_k * (s.hidden + s.expert_intermediate), s.q_size + 2 * s.kv_size
        )
        activations = self.max_step_tokens * (widest + 8 * s.hidden) * 2 + (1 << 30)
        return min(most, int((free - (1 - memory) * total - activations) / (s.kv_bytes_per_token * PAGE)))

    # Decode, as one graph for each padded batch.

    def decode_rows(self, b):
        next_tokens = self.model.decode(self.tokens[:b], self.positions[:b], self.tables[:b])
        self.tokens[:b] = next_tokens
        self.positions[:b] += self.active[:b]  # rows without a request stay at position 0

    @torch.inference_mode()
    def capture(self):
        pool = None
        torch.cuda.synchronize()
        for b in sorted((b for b in BATCHES if b <= self.max_seqs), reverse=True):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for _ in range(2):  # compiles the kernels, and lets the matrix library choose its own
                    self.decode_rows(b)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool):
                self.decode_rows(b)
            pool = pool or graph.pool()
            self.graphs[b] = graph

    def padded(self, n):
        return next((b for b in BATCHES if b >= n and b <= self.max_seqs), self.max_seqs)

    def replay(self, b):
        if b in self.graphs:
            self.graphs[b].replay()
        else:
            self.decode_rows(b)

    # The front end's side.

    def fits(self, tokens):
        """Whether a request with so many tokens, its answer included, can ever be served."""
        return tokens <= min(self.max_context, (self.pages - 1) * PAGE)

    def submit(self, request):
        with self.wake:
            self.waiting.append(request)
            self.wake.notify()

    def stop(self):
        with self.wake:
            self.stopped = True
            self.wake.notify()

    def stats(self):
        used = self.pages - 1 - len(self.free)
        return {
            "running": len(self.running),
            "waiting": len(self.waiting),
            "kv_usage": used / (self.pages - 1),
            **self.totals,
        }

    # The loop.

    def run(self):
        with torch.inference_mode():
            while not self.stopped:
                if batch := self.admit():
                    self.launch_prefill(batch)
                elif self.running:
                    self.launch_decode()
                elif not self.flying:
                    self.sleep()
                    continue
                ahead = 1 if self.running else 0
                while len(self.flying) > ahead:
                    self.land(self.flying.popleft())

    def sleep(self):
        self.previous_end = None  # the device idles because there is no work
        with self.wake:
            self.wake.wait_for(lambda: self.waiting or self.stopped)

    def admit(self):
        """The first requests of the queue that fit into a step, the rows and the KV cache. A request gets
        the pages of its whole answer at once, so none is ever preempted."""
        self.running = [r for r in self.running if not r.cancelled or self.release(r)]
        batch, tokens = [], 0
        while self.waiting and len(self.running) + len(batch) < self.max_seqs:
            r = self.waiting[0]
            pages = -(-(len(r.tokens) + r.max_tokens) // PAGE)
            if pages > len(self.free) or batch and tokens + len(r.tokens) > self.max_step_tokens:
                break
            self.waiting.popleft()
            if r.cancelled:
                continue
            r.pages, self.free = self.free[:pages], self.free[pages:]
            tokens += len(r.tokens)
            batch.append(r)
        return batch

    def release(self, r):
        """Gives the pages back. Later steps that write to them run behind those that read them."""
        self.free += r.pages
        r.pages = []

    def device(self, data, dtype=torch.int64):
        """A copy on the device, without waiting for it: PyTorch keeps the pinned memory until the copy is
        done."""
        host = torch.tensor(data, dtype=dtype, pin_memory=self.cuda)
        return host.to(self.model.device, non_blocking=True)

    def launch_prefill(self, batch):
        begun = time.perf_counter()
        start = self.event()
        out = self.prefill([r.tokens for r in batch], [r.pages for r in batch])
        at = self.max_seqs + len(self.fresh)
        self.columns.update({id(r): at + i for i, r in enumerate(batch)})
        self.fresh = torch.cat([self.fresh, out])
        self.fly("prefill", batch, out, start, len(batch), sum(len(r.tokens) for r in batch), begun)
        self.running += [r for r in batch if r.pages]
        if not self.running:
            self.fresh = self.tokens[:0]  # answers of one token need no row

    def prefill(self, prompts, pages):
        tokens = self.device([t for p in prompts for t in p])
        positions, slots, bounds, at = [], [], [], 0
        for prompt, own in zip(prompts, pages):
            position = torch.arange(len(prompt), device=self.model.device)
            slots.append(self.device(own)[position // PAGE] * PAGE + position % PAGE)
            positions.append(position)
            bounds.append((at, at + len(prompt)))
            at += len(prompt)
        last = self.device([end - 1 for _, end in bounds])
        return self.model.prefill(tokens, torch.cat(positions), torch.cat(slots), bounds, last)

    def launch_decode(self):
        begun = time.perf_counter()
        start = self.event()
        if self.batch != self.running:
            self.place()
        batch, cached = list(self.batch), sum(r.position + 1 for r in self.batch)
        b = self.padded(len(batch))
        self.replay(b)
        self.fly("decode", batch, self.tokens[: len(batch)], start, b, cached, begun)
        self.running = [r for r in self.running if r.pages]

    def place(self):
        """Puts the running requests into rows 0, 1, …: their last tokens are on the device alone, the rest
        is known here."""
        rows = self.max_seqs
        idle = [0] * (rows - len(self.running))
        columns = self.device([self.columns[id(r)] for r in self.running] + idle)
        self.tokens.copy_(torch.cat([self.tokens, self.fresh])[columns])
        self.positions.copy_(self.device([r.position for r in self.running] + idle))
        self.active.copy_(self.device([1] * len(self.running) + idle))
        tables = [r.pages + [0] * (self.table_pages - len(r.pages)) for r in self.running]
        self.tables[: len(tables)].copy_(self.device(tables, torch.int32))
        self.tables[len(tables) :].zero_()
        self.batch = list(self.running)
        self.columns = {id(r): i for i, r in enumerate(self.batch)}
        self.fresh = self.tokens[:0]

    def event(self):
        e = torch.cuda.Event(enable_timing=True) if self.cuda else Clock()
        e.record()
        return e

    def fly(self, kind, requests, tokens, start, padded, context, begun):
        out = torch.empty(len(requests), dtype=torch.int64, pin_memory=self.cuda)
        out.copy_(tokens, non_blocking=True)
        step = Step(
            kind, requests, out, start, self.event(), padded, context, (time.perf_counter() - begun) * 1000
        )
        for r in requests:
            r.done += 1
            if r.done == r.max_tokens:
                self.release(r)
        self.flying.append(step)

    def land(self, step):
        """Waits for the step, hands its tokens on, and notes its time."""
        step.end.synchronize()
        last = [not r.pages and r.done == r.max_tokens and not self.in_flight(r) for r in step.requests]
        self.sink(list(zip(step.requests, step.out.tolist(), last)))
        idle = self.previous_end.elapsed_time(step.start) if self.previous_end else None
        self.previous_end = step.end
        self.totals["generation_tokens"] += len(step.requests)
        if step.kind == "prefill":
            self.totals["prompt_tokens"] += step.tokens
        self.log.append(
            {
                "kind": step.kind,
                "at": time.time(),
                "rows": len(step.requests),
                "padded": step.padded,
                "tokens": step.tokens,
                "ms": step.start.elapsed_time(step.end),
                "idle_ms": idle,
                "launch_ms": step.launch_ms,
            }
        )

    def in_flight(self, r):
        return any(r in step.requests for step in self.flying)
