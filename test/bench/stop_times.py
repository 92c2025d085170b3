# SPDX-License-Identifier: Apache-2.0
"""How long threads are stopped by attach, dump and detach."""

import os

from figures import summary, text
from harness import Target, attach, detach, dump, say, temporary_directory

COMMANDS = ("attach", "dump", "detach")


def measure(counts, rounds, mode):
    say("\nHow long threads are stopped, in ms: median (least..most)")
    say(f"{'sleeping threads':>18} " + " ".join(f"{name:>26}" for name in COMMANDS))
    path = os.path.join(temporary_directory(), "out.pb.gz")
    rows = []
    for threads in counts:
        target = Target("many_threads", threads - 1)  # and its main thread
        times = {name: [] for name in COMMANDS}
        for _ in range(rounds):
            for name, report in (("attach", attach(target.pid, *mode.options)), ("dump", dump(target.pid, path)), ("detach", detach(target.pid))):
                times[name].append(report["stopped_us"] / 1000)
        target.end()
        row = {"threads": threads, **{f"{name}_ms": summary(values) for name, values in times.items()}}
        say(f"{threads:>18} " + " ".join(f"{text(row[f'{name}_ms']):>26}" for name in COMMANDS))
        rows.append(row)
    return rows
