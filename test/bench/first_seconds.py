# SPDX-License-Identifier: Apache-2.0
"""What a process pays right after attach, while the budget still finds its interval: processor time for a pair, in windows that grow, compared with the
same process before attach and after detach. Each process is another one, and attached to once. The program does nothing but allocate, so that what every
call pays, recorded or not, is more than the budget, which does not count it; what a window costs more than the last one is what the beginning costs."""

from figures import summary
from harness import Target, attach, check, detach, read_text, say

WINDOWS_MS = (100, 200, 400, 800, 1600, 3200)
BASE_MS = 400
SETTLE = 3           # measurements before the first, thrown away
FRAMES, LIVE, SIZE = 13, 1000, 0


def processor_ns(pid):
    return int(read_text(f"/proc/{pid}/schedstat").split()[0])


def pair_ns(target, milliseconds):
    """Nanoseconds of processor time for a pair, over so long."""
    before = processor_ns(target.pid)
    pairs = int(target.ask(f"measure {milliseconds}").split()[2])
    return (processor_ns(target.pid) - before) / pairs


def shares_of_one(mode):
    """For each window what was added, as a share of what the process needs alone."""
    target = Target("pair", FRAMES, LIVE, 1, SIZE)
    for _ in range(SETTLE):
        pair_ns(target, BASE_MS)
    bases = [pair_ns(target, BASE_MS)]
    attach(target.pid, *mode.options)
    costs = [pair_ns(target, window) for window in WINDOWS_MS]
    detach(target.pid)
    bases.append(pair_ns(target, BASE_MS))
    target.end()
    base = sum(bases) / 2
    return [cost / base - 1 for cost in costs]


def measure(processes, mode):
    """`processes`: how many; a row for each window."""
    say(f"\nWhat {processes} processes pay right after attach, {mode.title}: % of their processor time, median (least..most)")
    found = [shares_of_one(mode) for _ in range(processes)]
    rows, begin = [], 0
    for window, shares in zip(WINDOWS_MS, zip(*found)):
        check(len(shares) == processes, "a process is missing")
        rows.append({"from_ms": begin, "to_ms": begin + window, "mode": mode.name, "share": summary(shares),
                     "far_above_the_last": sum(one[len(rows)] - one[-1] > 0.06 for one in found)})
        figures = rows[-1]["share"]
        say(f"{begin:>6} to {begin + window:>5} ms  {100 * figures['median']:5.1f} ({100 * figures['least']:.1f}..{100 * figures['most']:.1f})"
            f"   6 more than in the last window: {rows[-1]['far_above_the_last']}")
        begin += window
    return rows
