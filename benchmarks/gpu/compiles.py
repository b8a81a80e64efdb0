"""Compiles the kernels for an H100 with the sizes of the real models, which needs no GPU. Prints the shared
memory of each."""

import sys

sys.dont_write_bytecode = True

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels
import launch
import shape
from plain import PAGE

POINTERS = {
    "x": "*bf16",
    "parts": "*bf16",
    "weight": "*bf16",
    "w": "*bf16",
    "qkv": "*bf16",
    "cache": "*bf16",
    "q_norm": "*bf16",
    "k_norm": "*bf16",
    "gate_up": "*bf16",
    "logits": "*bf16",
    "out": "*bf16",
    "cos_sin": "*fp32",
    "part": "*fp32",
    "top": "*fp32",
    "total": "*fp32",
    "weights": "*fp32",
    "positions": "*i64",
    "slots": "*i64",
    "lengths": "*i64",
    "tables": "*i32",
    "experts": "*i32",
    "lists": "*i32",
    "counts": "*i32",
    "eps": "fp32",
    "scale": "fp32",
}


def compiles(kernel, warps, **constants):
    """Other arguments are whole numbers. Pointers are aligned, as PyTorch's are."""
    names = kernel.arg_names
    signature = {n: "constexpr" if n in constants else POINTERS.get(n, "i32") for n in names}
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if signature[n].startswith("*")}
    values = {(names.index(n),): v for n, v in constants.items()}
    source = ASTSource(kernel, signature, constexprs=values, attrs=aligned)
    done = triton.compile(
        source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "num_stages": 3}
    )
    print(f"{kernel.__name__}: {done.metadata.shared:,} bytes of shared memory")


def main():
    ops = launch.Triton()
    for s in (shape.find("llama-3.1-8b"), shape.find("qwen3-30b-a3b")):
        heads = triton.next_power_of_2(s.heads + 2 * s.kv_heads)
        compiles(
            kernels.add_norm_kernel, 8, H=s.hidden, PARTS=s.top_k or 1, BLOCK=triton.next_power_of_2(s.hidden)
        )
        compiles(
            kernels.rope_cache_kernel,
            8,
            HEADS=s.heads,
            KV=s.kv_heads,
            D=s.head_dim,
            PAGE=PAGE,
            NORM=s.qk_norm,
            ROWS=heads,
        )
        for batch in (1, 64):
            splits = ops.splits(batch * s.kv_heads)
            compiles(
                kernels.attention_kernel,
                4,
                KV=s.kv_heads,
                GROUP=s.heads // s.kv_heads,
                GROUP_PAD=16,
                D=s.head_dim,
                PAGE=PAGE,
                SPLITS=splits,
            )
            compiles(kernels.combine_kernel, 4, D=s.head_dim, SPLITS=splits)
    compiles(kernels.silu_mul_kernel, 4, BLOCK=1024)
    compiles(kernels.route_kernel, 1, E=s.experts, TOP_K=s.top_k, BLOCK=128, K_PAD=8)
    compiles(kernels.lists_kernel, 4, CHUNK=1024)
    for pairs in (1, 40, 200):
        up, down, warps = launch.tiles(pairs)
        sizes = {"H": s.hidden, "I": s.expert_intermediate, "E": s.experts, "E_PAD": s.experts}
        compiles(
            kernels.experts_up_kernel, warps, TOP_K=s.top_k, **sizes, **dict(zip(("BM", "BN", "BK"), up))
        )
        compiles(kernels.experts_down_kernel, warps, **sizes, **dict(zip(("BM", "BN", "BK"), down)))


if __name__ == "__main__":
    main()
