#!/usr/bin/env python3
"""Computes causal attention again, in float64 and without Rapt, and compares: check_output.py INPUT OUTPUT"""

import json
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


def attention(q, k, v):  # [batch, seqlen, heads, head_dim]
    group = q.shape[2] // k.shape[2]
    k, v = (np.repeat(x, group, axis=2) for x in (k, v))
    s = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(q.shape[3])
    s[..., np.triu(np.ones(s.shape[-2:], bool), 1)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("bhij,bjhd->bihd", p / p.sum(-1, keepdims=True), v)


given, result = read_safetensors(sys.argv[1]), read_safetensors(sys.argv[2])
error = np.abs(attention(given["q"], given["k"], given["v"]) - result["out"]).max()
print(f"largest difference from numpy's float64: {error:.2e} (at most 1e-5 is expected of fp32)")
sys.exit(not error < 1e-5)
