"""Rows in files of --json, of python -m rapt.bench, rapt bench and rapt compare."""

import json
from collections.abc import Iterator
from pathlib import Path

PASSES = {"fwd": "forward", "bwd": "backward"}


def read(file: str) -> Iterator[dict]:
    for number, line in enumerate(Path(file).read_text().splitlines(), 1):
        try:
            row = json.loads(line) if line.strip() else {"about": ""}
        except ValueError as error:
            raise ValueError(f"{file}, line {number}: it is no JSON: {error}") from None
        if not isinstance(row, dict):
            raise ValueError(f"{file}, line {number}: it is no row of a bench")
        if "about" in row:  # a comment, as in docs/performance/rows
            continue
        if missing := {"problem", "op", "device", "backend", "ms"} - row.keys():
            raise ValueError(f"{file}, line {number}: it is no row of a bench: it lacks {', '.join(sorted(missing))}")
        if row["op"] not in PASSES:
            raise ValueError(f"{file}, line {number}: op is {row['op']!r}; it must be fwd or bwd")
        yield row
