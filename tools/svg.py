"""Shapes of a drawing, for draw-bench and draw-gpu-bench."""

from html import escape


def drawing(width, height, title, parts):
    size = f'width="{width}" height="{number(height)}" viewBox="0 0 {width} {number(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" role="img">'
    return "\n".join(
        [head, f"<title>{escape(title)}</title>", rectangle(0, 0, width, height, "#fff", radius=6), *parts, "</svg>\n"]
    )


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def rectangle(x, y, width, height, colour, radius=0):
    rounded = f' rx="{radius}"' if radius else ""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return f'<rect {place} fill="{colour}"{rounded}/>'


def line(x1, y1, x2, y2, colour, width):
    ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def text(x, y, words, size=13, weight=400, anchor="start", colour="#0f172a"):
    style = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="{colour}"'
    return f'<text x="{number(x)}" y="{number(y)}" {style}>{escape(words)}</text>'
