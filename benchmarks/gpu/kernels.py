"""Triton kernels, few and fused: a decode step of a dense layer is ten launches, four products of the
matrix library among them, and one of a mixture of experts twelve. TRITON_INTERPRET=1 runs them on a CPU,
slowly: that is how test.py checks them without a GPU."""

import triton
import triton.language as tl


@triton.jit
def add_norm_kernel(x, parts, weight, out, eps, H: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    live = col < H
    f = tl.load(x + row * H + col, live, 0.0).to(tl.float32)
    if PARTS > 0:
        for i in tl.static_range(PARTS):
            f += tl.load(parts + (row * PARTS + i) * H + col, live, 0.0).to(tl.float32)
        tl.store(x + row * H + col, f.to(x.dtype.element_ty), live)
        f = f.to(x.dtype.element_ty).to(tl.float32)
    scale = tl.rsqrt(tl.sum(f * f, 0) / H + eps)
    w = tl.load(weight + col, live, 0.0).to(tl.float32)
    tl.store(out + row * H + col, (f * scale * w).to(out.dtype.element_ty), live)


@triton.jit
def rope_cache_kernel(
    qkv,
    positions,
    slots,
    cache,
    cos_sin,
    q_norm,
    k_norm,
    v_offset,
    eps,
    HEADS: tl.constexpr,
    KV: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    NORM: tl.constexpr,
    ROWS: tl.constexpr,
):
    """One program a token; ROWS is the number of its heads (queries, keys, values), rounded up to a power
    of 2."""
    HALF: tl.constexpr = D // 2
    token = tl.program_id(0).to(tl.int64)
    head = tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, HALF)[None, :]
    live = (head < HEADS + 2 * KV) & (col < HALF)
    at = qkv + token * (HEADS + 2 * KV) * D + head * D + col
    a = tl.load(at, live, 0.0).to(tl.float32)
    b = tl.load(at + HALF, live, 0.0).to(tl.float32)
    rotates = head < HEADS + KV
    if NORM:
        is_q = head < HEADS
        wa = tl.where(is_q, tl.load(q_norm + col).to(tl.float32), tl.load(k_norm + col).to(tl.float32))
        wb = tl.where(
            is_q, tl.load(q_norm + HALF + col).to(tl.float32), tl.load(k_norm + HALF + col).to(tl.float32)
        )
        scale = tl.rsqrt((tl.sum(a * a, 1) + tl.sum(b * b, 1)) / D + eps)[:, None]
        # Rounded as a separate kernel would round, so that both ways give the same numbers.
        a = tl.where(rotates, (a * scale * wa).to(qkv.dtype.element_ty).to(tl.float32), a)
        b = tl.where(rotates, (b * scale * wb).to(qkv.dtype.element_ty).to(tl.float32), b)
    position = tl.load(positions + token)
    cos = tl.load(cos_sin + position * D + col)
    sin = tl.load(cos_sin + position * D + HALF + col)
    ra = tl.where(rotates, a * cos - b * sin, a).to(qkv.dtype.element_ty)
    rb = tl.where(rotates, b * cos + a * sin, b).to(qkv.dtype.element_ty)
    tl.store(at, ra, live & rotates)
    tl.store(at + HALF, rb, live & rotates)
    slot = tl.load(slots + token).to(tl.int64)
    is_v = head >= HEADS + KV
    kv_head = tl.where(is_v, head - HEADS - KV, head - HEADS)
    to = cache + tl.where(is_v, v_offset, 0) + ((slot // PAGE * KV + kv_head) * PAGE + slot % PAGE) * D + col
    caches = live & (head >= HEADS)
    tl.store(to, ra, caches)
    tl.store(to + HALF, rb, caches)


@triton.jit
def attention_kernel(
    qkv,
    cache,
    tables,
    lengths,
    part,
    top,
    total,
    v_offset,
    row_stride,
    table_stride,
    scale,
    KV: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_PAD: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SPLITS: tl.constexpr,
):
    """One program a sequence, KV head and share of its pages: the softmax of its share, with its maximum
    and sum (base 2)."""
    row, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    length = tl.load(lengths + row).to(tl.int32)
    pages = (length + PAGE - 1) // PAGE
    share = (pages + SPLITS - 1) // SPLITS
    first = split * share
    last = tl.minimum(first + share, pages)
    q_head = tl.arange(0, GROUP_PAD)
    col = tl.arange(0, D)
    token = tl.arange(0, PAGE)
    is_q = q_head < GROUP
    q_at = qkv + row.to(tl.int64) * row_stride + (kv_head * GROUP + q_head[:, None]) * D + col[None, :]
    q = tl.load(q_at, is_q[:, None], 0.0)
    m = tl.full([GROUP_PAD], float("-inf"), tl.float32)
    s = tl.zeros([GROUP_PAD], tl.float32)
    acc = tl.zeros([GROUP_PAD, D], tl.float32)
    for page in range(first, last):
        at = (tl.load(tables + row * table_stride + page).to(tl.int64) * KV + kv_head) * PAGE * D
        tile = cache + at + token[:, None] * D + col[None, :]
        k = tl.load(tile)
        score = tl.dot(q, tl.trans(k)) * scale
        score = tl.where((page * PAGE + token < length)[None, :], score, float("-inf"))
        new = tl.maximum(m, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        keep = tl.exp2(m - new)
        s = s * keep + tl.sum(p, 1)
        v = tl.load(tile + v_offset)
        acc = acc * keep[:, None] + tl.dot(p.to(v.dtype), v)
        m = new
    out = ((row * KV + kv_head) * GROUP + q_head) * SPLITS + split
    tl.store(part + out[:, None] * D + col[None, :], acc, is_q[:, None])
    tl.store(top + out, m, is_q)
    tl.store(total + out, s, is_q)


@triton.jit
def combine_kernel(part, top, total, out, D: tl.constexpr, SPLITS: tl.constexpr):
    """One program a query head: adds up its shares."""
    head = tl.program_id(0).to(tl.int64)
    split = tl.arange(0, SPLITS)
    col = tl.arange(0, D)
    m = tl.load(top + head * SPLITS + split)
    w = tl.exp2(m - tl.max(m, 0))
    s = tl.sum(w * tl.load(total + head * SPLITS + split), 0)
    acc = tl.load(part + (head * SPLITS + split[:, None]) * D + col[None, :])
    tl.store(out + head * D + col, (tl.sum(acc * w[:, None], 0) / s).to(out.dtype.element_ty))


@triton.jit
def silu_mul_kernel(gate_up, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = col < width
    gate = tl.load(gate_up + row * 2 * width + col, live, 0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + col, live, 0.0).to(tl.float32)
    tl.store(out + row * width + col, (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty), live)


@triton.jit
def route_kernel(
    logits, experts, weights, E: tl.constexpr, TOP_K: tl.constexpr, BLOCK: tl.constexpr, K_PAD: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    x = tl.load(logits + row * E + col, col < E, float("-inf")).to(tl.float32)
    largest = tl.max(x, 0)
    which = tl.arange(0, K_PAD)
    best = tl.zeros([K_PAD], tl.float32)
    ids = tl.zeros([K_PAD], tl.int32)
    for i in tl.static_range(TOP_K):
        v = tl.max(x, 0)
        e = tl.argmax(x, 0)
        best = tl.where(which == i, tl.exp(v - largest), best)
        ids = tl.where(which == i, e, ids)
        x = tl.where(col == e, float("-inf"), x)
    tl.store(weights + row * TOP_K + which, best / tl.sum(best, 0), which < TOP_K)
    tl.store(experts + row * TOP_K + which, ids, which < TOP_K)


@triton.jit(do_not_specialize=["pairs", "room"])
def lists_kernel(experts, lists, counts, pairs, room, CHUNK: tl.constexpr):
    """One program an expert: the pairs (token * top_k + choice) that chose it, in order, and their number.
    The numbers of tokens are not specialized: a prompt of an odd length must not wait for the compiler."""
    e = tl.program_id(0)
    n = 0
    for start in range(0, pairs, CHUNK):
        pair = start + tl.arange(0, CHUNK)
        mine = (tl.load(experts + pair, pair < pairs, -1) == e).to(tl.int32)
        tl.store(lists + e.to(tl.int64) * room + n + tl.cumsum(mine, 0) - 1, pair, mine == 1)
        n += tl.sum(mine, 0)
    tl.store(counts + e, n)


@triton.jit
def find_block(counts, block, E: tl.constexpr, E_PAD: tl.constexpr, BM: tl.constexpr):
    """The expert of a block of BM pairs, the block's place in its list, and the pairs of that expert;
    expert E: there is none."""
    e = tl.arange(0, E_PAD)
    n = tl.load(counts + e, e < E, 0)
    blocks = (n + BM - 1) // BM
    ends = tl.cumsum(blocks, 0)
    expert = tl.sum((ends <= block).to(tl.int32) * (e < E).to(tl.int32), 0)
    is_it = e == expert
    return expert, block - tl.sum(tl.where(is_it, ends - blocks, 0), 0), tl.sum(tl.where(is_it, n, 0), 0)


@triton.jit(do_not_specialize=["room"])
def experts_up_kernel(
    x,
    w,
    out,
    lists,
    counts,
    room,
    H: tl.constexpr,
    I: tl.constexpr,
    TOP_K: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """silu(gate) * up of BM pairs of one expert, BN columns of it."""
    expert, place, n = find_block(counts, tl.program_id(1), E, E_PAD, BM)
    if expert < E:
        row = place * BM + tl.arange(0, BM)
        pair = tl.load(lists + expert.to(tl.int64) * room + row, row < n, 0).to(tl.int64)
        col = tl.program_id(0) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        x_at = x + (pair // TOP_K)[:, None] * H + k[None, :]
        w_at = w + expert.to(tl.int64) * 2 * I * H + col[None, :] * H + k[:, None]
        gate = tl.zeros([BM, BN], tl.float32)
        up = tl.zeros([BM, BN], tl.float32)
        for _ in range(0, H, BK):
            a = tl.load(x_at, (row < n)[:, None], 0.0)
            gate += tl.dot(a, tl.load(w_at, (col < I)[None, :], 0.0))
            up += tl.dot(a, tl.load(w_at + I * H, (col < I)[None, :], 0.0))
            x_at += BK
            w_at += BK
        y = gate * tl.sigmoid(gate) * up
        tl.store(
            out + pair[:, None] * I + col[None, :],
            y.to(out.dtype.element_ty),
            (row < n)[:, None] & (col < I)[None, :],
        )


@triton.jit(do_not_specialize=["room"])
def experts_down_kernel(
    x,
    w,
    out,
    weights,
    lists,
    counts,
    room,
    H: tl.constexpr,
    I: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """The output of BM pairs of one expert, times their weights, BN columns of it."""
    expert, place, n = find_block(counts, tl.program_id(1), E, E_PAD, BM)
    if expert < E:
        row = place * BM + tl.arange(0, BM)
        pair = tl.load(lists + expert.to(tl.int64) * room + row, row < n, 0).to(tl.int64)
        col = tl.program_id(0) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        x_at = x + pair[:, None] * I + k[None, :]
        w_at = w + expert.to(tl.int64) * H * I + col[None, :] * I + k[:, None]
        acc = tl.zeros([BM, BN], tl.float32)
        for _ in range(0, I, BK):
            a = tl.load(x_at, (row < n)[:, None], 0.0)
            acc += tl.dot(a, tl.load(w_at, (col < H)[None, :], 0.0))
            x_at += BK
            w_at += BK
        acc *= tl.load(weights + pair, row < n, 0.0)[:, None]
        tl.store(
            out + pair[:, None] * H + col[None, :],
            acc.to(out.dtype.element_ty),
            (row < n)[:, None] & (col < H)[None, :],
        )
