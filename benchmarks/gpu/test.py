#!/usr/bin/env python3
"""Tests without a GPU: `python benchmarks/gpu/test.py`. The kernels run in Triton's interpreter (which
needs NumPy before 2.3), and are compiled for the card; engine, server and `run` serve tiny shapes on the
CPU."""

import os
import sys

os.environ["TRITON_INTERPRET"] = os.environ.get("TRITON_INTERPRET", "1")
sys.dont_write_bytecode = True

import asyncio
import dataclasses
import json
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import torch

import points
import shape
import steps
import table
from engine import Engine, Request
from model import Model
from plain import PAGE, Plain

CPU = torch.device("cpu")
DENSE, SPARSE = shape.find("bench/tiny-dense"), shape.find("bench/tiny-moe")
# The heads of the real models, in narrow layers.
HEADS_8B = dataclasses.replace(DENSE, heads=32, kv_heads=8, head_dim=128)
HEADS_30B = dataclasses.replace(SPARSE, heads=32, kv_heads=4, head_dim=128, experts=16, top_k=8)


def setUpModule():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def triton():
    try:
        from launch import Triton
    except ImportError as e:
        raise unittest.SkipTest(str(e))
    return Triton(multiprocessors=4)


class Kernels(unittest.TestCase):
    """Each kernel beside plain PyTorch in float32: the interpreter has no products in bf16."""

    def near(self, a, b):
        self.assertLess(steps.error(a, b), 1e-5)

    def test_model(self):
        for s in (HEADS_8B, HEADS_30B):
            model = Model(s, triton(), CPU, torch.float32, 1024)
            model.allocate(8)
            for name, off in steps.check(model).items():
                self.assertLess(off, 1e-5, f"{s.id}, {name}")

    def test_attention_over_many_pages(self):
        for s in (DENSE, HEADS_30B):
            cache = torch.randn(2, 12, s.kv_heads, PAGE, s.head_dim)
            qkv = torch.randn(3, s.q_size + 2 * s.kv_size)
            tables = torch.tensor([[3, 0, 0, 0, 0], [11, 2, 7, 4, 5], [6, 8, 0, 0, 0]], dtype=torch.int32)
            lengths = torch.tensor([1, 5 * PAGE, PAGE + 1])
            self.near(
                triton().decode_attention(qkv, cache, tables, lengths, s),
                Plain().decode_attention(qkv, cache, tables, lengths, s),
            )

    def test_experts_of_every_tile(self):
        for rows in (1, 70, 300):
            x, logits = torch.randn(rows, 128), torch.randn(rows, 8)
            gate_up, down = torch.randn(8, 128, 128) / 10, torch.randn(8, 128, 64) / 10
            experts, weights = triton().route(logits, 2)
            self.near(weights, Plain().route(logits, 2)[1])
            self.near(
                triton().experts(x, experts, weights, gate_up, down),
                Plain().experts(x, experts, weights, gate_up, down),
            )

    def test_experts_that_nobody_chose(self):
        x, experts = torch.randn(20, 128), torch.full((20, 2), 3, dtype=torch.int32)
        experts[:, 1] = 7
        weights, gate_up, down = (
            torch.rand(20, 2),
            torch.randn(8, 128, 128) / 10,
            torch.randn(8, 128, 64) / 10,
        )
        self.near(
            triton().experts(x, experts, weights, gate_up, down),
            Plain().experts(x, experts, weights, gate_up, down),
        )

    def test_compile_for_hopper(self):
        """In a process of its own: here the kernels are interpreted."""
        triton()
        code = subprocess.run(
            [sys.executable, Path(__file__).with_name("compiles.py")],
            env=os.environ | {"TRITON_INTERPRET": "0"},
        ).returncode
        self.assertEqual(code, 0)


class Batching(unittest.TestCase):
    def test_tokens_do_not_depend_on_the_batch(self):
        for s in (DENSE, SPARSE):
            alone = serve(s, max_seqs=1)
            self.assertEqual([len(tokens) for tokens in alone], [r.max_tokens for r in requests()])
            for rows in (3, 8, 64):
                self.assertEqual(serve(s, rows), alone)

    def test_few_pages_make_requests_wait(self):
        self.assertEqual(serve(DENSE, 8, pages=9), serve(DENSE, 8))

    def test_a_cancelled_request_gives_its_pages_back(self):
        engine = Engine(Model(DENSE, Plain(), CPU, torch.float32, 1024), lambda tokens: None, 4, 512, 400)
        gone, stays = Request([1] * 10, 300), Request([2] * 10, 20)
        for r in (gone, stays):
            engine.submit(r)
        thread = threading.Thread(target=engine.run)
        thread.start()
        gone.cancelled = True
        wait(lambda: stays.done == 20 and not engine.running)
        engine.stop()
        thread.join()
        self.assertEqual(len(engine.free), engine.pages - 1)
        self.assertLess(gone.done, 300)


def requests():
    return [
        Request(
            torch.randint(0, 32000, (17 + 13 * i,), generator=torch.Generator().manual_seed(i)).tolist(),
            1 + i * 7 % 30,
        )
        for i in range(12)
    ]


def serve(s, max_seqs, pages=0):
    """The tokens of each request."""
    work, got, finished = requests(), {}, set()

    def sink(tokens):
        for r, token, last in tokens:
            got.setdefault(id(r), []).append(token)
            if last:
                finished.add(id(r))

    engine = Engine(Model(s, Plain(), CPU, torch.float32, 1024), sink, max_seqs, 512, 400, pages=pages)
    for r in work:
        engine.submit(r)
    thread = threading.Thread(target=engine.run)
    thread.start()
    wait(lambda: len(finished) == len(work))
    engine.stop()
    thread.join()
    assert len(engine.free) == engine.pages - 1, "pages are missing"
    return [got[id(r)] for r in work]


