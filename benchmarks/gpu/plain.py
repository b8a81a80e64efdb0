"""The operations of a decoder layer in plain PyTorch: what a CPU runs, and what the Triton kernels are
checked against."""

import torch
import torch.nn.functional as F

PAGE = 64  # tokens of a page of the KV cache


class Plain:
    """Each method has a twin of the same name and arguments in launch.Triton."""

    name = "plain"

    def add_norm(self, x, parts, weight, eps=1e-5):
        """Adds parts [T, N, H] (None: nothing) to the residual x [T, H] in place; returns its RMS norm."""
        if parts is not None:
            x += parts.float().sum(1).to(x.dtype)
        return rms_norm(x, weight, eps)

    def rope_cache(self, qkv, positions, slots, cache, cos_sin, shape, q_norm=None, k_norm=None):
        """Rotates queries and keys of qkv [T, (heads + 2 KV heads) * D] in place, and copies keys and
        values to cache [2, pages, KV heads, PAGE, D] at slots [T] (page * PAGE + offset)."""
        heads, kv_heads = shape.heads, shape.kv_heads
        x = qkv.view(-1, heads + 2 * kv_heads, shape.head_dim)
        rotated = x[:, : heads + kv_heads]
        if q_norm is not None:
            rotated[:, :heads] = rms_norm(rotated[:, :heads], q_norm)
            rotated[:, heads:] = rms_norm(rotated[:, heads:], k_norm)
        cos, sin = cos_sin[positions].unsqueeze(1).chunk(2, -1)
        a, b = rotated.float().chunk(2, -1)
        rotated.copy_(torch.cat([a * cos - b * sin, b * cos + a * sin], -1))
        page, offset = slots // PAGE, slots % PAGE
        cache[0][page, :, offset] = x[:, heads : heads + kv_heads]
        cache[1][page, :, offset] = x[:, heads + kv_heads :]

    def decode_attention(self, qkv, cache, tables, lengths, shape):
        """One query a row against the cached tokens of its pages (tables [B, pages]); returns [B, heads *
        D]."""
        out = []
        for row, length in enumerate(lengths.tolist()):
            pages = tables[row, : -(-length // PAGE)].long()
            k, v = (c[pages].transpose(0, 1).flatten(1, 2)[:, :length] for c in cache)
            q = qkv[row, : shape.q_size].view(1, shape.heads, 1, shape.head_dim)
            out.append(F.scaled_dot_product_attention(q, k[None], v[None], enable_gqa=True).flatten())
        return torch.stack(out)

    def silu_mul(self, gate_up):
        gate, up = gate_up.float().chunk(2, -1)
        return (F.silu(gate) * up).to(gate_up.dtype)

    def route(self, logits, top_k):
        """The top_k experts of each token and their weights, which add up to 1."""
        weights, experts = logits.float().softmax(-1).topk(top_k, -1)
        return experts.int(), weights / weights.sum(-1, keepdim=True)

    def experts(self, x, experts, weights, gate_up, down):
        """x [T, H] through its experts; gate_up [E, 2 I, H], down [E, H, I]; returns the weighted parts [T,
        k, H]."""
        out = x.new_zeros(*experts.shape, x.shape[1])
        for e in experts.unique().tolist():
            token, which = (experts == e).nonzero(as_tuple=True)
            act = self.silu_mul(F.linear(x[token], gate_up[e]))
            out[token, which] = (F.linear(act, down[e]).float() * weights[token, which, None]).to(x.dtype)
        return out


def rms_norm(x, weight, eps=1e-5):
    f = x.float()
    return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


def rotary_table(shape, length, device):
    """cos and sin of each position, [length, head_dim], in float32."""
    inverse = shape.rope_theta ** -(
        torch.arange(0, shape.head_dim, 2, device=device, dtype=torch.float32) / shape.head_dim
    )
    angle = torch.arange(length, device=device, dtype=torch.float32)[:, None] * inverse
    return torch.cat([angle.cos(), angle.sin()], -1)
