"""The command line of python -m rapt.bench."""

import argparse
import importlib
import sys

from rapt._files import json_of, path_to_write, write
from rapt.bench import arguments as args
from rapt.bench import html, layouts
from rapt.bench.measure import time_model
from rapt.bench.run import Row, measure_table
from rapt.bench.tables import TABLES

_COMMANDS = {name: f"rapt.bench.{name}" for name in ("train", "takeover", "models", "fastest", "rates")}


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] in _COMMANDS:
        return importlib.import_module(_COMMANDS[arguments[0]]).main(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python -m rapt.bench",
        description="Rapt against torch's flash, efficient, cudnn and math attention, flash_attn and aiter, all that "
        "are installed, alternating in one run. `python -m rapt.bench train` trains a small transformer with each; "
        "`python -m rapt.bench takeover` times torch's own function with and without rapt.torch.enable(), "
        "`python -m rapt.bench models` whole models; `python -m rapt.bench fastest FILE` and `rates FILE` read "
        "files of --json.",
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}; default strix-halo")
    parser.add_argument("--rows", metavar="NAMES", help="only the cases with these names, separated by ;")
    parser.add_argument("--dtype", choices=("fp32", "bf16", "fp16"), help="only the cases of this type")
    parser.add_argument(
        "--threads", type=args.at_least_one, help="only the cases with this many threads, if the table sets them"
    )
    args.add_device(parser, None)
    parser.add_argument(
        "--seconds", type=args.seconds, default=0.5, help="for each backend, case and direction (default 0.5)"
    )
    parser.add_argument("--json", metavar="FILE", type=path_to_write, help="a JSON object per measurement and line")
    parser.add_argument("--html", metavar="FILE", type=path_to_write, help="a report")
    options = parser.parse_args(arguments)
    here = options.device or args.device_here()
    args.check_device(parser, here)
    try:
        time_model(here)
    except RuntimeError as error:
        parser.error(str(error))
    names = options.tables or ["strix-halo"]
    for name in names:
        if name not in TABLES:
            parser.error(f"there is no table {name!r}; the tables are {', '.join(TABLES)}")
    _check_rows(parser, names, options)
    chosen = {name: _chosen(parser, name, options) for name in names}

    measured: list[Row] = []
    found: dict = {}
    for name in names:
        table = chosen[name]
        device = table.device or here
        rows = measure_table(name, table, device, options.seconds, found)
        print(f"{name}\n")
        for line in layouts.layout(name, device)(_kept(rows, measured), device):
            print(line, flush=True)
        print()
    _print_absent(found)
    if options.json:
        write(options.json, "".join(json_of(r._asdict()) + "\n" for r in measured))
    if options.html:
        write(options.html, html.report(measured, layouts.status(measured[0].device)))
    return 0


def _chosen(parser, name, options):
    """The table with the cases that are asked for; each name of --rows must be one of a table's."""
    table = TABLES[name]()
    if options.device not in (None, table.device or options.device):
        parser.error(f"--device is {options.device}; the table {name} is measured on {table.device}")
    args.check_device(parser, table.device, f"the table {name}'s device")
    cases = [c for c in table.cases if options.dtype in (None, c.dtype)]
    if options.threads:
        cases = [c for c in cases if c.threads in (None, options.threads)]
    if options.rows is not None:
        cases = [c for c in cases if c.name in options.rows.split(";")]
    if not cases:
        rows = "; ".join(dict.fromkeys(c.name for c in table.cases))
        parser.error(f"no case of {name} is left; its rows are {rows}")
    return table._replace(cases=cases)


def _check_rows(parser, names, options):
    known = dict.fromkeys(case.name for name in names for case in TABLES[name]().cases)
    for row in options.rows.split(";") if options.rows is not None else ():
        if row not in known:
            parser.error(f"--rows: no row is named {row!r}; the rows are {'; '.join(known)}")


def _print_absent(found):
    """The rivals that do not run here, and why."""
    absent: dict[tuple[str, str], list[str]] = {}
    for (_, dtype, _), (_, others) in found.items():
        for why in others.items():
            absent.setdefault(why, []).append(dtype)
    for (rival, reason), dtypes in absent.items():
        print(f"not here: {rival}{'' if len(dtypes) == len(found) else ' in ' + ', '.join(dtypes)}: {reason}")


def _kept(rows, measured):
    for of_case in rows:
        measured += of_case
        yield of_case


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
