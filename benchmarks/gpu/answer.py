"""One completion of /v1/completions: what a request may ask for, and the events of its answer."""

import asyncio
import json
import time
import uuid
import zlib

from engine import Request


class Answer:
    """One completion: checks the request, and writes its events."""

    def __init__(self, body, model, engine, writer):
        prompt = token_ids(body["prompt"], engine.model.shape.vocab)
        most = int(body.get("max_tokens") or 16)
        if not prompt or most < 1:
            raise ValueError("prompt and max_tokens must be positive")
        if not engine.fits(len(prompt) + most):
            raise ValueError(
                f"{len(prompt)} prompt + {most} output tokens exceed the {engine.max_context} of a sequence"
            )
        self.request = Request(prompt, most, context=self)
        self.writer, self.model = writer, model
        self.stream = bool(body.get("stream"))
        self.usage = not self.stream or bool((body.get("stream_options") or {}).get("include_usage"))
        self.id, self.created = f"cmpl-{uuid.uuid4().hex}", int(time.time())
        self.finished = asyncio.get_running_loop().create_future()
        self.text = []

    def begin(self):
        if self.stream:
            self.writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )

    def write(self, token, finished):
        if self.finished.done():
            return
        if self.writer.is_closing():
            self.request.cancelled = True
            self.finished.set_result(None)
            return
        text = f" t{token}"
        if self.stream:
            self.event({**self.head(), "choices": [choice(text, "length" if finished else None)]})
        else:
            self.text.append(text)
        if finished:
            self.end()

    def end(self):
        n, m = len(self.request.tokens), self.request.max_tokens
        usage = {"prompt_tokens": n, "completion_tokens": m, "total_tokens": n + m}
        if not self.stream:
            reply(
                self.writer,
                200,
                *as_json({**self.head(), "choices": [choice("".join(self.text), "length")], "usage": usage}),
            )
        else:
            if self.usage:
                self.event({**self.head(), "choices": [], "usage": usage})
            self.chunk(b"data: [DONE]\n\n")
            self.writer.write(b"0\r\n\r\n")
        self.finished.set_result(None)

    def head(self):
        return {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model}

    def event(self, value):
        self.chunk(b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n")

    def chunk(self, data):
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def choice(text, reason):
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}


def token_ids(prompt, vocab):
    """Token ids as they are; of a text one id a word, since there is no tokenizer."""
    if isinstance(prompt, list) and len(prompt) == 1 and not isinstance(prompt[0], int):
        prompt = prompt[0]
    if isinstance(prompt, str):
        return [zlib.crc32(word.encode()) % vocab for word in prompt.split()]
    if not all(isinstance(t, int) and 0 <= t < vocab for t in prompt):
        raise ValueError(f"prompt must be one text, or token ids below {vocab}")
    return prompt


def as_json(value):
    return "application/json", json.dumps(value).encode()


def reply(writer, status, kind, body):
    reason = {200: "OK", 400: "Bad Request", 404: "Not Found"}[status]
    writer.write(
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
