"""A decoder with random weights: prefill of whole prompts and one decode step of a batch, over a paged KV
cache."""

import torch
import torch.nn.functional as F

from plain import PAGE, rotary_table


class Model:
    """The weights lie on one device; the KV cache is [layers, 2, pages, KV heads, PAGE, head_dim]. Page 0
    takes what rows without a request write."""

    def __init__(self, shape, ops, device, dtype, max_context, seed=0):
        self.shape, self.ops, self.device, self.dtype = shape, ops, device, dtype
        self.cos_sin = rotary_table(shape, max_context, device)
        self.random = torch.Generator(device=device).manual_seed(seed)
        self.embedding = self.weight(
            shape.vocab, shape.hidden, std=1.0
        )  # large: rows of a batch then stay different
        self.head = self.embedding if shape.tied_embeddings else self.weight(shape.vocab, shape.hidden)
        self.layers = [self.layer() for _ in range(shape.layers)]
        self.norm = self.ones(shape.hidden)
        self.cache = None

    def weight(self, *size, std=0.02):
        w = torch.empty(*size, dtype=self.dtype, device=self.device)
        # A few rows at a time: a generator in float32 of the largest tensor would need twice its memory.
        for part in w.view(-1, size[-1]).split(1 << 16):
            part.normal_(0, std, generator=self.random)
        return w

    def ones(self, size):
        return torch.ones(size, dtype=self.dtype, device=self.device)

    def layer(self):
        s = self.shape
        layer = {
            "qkv": self.weight(s.q_size + 2 * s.kv_size, s.hidden),
            "output": self.weight(s.hidden, s.q_size),
            "norm": self.ones(s.hidden),
            "mlp_norm": self.ones(s.hidden),
            "q_norm": self.ones(s.head_dim) if s.qk_norm else None,
            "k_norm": self.ones(s.head_dim) if s.qk_norm else None,
        }
        if s.experts:
            layer["router"] = self.weight(s.experts, s.hidden)
            layer["gate_up"] = self.weight(s.experts, 2 * s.expert_intermediate, s.hidden)
            layer["down"] = self.weight(s.experts, s.hidden, s.expert_intermediate)
        else:
            layer["gate_up"] = self.weight(2 * s.intermediate, s.hidden)
            layer["down"] = self.weight(s.hidden, s.intermediate)
        return layer

    def allocate(self, pages):
        s = self.shape
        self.cache = torch.zeros(
            s.layers, 2, pages, s.kv_heads, PAGE, s.head_dim, dtype=self.dtype, device=self.device
        )

    def prefill(self, tokens, positions, slots, bounds, last):
        """Computes whole prompts that lie one after another in tokens [T]; bounds are their (start, end),
        last the indices of their last tokens. Returns the next token of each."""
        return self.choose(
            self.prefill_logits(tokens, positions, slots, bounds, last), tokens[last], positions[last]
        )

    def decode(self, tokens, positions, tables):
        """Computes one token of each row [B]: writes its keys and values, and returns the next tokens."""
        return self.choose(self.decode_logits(tokens, positions, tables), tokens, positions)

    def prefill_logits(self, tokens, positions, slots, bounds, last):
        def attend(qkv, _):
            return torch.cat([self.prompt_attention(qkv[start:end]) for start, end in bounds])

        return self.forward(tokens, positions, slots, attend, last)

    def decode_logits(self, tokens, positions, tables):
        page = tables.gather(1, (positions // PAGE)[:, None]).squeeze(1)
        slots = page.long() * PAGE + positions % PAGE
        lengths = positions + 1

        def attend(qkv, cache):
            return self.ops.decode_attention(qkv, cache, tables, lengths, self.shape)

        return self.forward(tokens, positions, slots, attend)

    def forward(self, tokens, positions, slots, attend, last=None):
        """The logits of the tokens, or of those at the indices last."""
        ops, s = self.ops, self.shape
        x = F.embedding(tokens, self.embedding)
        parts = None
        for layer, cache in zip(self.layers, self.cache):
            qkv = F.linear(ops.add_norm(x, parts, layer["norm"]), layer["qkv"])
            ops.rope_cache(qkv, positions, slots, cache, self.cos_sin, s, layer["q_norm"], layer["k_norm"])
            parts = F.linear(attend(qkv, cache), layer["output"])[:, None]
            parts = self.mlp(ops.add_norm(x, parts, layer["mlp_norm"]), layer)
        if last is not None:
            x, parts = x[last], parts[last]
        return F.linear(ops.add_norm(x, parts, self.norm), self.head)

    def mlp(self, x, layer):
        """Returns the parts [T, N, H] whose sum is the output."""
        if not self.shape.experts:
            return F.linear(self.ops.silu_mul(F.linear(x, layer["gate_up"])), layer["down"])[:, None]
        experts, weights = self.ops.route(F.linear(x, layer["router"]), self.shape.top_k)
        return self.ops.experts(x, experts, weights, layer["gate_up"], layer["down"])

    def prompt_attention(self, qkv):
        s = self.shape
        q, k, v = (
            part.unflatten(1, (-1, s.head_dim)).transpose(0, 1)[None]
            for part in qkv.split([s.q_size, s.kv_size, s.kv_size], 1)
        )
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return out[0].transpose(0, 1).flatten(1)

    def choose(self, logits, tokens, positions):
        """The largest logit, shifted by a hash of the token and its position. Random weights fall into
        loops of one token, which would send all rows of a batch to the same experts; the shift keeps the
        rows different."""
        return (logits.argmax(-1) + 7919 * positions + 104_729 * tokens) % self.shape.vocab
