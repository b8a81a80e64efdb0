"""What run and ratio both begin with."""

import resource
import shutil
import subprocess
import sys

from clients import ROOT


def open_files():
    """As many files as we may, for the server and the clients that inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < 4096:
        print(f"only {hard} files may be open: 1,000 streams may not be possible (ulimit -Hn)", file=sys.stderr)


def build(path, out):
    if path:
        return path.resolve()
    if not shutil.which("go"):
        sys.exit("error: no go command\nhint: install Go, or give a built bench with --bench")
    subprocess.run(["go", "build", "-o", out / "bench", "./cmd/bench"], cwd=ROOT, check=True)
    return out / "bench"
