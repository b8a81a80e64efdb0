"""The peers, each as its own manual says it is run, and what each of them keeps of a request. None is installed from here."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import tokenizer
from clients import MODEL, Client, Seen
from server import differences

INPUT = 10  # prompt tokens


class Peer(Client):
    """A peer that pip installs: looked for in PEERS/*/bin, then in PATH."""

    program = package = ""

    def __init__(self, folder, tokens):
        self.tokens = str(tokens)  # the folder of the tokenizer
        self.install = f"pip install {self.package}"
        found = sorted(folder.glob(f"*/bin/{self.program}")) if folder else []
        self.path = str(found[0].absolute()) if found else shutil.which(self.program)

    def version(self):
        if not self.path:
            return None
        python = Path(self.path).resolve().parent / "python"  # of the virtual environment
        if not python.exists():
            python = "python3"
        ask = f"import importlib.metadata as m; print(m.version('{self.package}'))"
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
        return done.stdout.strip() or "of unknown version"

    def environment(self):
        """Offline, since the tokenizer is a folder; and no start pays for compiling what the one before has compiled."""
        return {"HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": ""}


class Vllm(Peer):
    name = "vllm bench serve"
    program = package = "vllm"
    note = "asyncio, aiohttp; its own clock starts before the send"

    def command(self, load, server, folder):
        at = ["--request-rate", str(load.rate), "--burstiness", "inf"] if load.rate else ["--max-concurrency", str(load.streams)]
        return [
            self.path, "bench", "serve", "--backend", "openai", "--base-url", server.url, "--model", MODEL, "--tokenizer", self.tokens,
            "--dataset-name", "random", "--random-input-len", str(INPUT), "--random-output-len", str(load.tokens),
            "--num-prompts", str(load.requests), *at, "--ignore-eos", "--temperature", "0", "--disable-tqdm",
            "--request-id-prefix", "peer-", "--save-result", "--save-detailed", "--result-dir", ".", "--result-filename", "result.json",
        ]

    def seen(self, load, folder):
        r = json.loads((folder / "result.json").read_text())
        all_of_them = enumerate(zip(r["ttfts"], r["itls"], r["errors"]))
        return [Seen(f"peer-{i}", ttft * 1e9, [g * 1e9 for g in gaps]) for i, (ttft, gaps, error) in all_of_them if not error]


class VllmBench(Client):
    """The client in Rust, which no package index has: README.md tells how it is built."""

    name = "vllm-bench (Rust)"
    install = "built with cargo, see README.md"
    note = "tokio, reqwest; clock after the read; sleeps by a timer of 1 ms, so that a high rate goes out in batches"
    program = "vllm-bench"

    def __init__(self, folder, tokens):
        self.tokens = str(tokens)
        found = sorted(folder.glob(f"*/target/release/{self.program}")) if folder else []
        self.path = str(found[0].absolute()) if found else shutil.which(self.program)

    def version(self):
        if not self.path:
            return None
        lines = subprocess.run([self.path, "--version"], capture_output=True, text=True).stdout.splitlines()
        return next((line.split()[-1] for line in lines if line.startswith(self.program)), "of unknown version")

    def environment(self):
        return {"HF_HUB_OFFLINE": "1"}

    def command(self, load, server, folder):
        at = ["--request-rate", str(load.rate), "--burstiness", "inf"] if load.rate else ["--max-concurrency", str(load.streams)]
        return [
            self.path, "--backend", "openai", "--base-url", server.url, "--model", MODEL, "--tokenizer", self.tokens,
            "--dataset-name", "random", "--random-input-len", str(INPUT), "--random-output-len", str(load.tokens),
            "--num-prompts", str(load.requests), *at, "--ignore-eos", "--temperature", "0", "--disable-tqdm", "--num-warmups", "0",
            "--no-steady-state", "--save-result", "--save-detailed", "--result-dir", ".", "--result-filename", "result.json",
        ]

    def seen(self, load, folder):
        r = json.loads((folder / "result.json").read_text())
        good = [(t, gaps) for t, gaps, error in zip(r["ttfts"], r["itls"], r["errors"]) if not error]
        return [Seen("", ttft * 1e9, [g * 1e9 for g in gaps]) for ttft, gaps in good]


class Aiperf(Peer):
    name = program = package = "aiperf"
    note = "workers and processes on ZeroMQ, aiohttp; telemetry off"

    def environment(self):
        return super().environment() | {"HF_HUB_OFFLINE": None}  # else it does not take a folder

    def command(self, load, server, folder):
        at = ["--request-rate", str(load.rate), "--arrival-pattern", "constant"] if load.rate else ["--concurrency", str(load.streams)]
        return [
            self.path, "profile", "-m", MODEL, "-u", server.url, "--endpoint-type", "completions", "--streaming", "--tokenizer", self.tokens,
            "--request-count", str(load.requests), *at, "--synthetic-input-tokens-mean", str(INPUT), "--output-tokens-mean", str(load.tokens),
            "--extra-inputs", "ignore_eos:true", "--use-legacy-max-tokens", "--use-server-token-count", "--no-gpu-telemetry",
            "--no-server-metrics", "--output-artifact-dir", "out", "--export-level", "records", "--ui", "none",
        ]

    def seen(self, load, folder):
        with open(folder / "out" / "profile_export.jsonl", encoding="utf-8") as f:
            return [self._seen(json.loads(line)) for line in f]

    def _seen(self, r):
        m = r["metrics"]
        gaps = [g * 1e6 for g in m["inter_chunk_latency"]["value"]]
        return Seen(r["metadata"]["x_request_id"], m["time_to_first_token"]["value"] * 1e6, gaps)


