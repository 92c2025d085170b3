# SPDX-License-Identifier: Apache-2.0
"""Bars in SVG, on a logarithmic scale: the median, with a line from the least to the most."""

import math
from xml.sax.saxutils import escape

LABELS, WIDTH, VALUES, LINE, TOP = 330, 440, 150, 20, 58  # in pixels
OURS, OTHERS = "#2a6fbb", "#999999"


def scale(values):
    """From a value to pixels, and the values where lines are drawn: 1, 2, 5, 10 and so on."""
    low, high = min(values), max(values)
    marks = [step * 10.0**power for power in range(-6, 8) for step in (1, 2, 5)]
    first = max([mark for mark in marks if mark <= low], default=marks[0])
    last = min([mark for mark in marks if mark >= high and mark > first], default=marks[-1])
    factor = WIDTH / math.log(last / first)

    def place(value):
        return LABELS + factor * math.log(max(value, first) / first)
    shown = [mark for mark in marks if first <= mark <= last]
    if len(shown) > 9:
        shown = [mark for mark in shown if abs(math.log10(mark) % 1) < 1e-9 or abs(math.log10(mark) % 1 - 1) < 1e-9]
    return place, shown


def bars(title, subtitle, groups, show, include=None):
    """groups: (name, [(label, summary, whether it is ours)]). `include`: a value that the axis must reach. Returns the text of the file."""
    values = [summary[name] for _, rows in groups for _, summary, _ in rows for name in ("least", "median", "most")]
    place, marks = scale(values + ([include] if include else []))
    lines = sum(len(rows) + (1.6 if name else 0.4) for name, rows in groups)
    height = TOP + int(lines * LINE) + 34
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABELS + WIDTH + VALUES}" height="{height}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="10" y="20" font-size="15" font-weight="bold">{escape(title)}</text>',
             f'<text x="10" y="38" fill="#555">{escape(subtitle)}</text>']
    for mark in marks:
        parts.append(f'<line x1="{place(mark):.1f}" y1="{TOP - 8}" x2="{place(mark):.1f}" y2="{height - 28}" stroke="#ddd"/>')
        parts.append(f'<text x="{place(mark):.1f}" y="{height - 12}" text-anchor="middle" fill="#555">{mark:g}</text>')
    y = float(TOP)
    for name, rows in groups:
        if name:
            parts.append(f'<text x="10" y="{y + 13:.1f}" font-weight="bold">{escape(name)}</text>')
            y += LINE
        for label, summary, ours in rows:
            x = place(summary["median"])
            parts.append(f'<text x="{LABELS - 8}" y="{y + 13:.1f}" text-anchor="end">{escape(label)}</text>')
            parts.append(f'<rect x="{LABELS}" y="{y + 2:.1f}" width="{max(x - LABELS, 1):.1f}" height="{LINE - 6}" fill="{OURS if ours else OTHERS}"/>')
            parts.append(f'<line x1="{place(summary["least"]):.1f}" y1="{y + 9:.1f}" x2="{place(summary["most"]):.1f}" y2="{y + 9:.1f}" stroke="black"/>')
            parts.append(f'<text x="{max(place(summary["most"]), x) + 6:.1f}" y="{y + 13:.1f}">{escape(show(summary["median"]))}</text>')
            y += LINE
        y += LINE * (0.6 if name else 0.4)
    return "\n".join([*parts, "</svg>", ""])
