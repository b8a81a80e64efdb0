"""Runs inference-perf, which takes a file: PROGRAM TOKENIZER URL MODEL OUT REQUESTS RATE ARRIVAL INPUT OUTPUT."""

import json
import os
import sys

program, tokens, url, model, out, requests, rate, arrival, prompt, answer = sys.argv[1:]
requests, rate = int(requests), float(rate)


def lengths(k):
    return {"type": "fixed", "min": k, "max": k, "mean": k, "std_dev": 0, "total_count": requests}


config = {
    "api": {"type": "completion", "streaming": True},  # synthetic prompts have no other
    "data": {"type": "synthetic", "input_distribution": lengths(int(prompt)), "output_distribution": lengths(int(answer))},
    "load": {"type": arrival, "stages": [{"rate": rate, "duration": round(requests / rate)}], "num_workers": os.cpu_count()},
    "server": {"type": "vllm", "model_name": model, "base_url": url, "ignore_eos": True},
    "tokenizer": {"pretrained_model_name_or_path": tokens},
    "storage": {"local_storage": {"path": out}},
    "report": {"request_lifecycle": {"summary": True, "per_stage": True, "per_request": False}},
}
path = os.path.join(out, "config.txt")  # not a name of a result
with open(path, "w", encoding="utf-8") as f:
    json.dump(config, f)  # JSON is YAML
os.execv(program, [program, "-c", path])
