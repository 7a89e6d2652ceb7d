#!/usr/bin/env python3
"""Computes causal attention again, in float64 and without Rapt, compares, and prints which words one word attends.

Usage: check_output.py FOLDER, in which embed_text.py and `rapt run` have written.
"""

import json
import pathlib
import sys

import numpy as np


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).astype(np.float64)
    return tensors


def logits(q, k):  # [batch, seqlen, heads, head_dim] to [batch, heads, seqlen, seqlen]
    s = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
    s[..., np.triu(np.ones(s.shape[-2:], bool), 1)] = -np.inf
    return s


def main():
    folder = pathlib.Path(sys.argv[1])
    given = read_safetensors(folder / "text-fp32.safetensors")
    result = read_safetensors(folder / "attended-fp32.safetensors")
    q, k, v = given["q"], given["k"], given["v"]
    group = q.shape[2] // k.shape[2]
    s = logits(q, np.repeat(k, group, axis=2))
    p = np.exp(s - s.max(-1, keepdims=True))
    expected = np.einsum("bhij,bjhd->bihd", p / p.sum(-1, keepdims=True), np.repeat(v, group, axis=2))

    words = (folder / "text-words.txt").read_text(encoding="utf-8").splitlines()[0].split(" ")
    weights = np.exp(s[0, :, -1] - result["lse"][0, :, -1:]).mean(0)  # by Rapt's lse, the mean of the heads
    print(f'the last word of the first sequence, "{words[-1]}", attends most to')
    for i in np.argsort(-weights)[:8]:
        print(f'  {weights[i]:6.2%}  word {i + 1}, "{words[i]}", after "{" ".join(words[max(0, i - 4) : i])}"')

    error = np.abs(expected - result["out"]).max()
    print(f"largest difference from numpy's float64: {error:.2e} (at most 1e-5 is expected of fp32)")
    sys.exit(not error < 1e-5)


main()
