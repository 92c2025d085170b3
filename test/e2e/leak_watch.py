# SPDX-License-Identifier: Apache-2.0
"""What the tests of `heapsnap why` on planted problems have in common."""

import os

from harness import check, check_equal, attach_state, heapsnap_ok, say

TARGETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "targets")
TIME = "6s"


def line_of(words, source="planted_leaks.cc", comment="//"):
    """The number of the source line that says so at its end."""
    with open(os.path.join(TARGETS, source), encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"{comment} {words}"))


def look(result):
    """What it has found, for the log."""
    say(f"  {'; '.join(finding['text'] for finding in result['verdict'])}")
    return [finding["kind"] for finding in result["verdict"]]


def rows_of(result):
    return [(os.path.basename(site["file"]), site["line"], site["function"]) for site in result["sites"][:3]]


def check_row(result, line, function, source="planted_leaks.cc"):
    """Within the first three sites there is that one."""
    check(any(row[:2] == (source, line) and function in row[2] for row in rows_of(result)), f"line {line} of {function} is not in {rows_of(result)}: {result}")


def why(target, *options, time=TIME):
    result = heapsnap_ok("why", target.pid, "--for", time, *options)
    check_equal((result["command"], result["pid"], result["interrupted"]), ("why", target.pid, False), "why")
    check_equal(result["detach"]["verified"], True, "detach")
    check_equal(attach_state(target.pid), None, "state")
    check(len(result["cuts"]) >= 3, f"cuts: {result['cuts']}")
    return result


def got_processor_evenly(result):
    """Whether the process has grown by as much between any two looks, about: it grows by the clock, unless it gets no processor for as long as that."""
    moments = [(cut["seconds"], cut["anonymous"]) for cut in result["cuts"]]
    rates = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in zip(moments, moments[1:])]
    return min(rates) > 0.7 * max(rates)


def why_steady(target):
    """Of a program that grows steadily: again, up to five times, where it was kept from that."""
    for _ in range(5):
        result = why(target)
        if got_processor_evenly(result):
            return result
        say("  again: the process got no processor for a while")
    return result
