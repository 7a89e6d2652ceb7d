"""python -m rapt.bench rates: the rows of --json as tables for a page, with Rapt's speed over each rival's.

Reads the rows of `python -m rapt.bench --json`. A line is a case, a column is a backend in one pass. A cell is TFLOP/s,
or microseconds (--us).
"""

import argparse
import sys
from collections import defaultdict

from rapt.bench.layouts import markdown
from rapt.bench.rows import PASSES, over_rivals, read_all


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rapt.bench rates", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of --json")
    parser.add_argument("--backends", metavar="NAMES", help="only these, separated by ; (default all)")
    parser.add_argument("--us", action="store_true", help="microseconds in place of TFLOP/s")
    options = parser.parse_args(arguments)
    rows = read_all(parser, options.files, ("table", "case", "causal", "dtype", "tflops"))
    names = options.backends.split(";") if options.backends is not None else None
    if unknown := set(names or ()) - {row["backend"] for row in rows}:
        parser.error(f"--backends: no row is of {sorted(unknown)[0]!r}")
    rows = [row for row in rows if row["ms"] and (names is None or row["backend"] in names)]
    if not rows:
        print("no row has a time", file=sys.stderr)
        return 1
    for title, of_title in _titled(rows).items():
        print(f"{title}\n\n{markdown(*_summary(of_title))}\n\n{markdown(*_table(of_title, options.us))}\n")
    return 0


def _titled(rows):
    """The rows of each table, device and type."""
    found = defaultdict(list)
    for row in rows:
        card = row.get("card") or {}
        where = f"{card['name']}, driver {card['driver']}" if card else row["device"]
        threads = f", {row['threads']} threads" if row.get("threads") else ""
        origin = f", simulated by {row['simulated']}" if row.get("simulated") else ""
        found[f"{row['table']}: {where}{threads}, {row['dtype']}{origin}"].append(row)
    return found


def _by_case(rows):
    """{case: {(pass, backend): row}}"""
    found = defaultdict(dict)
    for row in rows:
        causal = " causal" if row["causal"] and "causal" not in row["case"] else ""
        found[row["case"] + causal][row["op"], row["backend"]] = row
    return found


def _columns(rows):
    """(pass, backend), pass by pass, Rapt first."""
    found = dict.fromkeys((row["op"], row["backend"]) for row in rows)
    return sorted(found, key=lambda column: (list(PASSES).index(column[0]), column[1] != "rapt"))


def _table(rows, us):
    columns = _columns(rows)
    header = ["case", *(f"{PASSES[op]}: {backend}" for op, backend in columns)]
    return header, [[case, *(_cell(of.get(c), us) for c in columns)] for case, of in _by_case(rows).items()]


def _cell(row, us):
    if row is None:
        return ""
    if us:
        return f"{1000 * row['ms']:.1f}"
    return f"{row['tflops']:.0f}" if row["tflops"] >= 10 else f"{row['tflops']:.2g}"


def _summary(rows):
    times = (
        (case, op, {backend: row["ms"] for (o, backend), row in of.items() if o == op})
        for case, of in _by_case(rows).items()
        for op in PASSES
    )
    lines = [
        [PASSES[op], rival, f"{r.mean:.2f}", f"{r.least:.2f} ({r.case})", str(r.cases)]
        for (op, rival), r in over_rivals(times).items()
    ]
    return ["pass", "over", "geometric mean", "least", "cases"], lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
