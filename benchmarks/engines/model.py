"""model.py DIR: writes a Llama of 19.5 M random weights, and a tokenizer trained on Python's own library."""

import glob
import json
import os
import sys
import sysconfig

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float16", "vocab_size": 32_000, "hidden_size": 256,
    "intermediate_size": 768, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "max_position_embeddings": 8192, "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False, "rms_norm_eps": 1e-6,
    "rope_theta": 10_000.0, "hidden_act": "silu",
}
SPECIAL = ["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>"]
CHAT = (
    "{{bos_token}}{% for m in messages %}<|{{m['role']}}|>\n{{m['content']}}{{eos_token}}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def main(out):
    os.makedirs(out, exist_ok=True)
    tokenizer().save(f"{out}/tokenizer.json")
    write(f"{out}/tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "model_max_length": CONFIG["max_position_embeddings"], "chat_template": CHAT})
    save_file(weights(), f"{out}/model.safetensors", metadata={"format": "pt"})
    write(f"{out}/config.json", CONFIG)


def write(name, value):
    with open(name, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)


def tokenizer():
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=CONFIG["vocab_size"], special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    files = glob.glob(sysconfig.get_paths()["stdlib"] + "/*.py") + glob.glob(sysconfig.get_paths()["stdlib"] + "/[a-rt-z]*/*.py")
    bpe.train_from_iterator((open(f, encoding="utf-8", errors="ignore").read() for f in sorted(files)), trainer)
    if bpe.get_vocab_size() != CONFIG["vocab_size"]:
        sys.exit(f"error: Python's library gave only {bpe.get_vocab_size()} tokens of {CONFIG['vocab_size']}")
    return bpe


def weights():
    random = np.random.default_rng(0)
    hidden, mlp, head = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["head_dim"]
    q, kv = CONFIG["num_attention_heads"] * head, CONFIG["num_key_value_heads"] * head

    def matrix(rows, columns):
        return random.normal(0, 0.02, (rows, columns)).astype(np.float16)

    out = {"model.embed_tokens.weight": matrix(CONFIG["vocab_size"], hidden), "lm_head.weight": matrix(CONFIG["vocab_size"], hidden)}
    norms = ["model.norm"]
    for i in range(CONFIG["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        shapes = {"self_attn.q_proj": (q, hidden), "self_attn.k_proj": (kv, hidden), "self_attn.v_proj": (kv, hidden),
                  "self_attn.o_proj": (hidden, q), "mlp.gate_proj": (mlp, hidden), "mlp.up_proj": (mlp, hidden),
                  "mlp.down_proj": (hidden, mlp)}
        out |= {f"{layer}.{name}.weight": matrix(*shape) for name, shape in shapes.items()}
        norms += [f"{layer}.input_layernorm", f"{layer}.post_attention_layernorm"]
    return out | {f"{name}.weight": np.ones(hidden, np.float16) for name in norms}


if __name__ == "__main__":
    main(sys.argv[1])
