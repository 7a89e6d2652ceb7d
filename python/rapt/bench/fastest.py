"""python -m rapt.bench fastest: which library or kernel was fastest at which length and head_dim, from rows of --json.

Reads the rows of `python -m rapt.bench --json`, `rapt bench --json` and `rapt compare --json`. Rows of one problem may
be in several files. Each cell names the fastest, and how many times as long the fastest of another library or, where
there is none, the next kernel took.
"""

import argparse
import re
import sys
from collections import defaultdict
from typing import NamedTuple

from rapt.bench.layouts import grid, markdown
from rapt.bench.rows import PASSES, read_all

_OURS = ("rapt", "math", "cpu", "hip", "cuda")  # backends that are Rapt's; cpu.avx2 and hip.<kernel> too


class Time(NamedTuple):
    name: str
    """a library, or Rapt and its kernel"""
    library: str
    ms: float


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rapt.bench fastest", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of --json")
    parser.add_argument("--markdown", action="store_true", help="a table for a page")
    options = parser.parse_args(arguments)
    rows = read_all(parser, options.files)
    for title, header, lines in tables(rows):
        print(f"{title}\n\n{markdown(header, lines) if options.markdown else grid(header, lines)}\n")
    if not any(row["ms"] for row in rows):
        print("no row has a time", file=sys.stderr)
        return 1
    return 0


def tables(rows: list[dict]):
    """(title, header, lines) for each device, type, mask and pass: a line for a head_dim, a column for a length."""
    found = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if not row.get("ms"):
            continue
        problem = row["problem"]
        origin = f"simulated by {row['simulated']}" if row.get("simulated") else "measured"
        on_cpu = "runtime" not in row  # of a GPU, in the command's rows
        threads = f", {row['threads']} threads" if on_cpu and row.get("threads") else ""
        title = f"{row['device']}{threads}, {_options(problem)}, {PASSES[row['op']]}, {origin}"
        time = Time(_name(row), _library(row["backend"]), row["ms"])
        of_problem = found[title][problem]
        before = of_problem.get(time.name)
        of_problem[time.name] = time if before is None or time.ms < before.ms else before
    for title, problems in sorted(found.items()):
        lengths = sorted({_number(p, "sk") for p in problems})
        cells = defaultdict(dict)
        only_rapt = all(time.library == "rapt" for times in problems.values() for time in times.values())
        for problem, times in problems.items():
            key = _number(problem, "d"), _sizes(problem)
            cells[key][_number(problem, "sk")] = _cell(list(times.values()), only_rapt)
        lines = [
            [f"{head_dim}, {sizes}", *(of_key.get(n, "-") for n in lengths)]
            for (head_dim, sizes), of_key in sorted(cells.items())
        ]
        yield title, ["head_dim", *(f"{n} keys" for n in lengths)], lines


def _library(backend):
    return "rapt" if backend.partition(".")[0] in _OURS else backend


def _name(row):
    """A GPU's kernel without what the table says already: forward.d64.bf16.plain.k32w4 is forward.k32w4."""
    if _library(row["backend"]) != "rapt":
        return row["backend"]
    if row["backend"] == "math":
        return "rapt math"
    kernels = [_short(kernel) for kernel in row.get("kernel", "").split(" + ")]
    return f"rapt {' + '.join(kernels)}".rstrip()


def _short(kernel):
    parts = kernel.split(".")
    if len(parts) != 5:
        return kernel
    operation, _, _, features, shape = parts
    options = "" if features == "plain" else f"{features}."
    return f"{operation}.{options}{shape}{' by Triton' if shape.startswith('tq') else ''}"


def _cell(times, only_rapt):
    best = min(times, key=lambda time: time.ms)
    others = [t for t in times if t.library != best.library] or [t for t in times if t.name != best.name]
    second = min(others, key=lambda time: time.ms, default=None)
    text = f"{best.name}; {second.name} {second.ms / best.ms:.2f}" if second else best.name
    return text.replace("rapt ", "") if only_rapt else text


def _number(problem, word):
    found = re.search(rf"\b{word}(\d+)", problem)
    return int(found[1]) if found else 0


def _sizes(problem):
    return " ".join(word for word in problem.split() if re.match(r"(b|hq|hk)\d", word))


def _options(problem):
    """The type and everything that is no size."""
    return " ".join(word for word in problem.split() if not re.fullmatch(r"(b|hq|hk|sq|sk|d)\d+", word))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
