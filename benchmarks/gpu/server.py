#!/usr/bin/env python3
"""An OpenAI-compatible server of a model with random weights, for one GPU (or, with a tiny shape, a CPU):
it shows how long real shapes take, its text means nothing. Streams one event a token; every answer has
exactly max_tokens."""

import argparse
import asyncio
import json
import os
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True  # leaves no __pycache__ beside itself

import torch

import shape
import steps
from answer import Answer, as_json, reply
from engine import Engine
from model import Model
from plain import PAGE, Plain


def main():
    a = arguments()
    sys.setswitchinterval(
        0.0005
    )  # the thread that launches must not keep the one that writes waiting for 5 ms
    front = Front(a)
    front.build()
    if a.measure:
        with open(a.measure, "w") as f:
            json.dump(steps.measure(front.engine), f, indent=1)
    threading.Thread(target=front.serve_engine, daemon=True).start()
    asyncio.run(front.serve())


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument(
        "--model",
        default="meta-llama/Llama-3.1-8B-Instruct",
        help="ID or alias in model_configs.json or tiny/model_configs.json",
    )
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=8000)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--kernels", choices=["triton", "plain"], help="triton on a GPU, plain PyTorch on a CPU")
    p.add_argument("--max-num-seqs", type=int, default=128, help="rows of the largest batch (128)")
    p.add_argument("--max-model-len", type=int, default=9216, help="tokens of a prompt and its answer (9216)")
    p.add_argument(
        "--max-num-batched-tokens", type=int, default=16384, help="prompt tokens of a prefill step (16384)"
    )
    p.add_argument("--gpu-memory-utilization", type=float, default=0.9)
    p.add_argument(
        "--measure", metavar="FILE", help="before it serves: times single steps, and writes them here"
    )
    return p.parse_args()


class Front:
    """HTTP in front of the engine. Tokens come from the engine's thread in one hand-over a step."""

    def __init__(self, args):
        self.args = args
        self.engine, self.loop = None, None

    def build(self):
        a, begun = self.args, time.perf_counter()
        device = torch.device(a.device, 0) if a.device == "cuda" else torch.device(a.device)
        s = shape.find(a.model)
        model = Model(s, operations(a, device), device, torch.bfloat16, a.max_model_len + 64)
        self.engine = Engine(
            model,
            self.sink,
            a.max_num_seqs,
            a.max_model_len,
            a.max_num_batched_tokens,
            a.gpu_memory_utilization,
        )
        took, tokens = time.perf_counter() - begun, (self.engine.pages - 1) * PAGE
        print(
            f"{s.id}: {s.params / 1e9:.3f} G parameters, KV cache of {tokens} tokens, {took:.1f} s",
            flush=True,
        )

    def serve_engine(self):
        try:
            self.engine.run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # a server without its engine would only time out

    async def serve(self):
        self.loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self.connection, self.args.host, self.args.port, limit=1 << 24)
        print(
            f"listening on http://{self.args.host}:{server.sockets[0].getsockname()[1]}", flush=True
        )  # port 0: any free one
        async with server:
            await server.serve_forever()

    def sink(self, tokens):
        self.loop.call_soon_threadsafe(write_all, tokens)

    async def connection(self, reader, writer):
        try:
            while request := await read_request(reader):
                await self.answer(*request, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, method, path, body, writer):
        known = {
            "/health": lambda: ("text/plain", b""),
            "/metrics": lambda: ("text/plain; version=0.0.4", self.metrics().encode()),
            "/version": lambda: as_json({"version": "benchmarks/gpu"}),
            "/v1/models": lambda: as_json(self.models()),
            "/debug/steps": lambda: ("application/jsonl", self.step_lines()),
        }
        if method == "POST" and path == "/v1/completions":
            await self.complete(body, writer)
        elif method == "GET" and path in known:
            reply(writer, 200, *known[path]())
        else:
            reply(writer, 404, *as_json({"error": {"message": f"no {method} {path} here"}}))

    async def complete(self, body, writer):
        try:
            answer = Answer(json.loads(body), self.args.model, self.engine, writer)
        except (ValueError, KeyError, TypeError) as e:
            reply(
                writer, 400, *as_json({"error": {"message": str(e), "type": "BadRequestError", "code": 400}})
            )
            return
        answer.begin()
        self.engine.submit(answer.request)
        try:
            await answer.finished
        finally:
            answer.request.cancelled = True

    def models(self):
        return {
            "object": "list",
            "data": [
                {
                    "id": self.args.model,
                    "object": "model",
                    "created": 0,
                    "owned_by": "random",
                    "max_model_len": self.engine.max_context,
                }
            ],
        }

    def step_lines(self):
        """One line a step since the last call."""
        log = self.engine.log
        return b"".join(json.dumps(log.popleft()).encode() + b"\n" for _ in range(len(log)))

    def metrics(self):
        s = self.engine.stats()
        gauges = {
            "num_requests_running": s["running"],
            "num_requests_waiting": s["waiting"],
            "kv_cache_usage_perc": s["kv_usage"],
        }
        counters = {
            "prompt_tokens_total": s.get("prompt_tokens", 0),
            "generation_tokens_total": s.get("generation_tokens", 0),
            "num_preemptions_total": 0,
        }
        label = f'engine="0",model_name="{self.args.model}"'
        blocks = f'block_size="{PAGE}",num_gpu_blocks="{self.engine.pages - 1}",enable_prefix_caching="False"'
        lines = [exposition("gauge", name, label, value) for name, value in gauges.items()]
        lines += [exposition("counter", name, label, value) for name, value in counters.items()]
        return "".join([*lines, exposition("gauge", "cache_config_info", f"{label},{blocks}", 1)])


def exposition(kind, name, labels, value):
    """A metric under vLLM's name, in Prometheus' text format."""
    return f"# TYPE vllm:{name} {kind}\nvllm:{name}{{{labels}}} {value}\n"


def operations(args, device):
    if (args.kernels or ("triton" if device.type == "cuda" else "plain")) == "plain":
        return Plain()
    from launch import Triton  # not at the top: a CPU needs no Triton

    return Triton(
        torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 4
    )


def write_all(tokens):
    for request, token, finished in tokens:
        request.context.write(token, finished)


async def read_request(reader):
    """The method, path and body of the next request; None when the client has closed the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    line, *headers = head.split("\r\n")
    method, path, _ = line.split(" ", 2)
    fields = {name.strip().lower(): value.strip() for name, _, value in (h.partition(":") for h in headers)}
    body = await reader.readexactly(int(fields.get("content-length") or 0))
    return method, path.partition("?")[0], body


if __name__ == "__main__":
    main()
