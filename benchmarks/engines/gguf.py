"""gguf.py DIR FILE: writes the model of model.py as GGUF, for llama.cpp."""

import json
import os
import sys

sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]  # the package gguf, not this file

import gguf
import numpy as np
from safetensors import safe_open

NORMAL, CONTROL = 1, 3  # token types


def main(folder, out):
    config, tokenizer, around = (read(f"{folder}/{name}.json") for name in ("config", "tokenizer", "tokenizer_config"))
    w = gguf.GGUFWriter(out, "llama")
    describe(w, config)
    vocabulary(w, tokenizer, around["chat_template"])
    weights(w, config, folder)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def read(name):
    with open(name, encoding="utf-8") as f:
        return json.load(f)


def describe(w, c):
    w.add_name("random")
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_block_count(c["num_hidden_layers"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_key_length(c["head_dim"])
    w.add_value_length(c["head_dim"])
    w.add_rope_dimension_count(c["head_dim"])
    w.add_rope_freq_base(10_000.0)
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_vocab_size(c["vocab_size"])


def vocabulary(w, t, chat):
    tokens = {i: text for text, i in t["model"]["vocab"].items()}
    special = {a["id"]: a["content"] for a in t["added_tokens"]}
    tokens |= special
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list([tokens[i] for i in range(len(tokens))])
    w.add_token_types([CONTROL if i in special else NORMAL for i in range(len(tokens))])
    w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in t["model"]["merges"]])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_add_bos_token(False)
    w.add_chat_template(chat)


def weights(w, c, folder):
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, c["num_hidden_layers"])
    heads = {"q_proj": c["num_attention_heads"], "k_proj": c["num_key_value_heads"]}
    with safe_open(f"{folder}/model.safetensors", "np") as f:
        for key in f.keys():
            a = f.get_tensor(key).astype(np.float32)
            for part, n in heads.items():
                if part in key:  # llama.cpp interleaves the two halves of a rotary head
                    a = a.reshape(n, 2, a.shape[0] // n // 2, *a.shape[1:]).swapaxes(1, 2).reshape(a.shape)
            w.add_tensor(names.get_name(key, (".weight",)), a.astype(np.float16) if a.ndim == 2 else a)


if __name__ == "__main__":
    main(*sys.argv[1:3])
