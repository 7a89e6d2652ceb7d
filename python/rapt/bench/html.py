"""A report as one HTML file without scripts, with a bar per measurement."""

from html import escape
from itertools import groupby

from rapt.bench.run import Row

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.2rem }
td { padding: .15rem .6rem .15rem 0; white-space: nowrap } td.n { text-align: right } td.bar { width: 45% }
h3 { margin: 1.2rem 0 .2rem; font-weight: 600 }
.bar div { background: #9aa5b1; height: .8rem } .rapt div { background: #c2410c } .rapt { font-weight: 600 }
"""


def report(rows: list[Row], about: str) -> str:
    parts = [f"<!doctype html><meta charset=utf-8><title>Rapt benchmark</title><style>{_STYLE}</style>"]
    parts.append(f"<h1>Rapt benchmark</h1><pre>{escape(about)}</pre>")
    for table, of_table in groupby(rows, lambda r: r.table):
        parts.append(f"<h2>{escape(table)}</h2>")
        for (problem, op, threads), group in groupby(of_table, lambda r: (r.problem, r.op, r.threads)):
            parts.append(_case(f"{problem} {op}" + (f", threads {threads}" if threads else ""), list(group)))
    return "\n".join(parts) + "\n"


def _case(title, rows):
    most = max((r.tflops for r in rows if not r.error), default=1)
    lines = [f"<h3>{escape(title)}</h3><table>"]
    for r in rows:
        if r.error:
            lines.append(f"<tr><td>{escape(r.backend)}<td colspan=5>{escape(r.error)}")
            continue
        memory = "" if r.extra_bytes is None else f"{r.extra_bytes / 2**20:.1f} MiB"
        lines.append(
            f"<tr{' class=rapt' if r.backend == 'rapt' else ''}><td>{escape(r.backend)}<td class=n>{r.ms:.4f} ms"
            f"<td class=n>{r.tflops:.4g} TFLOP/s<td class=n>{memory}"
            f"<td>{f'simulated ({escape(r.simulated)})' if r.simulated else ''}"
            f"<td class=bar><div style='width:{100 * r.tflops / most:.1f}%'></div>"
        )
    return "\n".join([*lines, "</table>"])
