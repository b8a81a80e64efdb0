"""The operations of a decoder layer by the kernels of kernels.py."""

import torch
import triton

import kernels
from plain import PAGE


class Triton:
    """The twin of plain.Plain."""

    name = "triton"

    def __init__(self, multiprocessors=132):
        self.multiprocessors = multiprocessors

    def add_norm(self, x, parts, weight, eps=1e-5):
        out = torch.empty_like(x)
        rows, width = x.shape
        count = 0 if parts is None else parts.shape[1]
        kernels.add_norm_kernel[(rows,)](
            x, parts, weight, out, eps, width, count, triton.next_power_of_2(width), num_warps=8
        )
        return out

    def rope_cache(self, qkv, positions, slots, cache, cos_sin, shape, q_norm=None, k_norm=None):
        heads = triton.next_power_of_2(shape.heads + 2 * shape.kv_heads)
        kernels.rope_cache_kernel[(qkv.shape[0],)](
            qkv,
            positions,
            slots,
            cache,
            cos_sin,
            q_norm,
            k_norm,
            cache.stride(0),
            1e-5,
            shape.heads,
            shape.kv_heads,
            shape.head_dim,
            PAGE,
            q_norm is not None,
            heads,
            num_warps=8,
        )

    def decode_attention(self, qkv, cache, tables, lengths, shape):
        batch, group, dim = qkv.shape[0], shape.heads // shape.kv_heads, shape.head_dim
        splits = self.splits(batch * shape.kv_heads)
        part = torch.empty(batch * shape.heads * splits, dim, dtype=torch.float32, device=qkv.device)
        top, total = torch.empty(2, batch * shape.heads * splits, dtype=torch.float32, device=qkv.device)
        kernels.attention_kernel[(batch, shape.kv_heads, splits)](
            qkv,
            cache,
            tables,
            lengths,
            part,
            top,
            total,
            cache.stride(0),
            qkv.stride(0),
            tables.stride(0),
            dim**-0.5 * 1.4426950408889634,  # log2(e): the kernel takes powers of 2
            shape.kv_heads,
            group,
            max(16, triton.next_power_of_2(group)),
            dim,
            PAGE,
            splits,
            num_warps=4,
            num_stages=3,
        )
        out = torch.empty(batch, shape.q_size, dtype=qkv.dtype, device=qkv.device)
        kernels.combine_kernel[(batch * shape.heads,)](part, top, total, out, dim, splits, num_warps=4)
        return out

    def splits(self, programs):
        """Shares of a sequence: enough programs for two on each multiprocessor, 64 shares at most."""
        return min(64, triton.next_power_of_2(max(1, 2 * self.multiprocessors // programs)))

    def silu_mul(self, gate_up):
        rows, width = gate_up.shape[0], gate_up.shape[1] // 2
        out = torch.empty(rows, width, dtype=gate_up.dtype, device=gate_up.device)
        kernels.silu_mul_kernel[(rows, triton.cdiv(width, 1024))](gate_up, out, width, 1024, num_warps=4)
        return out

    def route(self, logits, top_k):
        rows, experts = logits.shape
        ids = torch.empty(rows, top_k, dtype=torch.int32, device=logits.device)
        weights = torch.empty(rows, top_k, dtype=torch.float32, device=logits.device)
        pads = triton.next_power_of_2(experts), triton.next_power_of_2(top_k)
        kernels.route_kernel[(rows,)](logits, ids, weights, experts, top_k, *pads, num_warps=1)
        return ids, weights

    def experts(self, x, experts, weights, gate_up, down):
        (rows, top_k), (count, hidden, inner) = experts.shape, down.shape
        lists = torch.empty(count, rows, dtype=torch.int32, device=x.device)
        counts = torch.empty(count, dtype=torch.int32, device=x.device)
        kernels.lists_kernel[(count,)](experts, lists, counts, rows * top_k, rows, 1024, num_warps=4)
        up, down_tile, warps = tiles(rows * top_k / count)
        pads = count, triton.next_power_of_2(count)
        blocks = rows * top_k // up[0] + min(count, rows * top_k)  # the most that any routing needs
        act = torch.empty(rows * top_k, inner, dtype=x.dtype, device=x.device)
        kernels.experts_up_kernel[(triton.cdiv(inner, up[1]), blocks)](
            x,
            gate_up,
            act,
            lists,
            counts,
            rows,
            hidden,
            inner,
            top_k,
            *pads,
            *fit(up, hidden),
            num_warps=warps,
            num_stages=3,
        )
        out = torch.empty(rows, top_k, hidden, dtype=x.dtype, device=x.device)
        kernels.experts_down_kernel[(triton.cdiv(hidden, down_tile[1]), blocks)](
            act,
            down,
            out,
            weights,
            lists,
            counts,
            rows,
            hidden,
            inner,
            *pads,
            *fit(down_tile, inner),
            num_warps=warps,
            num_stages=3,
        )
        return out


def tiles(pairs_per_expert):
    """Tiles (BM, BN, BK) of both products and their warps. BM is the same: both walk the same blocks of
    pairs."""
    if pairs_per_expert <= 16:
        return (16, 64, 128), (16, 128, 128), 4
    if pairs_per_expert <= 64:
        return (64, 64, 64), (64, 128, 64), 4
    return (128, 128, 64), (128, 256, 64), 8


def fit(tile, depth):
    """The tile with a BK that divides the depth: the kernels have no mask along it."""
    bm, bn, bk = tile
    while depth % bk:
        bk //= 2
    return bm, bn, bk
