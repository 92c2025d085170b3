# SPDX-License-Identifier: Apache-2.0
"""How long threads are stopped by attach, dump and detach."""

import os

from figures import summary, text
from harness import Target, attach, detach, dump, say, temporary_directory

COMMANDS = ("attach", "dump", "detach")


# What the threads do, and the program. Those that allocate have slots, and leave words on their stacks that point into the payload.
KINDS = {"sleep": lambda threads: Target("many_threads", threads - 1),  # and its main thread
         "allocate every 200 ms": lambda threads: Target("stacks", "bare", threads - 1, 200000)}


def measure(cases, rounds, mode):
    """`cases`: pairs of a kind and a number of threads."""
    say("\nHow long threads are stopped, in ms: median (least..most)")
    say(f"{'threads':>8} {'that':<22} " + " ".join(f"{name:>26}" for name in COMMANDS))
    path = os.path.join(temporary_directory(), "out.pb.gz")
    rows = []
    for kind, threads in cases:
        target = KINDS[kind](threads)
        times = {name: [] for name in COMMANDS}
        for _ in range(rounds):
            for name, report in (("attach", attach(target.pid, *mode.options)), ("dump", dump(target.pid, path)), ("detach", detach(target.pid))):
                times[name].append(report["stopped_us"] / 1000)
        target.end()
        row = {"threads": threads, "that": kind, **{f"{name}_ms": summary(values) for name, values in times.items()}}
        say(f"{threads:>8} {kind:<22} " + " ".join(f"{text(row[f'{name}_ms']):>26}" for name in COMMANDS))
        rows.append(row)
    return rows
