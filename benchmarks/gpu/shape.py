"""The shape of a model, as bench's model_configs.json states it: server and prediction read the same
numbers."""

import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLES = [HERE / "tiny" / "model_configs.json", HERE.parents[1] / "model_configs.json"]

# Keys of an entry that change the arithmetic and that this server does not compute.
UNSUPPORTED = ["mla", "linear", "gated_attention", "kv_groups", "expert_weights", "mlp_matrices"]


@dataclass(frozen=True)
class Shape:
    """A decoder with grouped-query attention, dense or a mixture of experts in every layer. experts == 0
    means dense."""

    id: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    intermediate: int = 0
    experts: int = 0
    top_k: int = 0
    expert_intermediate: int = 0
    tied_embeddings: bool = False
    max_context: int = 0  # tokens; 0 = not specified
    qk_norm: bool = False  # RMS norm of each query and key head (Qwen3)
    rope_theta: float = 500_000.0  # rotary base; its value does not change any time

    @property
    def q_size(self):
        return self.heads * self.head_dim

    @property
    def kv_size(self):
        return self.kv_heads * self.head_dim

    @property
    def kv_bytes_per_token(self):
        """Bytes of keys and values of one token in all layers, in bf16."""
        return 2 * self.layers * self.kv_size * 2

    @property
    def params(self):
        layer = self.hidden * (2 * self.q_size + 2 * self.kv_size)
        layer += self.experts * (3 * self.hidden * self.expert_intermediate + self.hidden)
        layer += 3 * self.hidden * self.intermediate
        return self.layers * layer + self.vocab * self.hidden * (1 if self.tied_embeddings else 2)


def find(name, tables=TABLES):
    """find returns the entry with this ID or alias."""
    for table in tables:
        for entry in json.loads(Path(table).read_text())["models"]:
            if name.lower() in [n.lower() for n in [entry["id"], *entry.get("aliases", [])]]:
                return parse(entry)
    raise SystemExit(f"error: no model {name} in {', '.join(str(t) for t in tables)}")


def parse(entry):
    unsupported = [key for key in UNSUPPORTED if key in entry]
    moe = entry.get("moe", {})
    if moe.get("shared_intermediate") or moe.get("layers", entry["layers"]) != entry["layers"]:
        unsupported.append("moe with shared experts or dense layers")
    if unsupported:
        raise SystemExit(f"error: this server does not compute {entry['id']}: {', '.join(unsupported)}")
    return Shape(
        id=entry["id"],
        layers=entry["layers"],
        hidden=entry["hidden"],
        heads=entry["heads"],
        kv_heads=entry["kv_heads"],
        head_dim=entry["head_dim"],
        vocab=entry["vocab"],
        intermediate=0 if moe else entry["intermediate"],
        experts=moe.get("experts", 0),
        top_k=moe.get("top_k", 0),
        expert_intermediate=moe.get("expert_intermediate", 0),
        tied_embeddings=entry.get("tied_embeddings", False),
        max_context=entry.get("max_context", 0),
        qk_norm="qwen3" in entry["id"].lower() or entry["id"] == "bench/tiny-moe",
    )
