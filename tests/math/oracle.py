#!/usr/bin/env python3
"""Compares the math backend's float64 results with attention computed again with numpy: by python/rapt/_float64.py, and
for packed sequences, paged caches and dropout by the code here. Usage: oracle.py FILE, written by oracle_cases.
"""

import pathlib
import re
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from float64 import oracle as float64  # noqa: E402

# Relative to the largest value times 1 + max|logit|, because the logits are rounded. float64's unit is 1e-16.
TOLERANCE = 4e-15


# ---- Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) ----


def philox(counter, key):
    """Four counter words and two key words, arrays or ints, to four words."""
    c = [np.asarray(x, dtype=np.uint64) for x in counter]
    k0, k1 = (np.uint64(x) for x in key)
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    for step in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(second >> shift) ^ c[1] ^ k0, second & low, (first >> shift) ^ c[3] ^ k1, first & low]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return c


# Known answers of the Random123 distribution: counter, key, result.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def check_known_answers():
    for counter, key, result in KNOWN_ANSWERS:
        words = [[int(x, 16) for x in text.split()] for text in (counter, key, result)]
        assert [int(x) for x in philox(words[0], words[1])] == words[2], f"philox of counter {counter}"


SEED, OFFSET = 0x123456789ABCDEF, 7  # as tests/support/inputs.hpp


