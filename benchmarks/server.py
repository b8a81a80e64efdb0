"""The exactly timed server and its truth."""

import json
import subprocess
import time
import urllib.request
from dataclasses import dataclass

from process import cpu_of

TTFT_MS, ITL_MS = 50, 10


@dataclass
class Truth:
    """What the server says of one request; ns of the wall clock."""

    id: str  # the server's, as in the answer
    request_id: str  # the client's, from its header
    arrival: int  # the headers of the request had been read
    due: list  # of each event with tokens
    writing: list  # just before the write; where the server does not tell that, as written
    written: list  # the write had returned
    finish: str

    def ttft(self):
        return self.writing[0] - self.arrival

    def gaps(self):
        return differences(self.writing)


def differences(times):
    return [b - a for a, b in zip(times, times[1:])]


class Server:
    """`bench mock` with fixed times, in a process of its own."""

    def __init__(self, bench):
        command = [bench, "mock", "--listen", "127.0.0.1:0", "--set", f"mock.ttft={TTFT_MS}ms", "--set", f"mock.itl={ITL_MS}ms"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                break
        else:
            raise RuntimeError(f"{' '.join(command)} did not start")
        self.address = self.url.removeprefix("http://")
        self.pid = self.process.pid
        self.tells_writing = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def cpu_s(self):
        return cpu_of(self.pid)[1]

    def truth(self):
        """All that it remembers, after a moment for those that are still ending."""
        time.sleep(0.3)
        with urllib.request.urlopen(self.url + "/debug/requests") as answer:
            return [t for line in answer if (t := self._read(json.loads(line)))]

    def _read(self, record):
        if not record["due_ns"]:
            return None  # it ended before any token
        offset = record["arrival_unix_ns"] - record["arrival_ns"]
        self.tells_writing = "writing_ns" in record
        wall = {key: [t + offset for t in record.get(key) or []] for key in ("due_ns", "writing_ns", "written_ns")}
        return Truth(
            record["id"], record.get("request_id", ""), record["arrival_unix_ns"], wall["due_ns"],
            wall["writing_ns"] or wall["written_ns"], wall["written_ns"], record["finish"],
        )
