#!/usr/bin/env python3
"""Validates Benchmark Reports of bench by llm-d's own package.

    pip install llmd-benchmark-report==0.2.1
    bench report results/chat/20260101T120000Z --format llmd -o reports
    python3 benchmarks/llmd.py reports

Prints one line a file; exits 1 unless each is valid, and there is one.
"""
import pathlib
import sys

from llmd_benchmark_report import import_benchmark_report

files = sorted(file for folder in sys.argv[1:] for file in pathlib.Path(folder).rglob("*.yaml"))
wrong = 0 if files else 1
for file in files:
    try:
        report = import_benchmark_report(str(file))
    except Exception as problem:  # of pydantic, or of YAML
        wrong += 1
        print(f"{file}: {problem}")
        continue
    latency = report.results.request_performance.aggregate.latency
    ttft = latency and latency.time_to_first_token
    print(f"{file.name}: valid, TTFT p50 {ttft.p50 if ttft else None} {ttft.units if ttft else ''}")
sys.exit(min(wrong, 1))
