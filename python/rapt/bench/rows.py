"""Rows in files of --json, of python -m rapt.bench, rapt bench and rapt compare."""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PASSES = {"fwd": "forward", "bwd": "backward"}


class Ratio(NamedTuple):
    """Rapt's speed over a rival's in several cases."""

    mean: float
    """geometric"""
    least: float
    case: str
    """with the least"""
    cases: int


def over_rivals(cases: Iterable[tuple[str, str, dict[str, float]]]) -> dict[tuple[str, str], Ratio]:
    """Rapt's speed over each rival's, and over the best rival of each case, by pass and rival.

    cases: the name, the pass and each backend's time of each case
    """
    found = defaultdict(list)
    for case, op, times in cases:
        rivals = {backend: time for backend, time in times.items() if backend != "rapt"}
        if "rapt" not in times or not rivals:
            continue
        for rival, time in (*rivals.items(), ("the best", min(rivals.values()))):
            found[op, rival].append((time / times["rapt"], case))
    return {
        key: Ratio(math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios)), *min(ratios), len(ratios))
        for key, ratios in found.items()
    }


def read_all(parser: argparse.ArgumentParser, files: list[str], also: tuple[str, ...] = ()) -> list[dict]:
    """The rows of the files, which must have these keys too; ends the program if a file has other lines."""
    try:
        return [row for file in files for row in _read(file, also)]
    except (OSError, ValueError) as error:
        parser.error(str(error))


def _read(file: str, also: tuple[str, ...]) -> Iterator[dict]:
    for number, line in enumerate(Path(file).read_text().splitlines(), 1):
        try:
            row = json.loads(line) if line.strip() else {"about": ""}
        except ValueError as error:
            raise ValueError(f"{file}, line {number}: it is no JSON: {error}") from None
        if not isinstance(row, dict):
            raise ValueError(f"{file}, line {number}: it is no row of a bench")
        if "about" in row:  # a comment, as in docs/performance/rows
            continue
        if missing := {"problem", "op", "device", "backend", "ms", *also} - row.keys():
            raise ValueError(f"{file}, line {number}: it is no row of a bench: it lacks {', '.join(sorted(missing))}")
        if row["op"] not in PASSES:
            raise ValueError(f"{file}, line {number}: op is {row['op']!r}; it must be fwd or bwd")
        yield row
