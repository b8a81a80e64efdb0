# Makes records.jsonl and whole.jsonl: request records of a streamed and of an unstreamed row, random
# but always the same. Nothing in them is a measurement.
#
#     cd experiment/record/testdata && python3 records.py && python3 summary.py
import json
import random

START, END = 1_000_000, 11_000_000  # the window, µs


def phase(at):
    return "warmup" if at < START else "window" if at < END else "cooldown"


def record(rng, i, at, streamed):
    r = {"i": i, "class": rng.choice(["chat", "chat", "rag"]), "phase": phase(at), "at_us": at}
    outcome = rng.choices(
        ["ok", "short", "timeout", "truncated", "status", "connect", "unfinished", "protocol"], [80, 5, 3, 3, 3, 2, 2, 2]
    )[0]
    r["prompt_asked"], r["output_asked"] = rng.randrange(10, 400), rng.randrange(1, 40)
    ready = at + rng.choice([0, 0, 0, rng.randrange(50_000)])
    sent = ready + rng.randrange(300)
    r["ready_us"], r["sent_us"] = ready, sent
    told = rng.random() < 0.9
    tokens = r["output_asked"] if outcome == "ok" else rng.randrange(0, r["output_asked"] + 1)
    if outcome == "short":
        tokens = max(1, tokens)
    if outcome in ("status", "connect"):
        tokens = 0
    t = sent + rng.randrange(5_000, 400_000)
    if outcome not in ("connect",):
        r["first_event_us"] = t
    if streamed and tokens > 0:
        t += rng.randrange(20_000)
        per, left = [], tokens
        while left > 0:
            n = min(left, rng.choice([1, 1, 1, 1, 2, 4]))
            per.append(n)
            left -= n
        gaps = [rng.randrange(0, 40_000) for _ in per[1:]]
        r["first_us"], r["last_us"] = t, t + sum(gaps)
        if gaps:
            r["gaps_us"] = gaps
        if told and any(n != 1 for n in per):
            r["tokens_per_event"] = per
        t = r["last_us"]
    elif tokens > 0:
        t += tokens * 15_000
        r["last_us"] = t
    if not streamed:
        r.pop("first_event_us", None)
    r["end_us"] = t + rng.randrange(2_000)
    r["output_tokens"], r["estimated"] = tokens, not told
    if told and outcome in ("ok", "short"):
        r["prompt_tokens"] = r["prompt_asked"] + rng.choice([0, 0, 0, 1, -1])
        if rng.random() < 0.8:
            r["cached_tokens"] = rng.randrange(0, 10)
    if outcome == "unfinished" and rng.random() < 0.5:  # never sent
        for k in [k for k in r if k.endswith("_us") and k != "at_us"]:
            del r[k]
        r.pop("tokens_per_event", None)
        r["output_tokens"] = 0
    r["outcome"] = outcome
    if outcome not in ("ok", "short"):
        r["error"] = "made up"
    return r


def main():
    rng = random.Random(20)
    at, records = 0, []
    for i in range(220):
        records.append(record(rng, i, at, True))
        at += rng.choice([0, rng.randrange(110_000)])
        if i % 10 == 9 and "end_us" in records[-1]:  # a slot handed over: the next is sent when this one ends
            nxt = record(rng, 1000 + i, at, True)
            if "sent_us" in nxt and nxt["sent_us"] < records[-1]["end_us"] and "first_event_us" in nxt:
                shift = records[-1]["end_us"] - nxt["sent_us"]
                for k in nxt:
                    if k.endswith("_us") and isinstance(nxt[k], int) and k != "at_us":
                        nxt[k] += shift
                records.append(nxt)
    rng.shuffle(records)
    write("records.jsonl", records)
    write("whole.jsonl", [record(rng, i, i * 180_000, False) for i in range(70)])


def write(name, records):
    with open(name, "w") as f:
        for r in records:
            f.write(json.dumps(r) + "\n")


main()
