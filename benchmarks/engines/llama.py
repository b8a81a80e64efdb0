"""llama.cpp's server for a model of gguf.py, on loopback; the flags have the names of llama-server."""

import argparse
import os
import signal
import time

import xllamacpp

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--model", required=True)
for name, default in (("--port", 18001), ("--parallel", 4), ("--ctx-size", 16384), ("--ubatch-size", 512), ("--threads", 1)):
    flags.add_argument(name, type=int, default=default)
asked = flags.parse_args()

p = xllamacpp.CommonParams()
p.model.path, p.model_alias, p.hostnames, p.port = asked.model, {"random"}, ["127.0.0.1"], asked.port
p.n_parallel, p.n_ctx, p.n_ubatch, p.n_gpu_layers = asked.parallel, asked.ctx_size, asked.ubatch_size, 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = asked.threads
p.endpoint_metrics, p.kv_unified, p.use_jinja = True, True, True
server = xllamacpp.Server(p)
print("listening", server.listening_address, flush=True)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    time.sleep(3600)
