"""The clients of this repository: bench itself, and the reader in C that is its limit."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from math import ceil
from pathlib import Path

from server import ITL_MS, TTFT_MS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODEL = "bench-mock"


def answer_s(tokens):
    """How long the server takes for an answer."""
    return (TTFT_MS + (tokens - 1) * ITL_MS) / 1000


@dataclass
class Load:
    """What every client is asked to do."""

    streams: int  # at once
    requests: int
    tokens: int  # of each
    rate: float | None  # requests/s at even distances (spread); None: all slots at once, the next one when one is free (bursts)

    @property
    def name(self):
        return f"{self.streams:,} streams, {'spread' if self.rate else 'bursts'}"

    def seconds(self):
        """About how long it takes, in whole s: one answer after the other in each slot."""
        return ceil(self.requests / self.streams * answer_s(self.tokens))


@dataclass
class Seen:
    """What a client says of one request; ns."""

    id: str  # the request's or the answer's; "": it does not tell
    ttft: float | None
    gaps: list = field(default_factory=list)  # or one mean of them, where the client tells no more
    stamps: list = field(default_factory=list)  # of each event, wall clock, where the client tells them
    user: list = field(default_factory=list)  # the same by the clock after the read, where stamps are the kernel's


class Client:
    """A client: how to find it, what to run, what it says."""

    name = ""
    install = ""  # what a user can do to have it
    note = ""
    per_request = False  # tells only the mean gap of each request
    open_loop = True  # can send at a rate
    streams = True  # measures single events

    def version(self):
        """The version; None if it is not there."""
        raise NotImplementedError

    def command(self, load, server, folder):
        raise NotImplementedError

    def environment(self):
        """Changes to the environment; None takes a variable out."""
        return {}

    def seen(self, load, folder):
        """A list of Seen of the requests that the client calls good."""
        raise NotImplementedError

    def own_cpu_s(self, folder):
        """CPU s of its load alone, where it tells that itself."""
        return None

    def details(self, folder):
        """What else it says of the run, for figures.json."""
        return {}


class Reader(Client):
    name = "C reader"
    install = "a C compiler: apt-get install gcc"
    note = "the limit: epoll and recvmsg, nothing parsed"

    def __init__(self, work):
        self.path = work / "reader"

    def version(self):
        if not shutil.which("cc"):
            return None
        command = ["cc", "-O2", "-Wall", "-o", self.path, HERE / "reader.c"]
        subprocess.run(command, check=True)
        return subprocess.run(["cc", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]

    def command(self, load, server, folder):
        host, port = server.address.split(":")
        connections = load.streams * 5 // 4 if load.rate else load.streams
        numbers = [connections, load.requests, load.tokens, load.rate or 0]
        return [str(x) for x in [self.path, host, port, *numbers, MODEL]]

    def seen(self, load, folder):
        _, *lines = self._lines(folder)
        return [
            Seen(r["id"], r["kernel_ns"][0] - r["sent_ns"], [b - a for a, b in zip(r["kernel_ns"], r["kernel_ns"][1:])], r["kernel_ns"], r["user_ns"])
            for r in lines
        ]

    def own_cpu_s(self, folder):
        return self.details(folder)["cpu_s"]

    def details(self, folder):
        return self._lines(folder)[0]

    def _lines(self, folder):
        with open(folder / "log", encoding="utf-8") as f:
            return [json.loads(line) for line in f]


class Floor(Client):
    name = "Go floor"
    install = "Go: it is built from this repository"
    note = "the limit of net/http: nothing parsed, nothing computed"

    def __init__(self, work):
        self.path = work / "floor"

    def version(self):
        subprocess.run(["go", "build", "-o", self.path, "./floor"], cwd=HERE, check=True)
        return subprocess.run(["go", "version"], check=True, capture_output=True, text=True).stdout.strip()

    def command(self, load, server, folder):
        return [str(x) for x in [self.path, server.url, MODEL, load.streams, load.requests, load.tokens, load.rate or 0]]

    def seen(self, load, folder):
        with open(folder / "log", encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        return [Seen("", r["user_ns"][0] - r["sent_ns"], [b - a for a, b in zip(r["user_ns"], r["user_ns"][1:])], r["user_ns"]) for r in lines]


class Bench(Client):
    name = "bench"
    install = "Go: it is built from this repository"
    note = "kernel stamps where the row says so"

    def __init__(self, path, built):
        self.path, self.built = path, built  # built: from this repository, as it is now

    def version(self):
        text = subprocess.run([self.path, "version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
        if not self.built:
            return text
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
        return f"{text} {commit}".strip()

    def command(self, load, server, folder):
        shape = f'rate = {load.rate}\narrival = "constant"' if load.rate else f"concurrency = {load.streams}"
        (folder / "matrix.toml").write_text(
            f'name = "peers"\n[target]\nendpoint = "{server.url}"\n'
            f'[[row]]\nname = "row"\ninput = 10\noutput = {load.tokens}\nrequests = {load.requests}\n{shape}\n'
        )
        return [self.path, "sweep", "matrix.toml", "--out", "out"]

    def seen(self, load, folder):
        row, records = self.row(folder)
        epoch = nanoseconds(row["epoch"])
        good = [r for r in records if r["outcome"] == "ok"]
        return [self._seen(row["salt"], epoch, r) for r in good]

    def _seen(self, salt, epoch, r):
        salt = (salt + "0" * 12)[:12]
        times = list(accumulate([r["first_us"], *r.get("gaps_us", [])]))
        return Seen(
            f"{salt[:8]}-{salt[8:]}-4000-8000-{r['i']:012x}",  # experiment/endpoint/run.go, requestID
            (r["first_us"] - r["sent_us"]) * 1000, [g * 1000 for g in r.get("gaps_us", [])], [epoch + t * 1000 for t in times],
        )

    def details(self, folder):
        row, _ = self.row(folder)
        return {"clock": row["clock"], "lag_ms": row["summary"].get("lag_ms"), "findings": [f["code"] for f in row["findings"]]}

    def row(self, folder):
        """The row's JSON and its records."""
        [path] = [p for p in folder.glob("out/peers/*/row*.json")]
        [packed] = path.parent.glob("row*.requests.jsonl.zst")
        text = unpack(packed)
        return json.loads(path.read_text()), [json.loads(line) for line in text.splitlines()]


def unpack(path):
    """The text of a zstd file: by the zstd command, else by the library that bench is built with."""
    if shutil.which("zstd"):
        return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True, text=True).stdout
    program = path.parent / "unpack.go"
    program.write_text(
        'package main\nimport ("io"; "os"; "github.com/klauspost/compress/zstd")\n'
        "func main() { z, err := zstd.NewReader(os.Stdin); if err != nil { panic(err) }\n"
        "if _, err := io.Copy(os.Stdout, z); err != nil { panic(err) } }\n"
    )
    with open(path, "rb") as packed:
        return subprocess.run(["go", "run", program], cwd=ROOT, stdin=packed, check=True, capture_output=True, text=True).stdout


def nanoseconds(text):
    """ns of the Unix epoch of an RFC 3339 time in UTC."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return int(datetime.fromisoformat(seconds + "+00:00").timestamp()) * 10**9 + int((fraction + "0" * 9)[:9])
