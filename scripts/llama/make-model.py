#!/usr/bin/env python3
"""Writes a small language model of the llama architecture as a GGUF file: seeded random weights in f16, byte-level BPE.

The layout follows the GGUF specification, version 3 (ggml's docs/gguf.md). The same arguments give the same file.

  scripts/llama/make-model.py FILE [--seed N] [--layers N]
"""

import argparse
import array
import collections
import random
import re
import struct

ALIGNMENT = 32
UINT32, FLOAT32, STRING, ARRAY, BOOL, INT32 = 4, 6, 8, 9, 7, 5  # value types of GGUF
F32, F16 = 0, 1  # tensor types of ggml

# Widths are multiples of 256, the block of Q4_K, so that no tensor falls back to another type.
EMBEDDING = 256
FEED_FORWARD = 768
HEADS = 4
KV_HEADS = 2
HEAD = EMBEDDING // HEADS
VOCABULARY = 512
CONTEXT = 1024
# How strongly the output prefers, behind each token, its successor in a fixed cycle. Random weights alone leave the best two
# tokens so close that rounding decides between them within 200 tokens; a trained model's are further apart. With this
# share the margin is several times what quantised activations round away; what the layers compute shows in the logits.
SUCCESSOR = 0.3
STEP = 197  # from a token to its successor; coprime to the number of tokens that are not special
SPECIAL = ["<|begin|>", "<|end|>"]

# The text that the merges of the tokenizer are learned from.
TEXT = """A compiler reads a program in one language and writes the same program in another. The translation happens in stages:
the front end decodes instructions, the middle removes work that nobody needs, and the back end chooses registers for every value
that is left. A wavefront is a row of lanes that execute the same instruction at the same time; a mask says which of the lanes take
part. When lanes disagree about a branch, both sides are executed, one after the other, and each side under its own mask. Loads and
stores of neighbouring lanes go to neighbouring addresses most of the time, and then one wide access serves the whole row. Matrix
products are tiled so that each number that is read from memory is used many times while it is still in a register. A cache keeps
translations for the next process, because the fastest compiler is the one that does not have to run again."""