def wait(done, seconds=60):
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.005)


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        flags = ["--model", "bench/tiny-moe", "--port", "0", "--max-num-seqs", "4", "--max-model-len", "512"]
        command = [sys.executable, Path(__file__).with_name("server.py"), *flags]
        cls.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in cls.process.stdout:
            if line.startswith("listening on"):
                cls.port = int(line.rpartition(":")[2])
                return
        raise AssertionError("the server did not start")

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.process.stdout.close()

    def ask(self, method, path, body=None):
        return asyncio.run(self.ask_all([(method, path, body)]))[0]

    async def ask_all(self, requests):
        return await asyncio.gather(*(self.one(*r) for r in requests))

    async def one(self, method, path, body):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = json.dumps(body).encode() if body is not None else b""
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split()[1])
        if "chunked" not in head:
            length = int(head.lower().partition("content-length:")[2].split()[0])
            out = status, await reader.readexactly(length)
        else:
            out = status, await events(reader)
        writer.close()
        return out

    def test_stream(self):
        body = {
            "model": "m",
            "prompt": list(range(1000, 1100)),
            "max_tokens": 7,
            "stream": True,
            "ignore_eos": True,
            "min_tokens": 7,
            "return_token_ids": True,
            "stream_options": {"include_usage": True},
        }
        status, got = self.ask("POST", "/v1/completions", body)
        self.assertEqual(status, 200)
        self.assertEqual(got[-1], "[DONE]")
        *tokens, last = [json.loads(e) for e in got[:-1]]
        self.assertEqual(len(tokens), 7)
        self.assertTrue(all(t["choices"][0]["text"] for t in tokens))
        self.assertEqual([t["choices"][0]["finish_reason"] for t in tokens], [None] * 6 + ["length"])
        self.assertEqual(last["usage"], {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107})
        self.assertEqual(last["choices"], [])

    def test_many_at_once_and_text(self):
        body = {"prompt": "one two three", "max_tokens": 5}
        for status, answer in asyncio.run(self.ask_all([("POST", "/v1/completions", body)] * 9)):
            self.assertEqual((status, json.loads(answer)["usage"]["prompt_tokens"]), (200, 3))

    def test_refused(self):
        for body in (
            {"prompt": [1] * 600},
            {"prompt": [10**9]},
            {"prompt": []},
            {},
            {"prompt": [1], "max_tokens": -1},
        ):
            self.assertEqual(self.ask("POST", "/v1/completions", body)[0], 400, body)
        self.assertEqual(self.ask("GET", "/nothing")[0], 404)

    def test_pages(self):
        self.assertEqual(self.ask("GET", "/health")[0], 200)
        self.assertEqual(json.loads(self.ask("GET", "/v1/models")[1])["data"][0]["id"], "bench/tiny-moe")
        self.assertIn(
            b"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{",
            self.ask("GET", "/metrics")[1],
        )


async def events(reader):
    out = b""
    while size := int(await reader.readline(), 16):
        out += await reader.readexactly(size)
        await reader.readline()
    return [e.removeprefix("data: ") for e in out.decode().split("\n\n") if e]


class Figures(unittest.TestCase):
    def test_a_token_meets_the_larger_batch(self):
        self.assertEqual(points.weighted_median([(1, 1), (2, 1), (9, 8)]), 9)
        self.assertIsNone(points.weighted_median([]))

    def test_three_digits(self):
        self.assertEqual(
            [table.ms(x) for x in (None, 0.5, 6.8012, 61.04, 131.6, 2048)],
            ["", "0.500", "6.80", "61.0", "132", "2.05e+03"],
        )


class Run(unittest.TestCase):
    """The whole script, where a built bench is at hand: BENCH=./bench python benchmarks/gpu/test.py Run"""

    def test_run(self):
        if not (bench := os.environ.get("BENCH")):
            self.skipTest("BENCH does not name a built bench")
        matrix = """name = "gpu"
[target]
endpoint = "http://127.0.0.1:8000"
[defaults]
warmup = 2
requests = 20
duration = "6s"
[[row]]
name = "prefill"
input = [64, 512]
output = 16
concurrency = 1
[[row]]
name = "decode"
input = 128
output = 32
concurrency = [1, 2, 4, 8, 16]
[[row]]
name = "load"
input = 128
output = 32
concurrency = 3
"""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            (out / "a.toml").write_text(matrix)
            flags = ["--bench", bench, "--model", "bench/tiny-dense", "--hardware", "cpu-core"]
            flags += ["--out", out / "out"]
            flags += ["--matrix", out / "a.toml", "--port", "8123"]
            flags += ["--", "--max-num-seqs", "16", "--max-model-len", "1024"]
            subprocess.run([sys.executable, Path(__file__).with_name("run"), *flags], check=True)
            figures = json.loads((out / "out" / "figures.json").read_text())
            points = figures["models"][0]["points"]
            metrics = {"TTFT", "decode step", "TTFT at concurrency", "TPOT at concurrency"}
            self.assertEqual({p["metric"] for p in points}, metrics)
            self.assertTrue(all(p["predicted"]["expected_ms"] > 0 for p in points))


if __name__ == "__main__":
    unittest.main()