class Guidellm(Peer):
    name = program = package = "guidellm"
    note = "as many worker processes as cores, at most ten (its default of ten takes minutes to start on two), httpx"
    per_request = True

    def environment(self):
        return super().environment() | {"GUIDELLM__MAX_WORKER_PROCESSES": str(min(os.cpu_count(), 10))}

    def command(self, load, server, folder):
        at = f"kind=constant,rate={load.rate}" if load.rate else f"kind=concurrent,streams={load.streams}"
        return [
            self.path, "run", "--backend", f"kind=openai_http,target={server.url},request_format=/v1/completions,model={MODEL}",
            "--profile", at, "--constraint", f"kind=max_requests,count={load.requests}",
            "--tokenizer", f"kind=huggingface_auto,model={self.tokens}",
            "--data", f"kind=synthetic_text,prompt_tokens={INPUT},output_tokens={load.tokens}",
            "--output", "kind=json,path=result.json", "--disable-console",
        ]

    def seen(self, load, folder):
        [benchmark] = json.loads((folder / "result.json").read_text())["benchmarks"]
        return [self._seen(r) for r in benchmark["requests"]["successful"]]

    def _seen(self, r):
        t = r["info"]["timings"]
        first, last = t["first_token_iteration"], t["last_token_iteration"]
        return Seen(r["response_id"], (first - t["request_start"]) * 1e9, [(last - first) * 1e9 / (t["token_iterations"] - 1)])


class GenaiBench(Peer):
    name = program = package = "genai-bench"
    note = "locust, gevent and requests; no ids, so no error of single requests; draws plots after the load"
    per_request = True
    open_loop = False

    def command(self, load, server, folder):
        return [
            self.path, "benchmark", "--api-backend", "openai", "--api-base", server.url, "--api-key", "none", "--task", "text-to-text",
            "--api-model-name", MODEL, "--model-tokenizer", self.tokens, "--num-concurrency", str(load.streams),
            "--traffic-scenario", f"D({INPUT},{load.tokens})", "--max-time-per-run", "1", "--max-requests-per-run", str(load.requests),
            "--additional-request-params", '{"ignore_eos": true}', "--experiment-base-dir", ".", "--experiment-folder-name", "out",
        ]

    def seen(self, load, folder):
        [path] = folder.glob("out/D*.json")
        all_of_them = json.loads(path.read_text())["individual_request_metrics"]
        return [Seen("", r["ttft"] * 1e9, [r["tpot"] * 1e9]) for r in all_of_them if not r["error_code"]]


class InferencePerf(Peer):
    name = program = package = "inference-perf"
    note = "a worker process for each core, asyncio, aiohttp; its constant rate draws exponential gaps"

    def command(self, load, server, folder):
        lengths = {n: {"type": "fixed", "min": k, "max": k, "mean": k, "std_dev": 0, "total_count": load.requests}
                   for n, k in (("input_distribution", INPUT), ("output_distribution", load.tokens))}
        if load.rate:
            shape = {"type": "constant", "stages": [{"rate": load.rate, "duration": round(load.requests / load.rate)}]}
        else:
            shape = {"type": "concurrent", "stages": [{"num_requests": load.requests, "concurrency_level": load.streams}]}
        config = {
            "api": {"type": "completion", "streaming": True}, "data": {"type": "synthetic"} | lengths,
            "load": shape | {"num_workers": os.cpu_count(), "worker_max_concurrency": load.streams},
            "server": {"type": "vllm", "model_name": MODEL, "base_url": server.url, "ignore_eos": True},
            "tokenizer": {"pretrained_model_name_or_path": self.tokens}, "storage": {"local_storage": {"path": "out"}},
            "report": {"request_lifecycle": {"summary": True, "per_stage": False, "per_request": True}},
        }
        (folder / "config.yml").write_text(json.dumps(config))  # JSON is YAML
        return [self.path, "-c", "config.yml"]

    def seen(self, load, folder):
        all_of_them = json.loads((folder / "out" / "per_request_lifecycle_metrics.json").read_text())
        return [s for r in all_of_them if (s := self._seen(r))]

    def _seen(self, r):
        times = [t * 1e9 for t in ((r.get("info") or {}).get("response_metrics") or {}).get("chunk_times") or []]
        id = re.search(r'"id": ?"([^"]+)"', r.get("response") or "")
        if r.get("error") or not times:
            return None
        return Seen(id.group(1) if id else "", times[0] - r["start_time"] * 1e9, differences(times))


class Wrk(Client):
    name = "wrk"
    install = "apt-get install wrk"
    note = "closed loop by duration; it knows no events, so only its CPU compares"
    open_loop = streams = False

    def version(self):
        if not shutil.which("wrk"):
            return None
        return subprocess.run(["wrk", "-v"], capture_output=True, text=True).stdout.split("[")[0].strip()

    def command(self, load, server, folder):
        body = json.dumps({"model": MODEL, "prompt": "a b c", "max_tokens": load.tokens, "ignore_eos": True, "stream": True})
        (folder / "post.lua").write_text(
            f"wrk.method = 'POST'\nwrk.body = '{body}'\nwrk.headers['Content-Type'] = 'application/json'\n"
        )
        threads, seconds = min(os.cpu_count(), load.streams), load.seconds()
        return ["wrk", "-t", str(threads), "-c", str(load.streams), "-d", f"{seconds}s", "--timeout", "30s", "-s", "post.lua", server.url + "/v1/completions"]


def peers(out, folder):
    """All of them, there or not."""
    tokens = out / "tokenizer"
    tokenizer.write(tokens)
    return [kind(folder, tokens) for kind in (Vllm, VllmBench, Aiperf, Guidellm, InferencePerf, GenaiBench)] + [Wrk()]