def dropout_factors(probability, stream, rows, columns):
    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    words = philox((column // 4, row // 2, np.full_like(row, stream), np.full_like(row, OFFSET)),
                   (SEED & 0xFFFFFFFF, SEED >> 32))
    halves = [part for word in words for part in (word & np.uint64(0xFFFF), word >> np.uint64(16))]
    number = 4 * (row % 2) + column % 4
    field = np.choose(number, [h.astype(np.int64) for h in halves])
    return np.where(field < round(65536 * (1 - probability)), 1 / (1 - probability), 0.0)


# ---- the file ----


def read_cases(path):
    with open(path, "rb") as file:
        while line := file.readline():
            text = line.decode().split(maxsplit=1)[1].strip()
            tensors = {}
            while not (line := file.readline()).startswith(b"end"):
                _, name, *shape = line.decode().split()
                shape = [int(size) for size in shape]
                count = int(np.prod(shape))
                tensors[name] = np.frombuffer(file.read(8 * count), dtype="<f8").reshape(shape)
            yield text, tensors


class Problem:
    def __init__(self, text):
        tokens = text.split()

        def number(prefix, otherwise=None, kind=int):
            found = [m[1] for t in tokens if (m := re.fullmatch(re.escape(prefix) + r"(-?[0-9.e+-]+)", t))]
            return kind(found[0]) if found else otherwise

        self.batch, self.heads_q, self.heads_k = number("b"), number("hq"), number("hk")
        self.head_dim = number("d")
        self.head_dim_v = number("dv", self.head_dim)
        self.softcap = number("softcap=", 0.0, float)
        self.dropout = number("drop=", 0.0, float)
        self.scale = number("scale=", self.head_dim**-0.5, float)
        self.page = number("paged=", 0)
        self.causal = "top-left" if "causal-tl" in tokens else "causal" in tokens
        windows = [t[7:].split(",") for t in tokens if t.startswith("window=")]
        self.window = tuple(int(x) for x in windows[0]) if windows else None
        windows = [t[10:].split(",") for t in tokens if t.startswith("window-tl=")]
        self.window_top_left = tuple(int(x) for x in windows[0]) if windows else None
        pairs = [t[7:].split(",") for t in tokens if t.startswith("varlen=")]
        self.packed = bool(pairs)
        if pairs:
            self.lengths = [tuple(int(x) for x in pair.split(":")) for pair in pairs[0]]
        else:
            self.lengths = [(number("sq"), number("sk"))] * self.batch


# ---- attention ----


def score_part(tensor, b, h, rows, columns):
    if tensor is None:
        return None
    part = tensor[b if tensor.shape[0] > 1 else 0, h if tensor.shape[1] > 1 else 0]
    height = max(rows, 1) if part.shape[0] == 1 else part.shape[0]
    return np.broadcast_to(part, (height, part.shape[1]))[:rows, :columns]


def with_top_left_window(window, mask, rows, columns):
    """The mask, with a window that counts from key i. The oracle itself computes bottom-right windows."""
    if window is None:
        return mask
    left, right = (x if x >= 0 else rows + columns for x in window)
    distance = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    kept = (distance >= -left) & (distance <= right)
    return kept if mask is None else kept & (mask != 0)


def add_to_bias(dbias, ds, b, h):
    rows, columns = ds.shape
    target = dbias[b if dbias.shape[0] > 1 else 0, h if dbias.shape[1] > 1 else 0]
    if target.shape[0] == 1:
        ds = ds.sum(axis=0, keepdims=True)
        rows = 1
    target[:rows, :columns] += ds


def expected(problem, tensors):
    """All results computed again, and the largest finite logit."""
    results = {name[7:]: np.zeros_like(t) for name, t in tensors.items() if name.startswith("result.")}
    group = problem.heads_q // problem.heads_k
    largest = 0.0
    first_q = first_k = 0
    for b, (rows, columns) in enumerate(problem.lengths):
        at_q = (slice(first_q, first_q + rows),) if problem.packed else (b, slice(None))
        at_k = (slice(first_k, first_k + columns),) if problem.packed else (b, slice(None))
        for h in range(problem.heads_q):
            g = h // group
            if problem.page:
                table, j = tensors["block_table"][b].astype(int), np.arange(columns)
                at = table[j // problem.page], j % problem.page
                k, v = tensors["k"][at][:, g], tensors["v"][at][:, g]
            else:
                k, v = tensors["k"][at_k][:, g], tensors["v"][at_k][:, g]
            slopes = tensors.get("alibi")
            slope = None if slopes is None else slopes[b, h] if slopes.ndim == 2 else slopes[h]
            sink = tensors["sink"][h] if "sink" in tensors else None
            bias, mask = (score_part(tensors.get(name), b, h, rows, columns) for name in ("bias", "mask"))
            mask = with_top_left_window(problem.window_top_left, mask, rows, columns)
            keep = 1.0
            if problem.dropout:
                keep = dropout_factors(problem.dropout, b * problem.heads_q + h, rows, columns)
            found, head = float64.head_float64(
                tensors["q"][at_q][:, h], k, v, tensors["dout"][at_q][:, h], scale=problem.scale, causal=problem.causal,
                softcap=problem.softcap, window=problem.window, bias=bias, mask=mask, slope=slope, sink=sink, keep=keep,
            )  # fmt: skip
            largest = max(largest, np.abs(head.logits[head.x >= float64.NO_WEIGHT]).max(initial=0))
            results["out"][at_q][:, h] = found["out"]
            results["lse"][(h, *at_q) if problem.packed else (b, h)] = found["lse"]
            if "dq" in results:
                results["dq"][at_q][:, h] = found["dq"]
                results["dk"][at_k][:, g] += found["dk"]
                results["dv"][at_k][:, g] += found["dv"]
            if "dbias" in results:
                add_to_bias(results["dbias"], found["dbias"], b, h)
            if "dsink" in results:
                results["dsink"][h] += found["dsink"]
        first_q += rows
        first_k += columns
    return results, largest


def failures(text, tensors):
    results, largest = expected(Problem(text), tensors)
    for name, want in results.items():
        have = tensors["result." + name]
        finite = np.isfinite(want)
        if not np.array_equal(want[~finite], have[~finite], equal_nan=True) or not np.isfinite(have[finite]).all():
            yield f"{text}: {name} has NaN or infinities at other places"
        elif finite.any():
            error, scale = np.abs(want[finite] - have[finite]).max(), max(np.abs(want[finite]).max(), 1.0)
            if error > TOLERANCE * (1 + largest) * scale:
                yield f"{text}: {name} differs by {error:.3g}, largest value {scale:.3g}, largest logit {largest:.3g}"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: oracle.py FILE")
    check_known_answers()
    count = 0
    found = []
    for text, tensors in read_cases(sys.argv[1]):
        count += 1
        found += failures(text, tensors)
    print("\n".join(found + [f"{count} cases, {len(found)} differences"]))
    sys.exit(1 if found or count == 0 else 0)


main()
