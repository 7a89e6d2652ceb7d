#!/usr/bin/env python3
"""Writes the q, k and v of one transformer layer over real text, as .safetensors in fp32 and bf16.

Every sequence is the beginning of a text, or the next part of the only one. A word's embedding is the sum of seeded random vectors of its hashed character
trigrams, so related words are near each other; then positions, layer norm, the three projections and rotary positions,
as a decoder layer does it. Nothing is trained, everything is deterministic.
"""

import argparse
import json
import pathlib
import re
import zlib

import numpy as np

BATCH, SEQLEN, HEADS_Q, HEADS_K, HEAD_DIM = 4, 512, 8, 2, 64
HIDDEN = HEADS_Q * HEAD_DIM
BUCKETS = 8192
LICENCES = pathlib.Path("/usr/share/common-licenses")
PROJECT = pathlib.Path(__file__).resolve().parent.parent


def words_of(path):
    return re.findall(r"\w+|[^\w\s]", path.read_text(encoding="utf-8", errors="replace"))


def documents():
    """The first BATCH texts of this machine that are long enough: Debian's licences, or else this project's documents."""
    candidates = [p for p in sorted(LICENCES.glob("*")) if not p.is_symlink()]
    candidates += [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md")), PROJECT / "include/rapt/rapt.h"]
    found = []
    for path in candidates:
        words = words_of(path) if path.is_file() else []
        if len(words) >= SEQLEN:
            found.append((path, words[:SEQLEN]))
    if len(found) < BATCH:
        raise SystemExit(f"embed_text: {len(found)} texts of {SEQLEN} words or more found, {BATCH} are needed")
    return found[:BATCH]


def parts_of(path):
    """The first BATCH parts of the reader's own text, of SEQLEN words each; a shorter text is one part."""
    words = words_of(path)
    if len(words) < 2:
        raise SystemExit(f"embed_text: {path} has {len(words)} words, 2 are needed")
    length = min(SEQLEN, len(words))
    parts = [words[i : i + length] for i in range(0, len(words) - length + 1, length)]
    return [(path, part) for part in parts[:BATCH]]


def embed(word, table):
    padded = f"<{word.lower()}>"
    trigrams = [padded[i : i + 3] for i in range(len(padded) - 2)]
    return sum(table[zlib.crc32(t.encode()) % BUCKETS] for t in trigrams) / np.sqrt(len(trigrams))


def angles(seqlen, dim):  # [seqlen, dim / 2]
    return np.arange(seqlen)[:, None] / 10000.0 ** (np.arange(dim // 2) * 2.0 / dim)


def rotate(x):  # x [batch, seqlen, heads, HEAD_DIM]
    cos, sin = (f(angles(x.shape[1], HEAD_DIM))[None, :, None, :] for f in (np.cos, np.sin))
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def layer(texts):
    random = np.random.default_rng(20240229)
    table = random.standard_normal((BUCKETS, HIDDEN))
    x = np.array([[embed(word, table) for word in words] for words in texts])  # [batch, seqlen, HIDDEN]
    positions = angles(x.shape[1], HIDDEN)
    x += np.concatenate([np.sin(positions), np.cos(positions)], axis=-1)
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def project(heads):
        weight = random.standard_normal((HIDDEN, heads * HEAD_DIM)) / np.sqrt(HIDDEN)
        return (x @ weight).reshape(*x.shape[:2], heads, HEAD_DIM)

    return {"q": rotate(project(HEADS_Q)), "k": rotate(project(HEADS_K)), "v": project(HEADS_K)}


def bf16_bits(x):
    bits = x.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")  # to nearest, ties to even


def write_safetensors(path, tensors, dtype):
    """An 8-byte length, a JSON header of types, shapes and byte ranges, then the data."""
    header, chunks, offset = {}, [], 0
    for name, x in tensors.items():
        data = (bf16_bits(x) if dtype == "BF16" else x.astype("<f4")).tobytes()
        header[name] = {"dtype": dtype, "shape": list(x.shape), "data_offsets": [offset, offset + len(data)]}
        chunks.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(chunks))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where text-fp32.safetensors and text-bf16.safetensors go")
    parser.add_argument("text", type=pathlib.Path, nargs="?", help="a text of your own")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    found = parts_of(arguments.text) if arguments.text else documents()
    for path, words in found:
        print(f"read {path}: {len(words)} words, \"{' '.join(words[:8])} ...\"")
    (folder / "text-words.txt").write_text("".join(" ".join(words) + "\n" for _, words in found), encoding="utf-8")
    tensors = layer([words for _, words in found])
    for name, dtype in (("fp32", "F32"), ("bf16", "BF16")):
        path = folder / f"text-{name}.safetensors"
        write_safetensors(path, tensors, dtype)
        print(f"wrote {path}: " + ", ".join(f"{n} {list(x.shape)}" for n, x in tensors.items()))


main()
