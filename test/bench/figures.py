# SPDX-License-Identifier: Apache-2.0
"""Figures of several measurements: always the median with the least and the most."""

import statistics


def summary(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "count": len(values)}


def added(row):
    """What a mode adds to the base, of the medians."""
    return row["cost"]["median"] - row["base_cost"]["median"]


def plain(value):
    """Three digits that count."""
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


def text(figures, show=plain):
    """Median (least..most); of one measurement the value alone, of none a dash."""
    if figures is None:
        return "-"
    if figures["count"] == 1:
        return show(figures["median"])
    return f"{show(figures['median'])} ({show(figures['least'])}..{show(figures['most'])})"


def ratio_text(figures):
    return text(figures, lambda value: f"{value:.2f}" if value < 100 else f"{value:.0f}")
