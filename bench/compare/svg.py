"""Small plots as SVG: lines over two logarithmic axes, and dots over one."""

import math
from html import escape

INK = "#24292f"
FAINT = "#d8dee4"
COLORS = {"weft": "#0969da", "peer": "#cf222e", "floor": "#6e7781", "other": "#8250df"}
FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


def text(x, y, words, anchor="start", size=12, color=INK, bold=False, turn=None):
    weight = " font-weight='600'" if bold else ""
    rotated = f" transform='rotate({turn} {x:.1f} {y:.1f})'" if turn else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-size='{size}' fill='{color}'"
        f"{weight}{rotated}>{escape(words)}</text>"
    )


def line(x1, y1, x2, y2, color=FAINT, width=1.0, dash=""):
    dashed = f" stroke-dasharray='{dash}'" if dash else ""
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{color}'"
        f" stroke-width='{width}'{dashed}/>"
    )


def circle(x, y, color, radius=4.0, hollow=False):
    fill = "white" if hollow else color
    return (
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='{fill}' stroke='{color}'"
        " stroke-width='1.8'/>"
    )


def page(width, height, parts):
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'"
            f" width='{width}' height='{height}' {FONT}>",
            f"<rect width='{width}' height='{height}' rx='8' fill='white'/>",
            *parts,
            "</svg>",
            "",
        ]
    )


class LogScale:
    """Values from low to high, at places from first to last."""

    def __init__(self, values, first, last, room=0.08):
        low, high = math.log10(min(values)), math.log10(max(values))
        spread = max(high - low, 0.3)
        self.low, self.high = low - room * spread, high + room * spread
        self.first, self.last = first, last

    def __call__(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.first + part * (self.last - self.first)

    def ticks(self):
        """Powers of ten; 1, 2 and 5 of each if there are few of them."""
        steps = (1, 2, 5) if self.high - self.low < 2.2 else (1,)
        for power in range(math.floor(self.low), math.ceil(self.high) + 1):
            for step in steps:
                value = step * 10.0**power
                if self.low <= math.log10(value) <= self.high:
                    yield value


def number(value):
    """Short: 0.05, 20, 3000 as 3k."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"


def duration(microseconds):
    for unit, name in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= unit:
            return f"{microseconds / unit:.3g} {name}"
    return f"{microseconds:.3g} µs"


def lines(title, x_label, series, ticks, y_name=duration):
    """Series are (name, color, dash, [(x, y)]); ticks are (x, name)."""
    width, height, left, right, top, bottom = 520, 340, 78, 150, 44, 52
    points = [point for *_, each in series for point in each]
    x = LogScale([point[0] for point in points], left, width - right, 0.05)
    y = LogScale([point[1] for point in points], height - bottom, top)
    parts = [text(left, 24, title, size=14, bold=True)]
    for value in y.ticks():
        parts.append(line(left, y(value), width - right, y(value)))
        parts.append(text(left - 8, y(value) + 4, y_name(value), "end", 11))
    for value, name in ticks:
        parts.append(line(x(value), top, x(value), height - bottom))
        parts.append(text(x(value), height - bottom + 18, name, "middle", 11))
    parts.append(text((left + width - right) / 2, height - 12, x_label, "middle"))
    labels = []
    for name, color, dash, each in series:
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in each)
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        parts.append(
            f"<polyline points='{path}' fill='none' stroke='{color}' stroke-width='2'{dashed}/>"
        )
        if not dash:
            parts += [circle(x(a), y(b), color, 3) for a, b in each]
        labels.append([y(each[-1][1]) + 4, name, color])
    for at, name, color in apart(labels):
        parts.append(text(width - right + 10, at, name, color=color))
    return page(width, height, parts)


def apart(labels, distance=15):
    """Moves labels down that would lie on each other."""
    last = -math.inf
    for label in sorted(labels):
        label[0] = max(label[0], last + distance)
        last = label[0]
        yield label


def dots(title, subtitle, rows, legend, reference=None):
    """Rows are (label, [(value, color, hollow)], bar or None); legend is (name, color, hollow)."""
    step, width, left, right, top = 19, 760, 290, 40, 74
    height = top + step * len(rows) + 34
    values = [value for _, each, _ in rows for value, *_ in each]
    values += [bar for *_, bar in rows if bar] + ([reference] if reference else [])
    x = LogScale(values, left, width - right, 0.04)
    bottom = height - 30
    parts = [
        text(16, 26, title, size=14, bold=True),
        text(16, 45, subtitle, size=12, color="#57606a"),
    ]
    at = 16
    for name, color, hollow in legend:
        parts.append(circle(at + 5, 58, color, 4, hollow))
        parts.append(text(at + 14, 62, name, size=11))
        at += 26 + 6.6 * len(name)
    for i in range(len(rows)):
        y = top + step * (i + 0.5)
        parts.append(line(left, y, width - right, y, "#f0f2f4"))
    for value in x.ticks():
        parts.append(line(x(value), top - 6, x(value), bottom))
        parts.append(text(x(value), bottom + 16, number(value), "middle", 11))
    if reference:
        parts.append(line(x(reference), top - 6, x(reference), bottom, INK, 1.4))
    for i, (label, each, bar) in enumerate(rows):
        y = top + step * (i + 0.5)
        parts.append(text(left - 12, y + 4, label, "end", 11))
        if bar:
            parts.append(line(x(bar), y - 7, x(bar), y + 7, "#9a6700", 2.5))
        parts += [circle(x(value), y, color, 4, hollow) for value, color, hollow in each]
    return page(width, height, parts)