def byte_characters():
    """Returns GPT-2's printable stand-in of each byte: itself if it is printable, else one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    characters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in characters:
            characters[byte] = chr(0x100 + len(characters) - len(printable))
    return [characters[byte] for byte in range(256)]


def learn_merges(count):
    """Returns the `count` pairs that byte pair encoding merges first in TEXT."""
    characters = byte_characters()
    words = collections.Counter()
    for word in re.findall(r" ?[A-Za-z]+|[^A-Za-z\s]|\s", TEXT):
        words[tuple(characters[byte] for byte in word.encode())] += 1
    merges = []
    while len(merges) < count:
        pairs = collections.Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += times
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        merged = collections.Counter()
        for word, times in words.items():
            out, at = [], 0
            while at < len(word):
                if word[at : at + 2] == best:
                    out.append(best[0] + best[1])
                    at += 2
                else:
                    out.append(word[at])
                    at += 1
            merged[tuple(out)] += times
        words = merged
    return merges


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def metadata(layers, seed):
    """Returns the encoded key-value pairs and their number."""
    merges = learn_merges(VOCABULARY - 256 - len(SPECIAL))
    tokens = byte_characters() + [left + right for left, right in merges] + SPECIAL
    types = [1] * (VOCABULARY - len(SPECIAL)) + [3] * len(SPECIAL)  # normal, control
    scalar = {UINT32: "<I", FLOAT32: "<f", BOOL: "<?"}
    pairs = []

    def add(key, kind, value):
        pairs.append(string(key) + struct.pack("<I", kind) + (string(value) if kind == STRING else struct.pack(scalar[kind], value)))

    def add_array(key, kind, values):
        body = b"".join(map(string, values)) if kind == STRING else struct.pack(f"<{len(values)}i", *values)
        pairs.append(string(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + body)

    add("general.architecture", STRING, "llama")
    add("general.name", STRING, f"random weights, seed {seed}")
    add("general.alignment", UINT32, ALIGNMENT)
    add("general.file_type", UINT32, 1)  # mostly f16
    add("llama.block_count", UINT32, layers)
    add("llama.context_length", UINT32, CONTEXT)
    add("llama.embedding_length", UINT32, EMBEDDING)
    add("llama.feed_forward_length", UINT32, FEED_FORWARD)
    add("llama.attention.head_count", UINT32, HEADS)
    add("llama.attention.head_count_kv", UINT32, KV_HEADS)
    add("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5)
    add("llama.rope.dimension_count", UINT32, HEAD)
    add("llama.rope.freq_base", FLOAT32, 10000.0)
    add("llama.vocab_size", UINT32, VOCABULARY)
    add("tokenizer.ggml.model", STRING, "gpt2")
    add("tokenizer.ggml.pre", STRING, "gpt-2")
    add_array("tokenizer.ggml.tokens", STRING, tokens)
    add_array("tokenizer.ggml.token_type", INT32, types)
    add_array("tokenizer.ggml.merges", STRING, [f"{left} {right}" for left, right in merges])
    add("tokenizer.ggml.bos_token_id", UINT32, VOCABULARY - 2)
    add("tokenizer.ggml.eos_token_id", UINT32, VOCABULARY - 1)
    add("tokenizer.ggml.add_bos_token", BOOL, True)
    add("tokenizer.ggml.add_space_prefix", BOOL, False)
    return b"".join(pairs), len(pairs)


def tensor_list(layers):
    """Yields name, shape (fastest dimension first, as ggml counts) and the standard deviation of the weights; None: all 1."""
    width = EMBEDDING**-0.5
    yield "token_embd.weight", (EMBEDDING, VOCABULARY), 1.0
    for layer in range(layers):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", (EMBEDDING,), None
        yield block + "attn_q.weight", (EMBEDDING, HEADS * HEAD), 1.5 * width  # attention that is neither flat nor one-hot
        yield block + "attn_k.weight", (EMBEDDING, KV_HEADS * HEAD), 1.5 * width
        yield block + "attn_v.weight", (EMBEDDING, KV_HEADS * HEAD), width
        yield block + "attn_output.weight", (HEADS * HEAD, EMBEDDING), width
        yield block + "ffn_norm.weight", (EMBEDDING,), None
        yield block + "ffn_gate.weight", (EMBEDDING, FEED_FORWARD), width
        yield block + "ffn_up.weight", (EMBEDDING, FEED_FORWARD), width
        yield block + "ffn_down.weight", (FEED_FORWARD, EMBEDDING), FEED_FORWARD**-0.5
    yield "output_norm.weight", (EMBEDDING,), None
    yield "output.weight", (EMBEDDING, VOCABULARY), 4 * width  # logits differ by several units, as a trained model's do


def add_successors(output, embedding):
    """Makes each token's logit larger behind the token that it is the successor of."""
    normal = VOCABULARY - len(SPECIAL)
    for token in range(normal):
        successor = (token + STEP) % normal
        for i in range(EMBEDDING):
            output[successor * EMBEDDING + i] += SUCCESSOR * embedding[token * EMBEDDING + i]


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()
    pairs, pair_count = metadata(options.layers, options.seed)
    numbers = random.Random(options.seed)
    infos, bodies, offset = [], [], 0
    embedding = []
    for name, shape, deviation in tensor_list(options.layers):
        count = 1
        for size in shape:
            count *= size
        if deviation is None:
            kind, body = F32, array.array("f", [1.0] * count).tobytes()
        else:
            weights = [numbers.gauss(0.0, deviation) for _ in range(count)]
            if name == "token_embd.weight":
                embedding = weights
            elif name == "output.weight":
                add_successors(weights, embedding)
            kind, body = F16, struct.pack(f"<{count}e", *weights)
        infos.append(string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        bodies.append(padded(body))
        offset += len(bodies[-1])
    header = b"GGUF" + struct.pack("<IQQ", 3, len(infos), pair_count) + pairs + b"".join(infos)
    with open(options.file, "wb") as file:
        file.write(padded(header))
        file.writelines(bodies)


if __name__ == "__main__":
    main()
