"""The mock server of vllm-bench, as its own comparison with vLLM's client uses it: 50 ms, then a token each 10 ms."""

import socket
import subprocess
import time

from process import cpu_of
from server import ITL_MS, TTFT_MS

PROGRAM = "*/bench-overhead/mock-server/target/release/mock-llm-server"


def find(folder):
    """Its path below the peers' folder; None: it is not built."""
    found = sorted(folder.glob(PROGRAM)) if folder else []
    return found[0].absolute() if found else None


class RustServer:
    """In a process of its own. It keeps no record of its times: only the nominal ones are known."""

    def __init__(self, path):
        port = free_port()
        command = [path, "--port", str(port), "--first-token-delay-ms", str(TTFT_MS), "--token-interval-ms", str(ITL_MS)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.address, self.pid = f"127.0.0.1:{port}", self.process.pid
        self.url = f"http://{self.address}"
        await_port(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def cpu_s(self):
        return cpu_of(self.pid)[1]

    def truth(self):
        return []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def await_port(port):
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
