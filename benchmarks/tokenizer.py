"""A tokenizer of bytes for peers that won't start without one: a byte is a token, so that any text is. It is written by hand, so that
nothing is downloaded; the server counts its own tokens, and the peers are told to believe it where they can be."""

import json


def byte_letters():
    """The printable letter that GPT-2's byte-level tokenizers write for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}


def write(folder):
    """Writes the three files of a Hugging Face tokenizer folder."""
    vocab = {letter: i for i, letter in enumerate(byte_letters().values())}
    added = [
        {"id": 256 + i, "content": t, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        for i, t in enumerate(("<s>", "</s>"))
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": []},
    }
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 131072,
        "chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("tokenizer.json", tokenizer), ("tokenizer_config.json", config), ("config.json", {"model_type": "gpt2"})):
        (folder / name).write_text(json.dumps(content))
