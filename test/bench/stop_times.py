# SPDX-License-Identifier: Apache-2.0
"""How long threads are stopped by attach, dump and detach, and by a program that does nothing but stop them and let them go (bare_stop.c)."""

import os
import subprocess

from figures import summary, text
from harness import Target, attach, check_equal, detach, dump, say, start, target_path, temporary_directory

COLUMNS = ("attach", "dump", "detach", "bare")


# What the threads do, and the program. Those that allocate have slots, and leave words on their stacks that point into the payload.
KINDS = {"sleep": lambda threads: Target("many_threads", threads - 1),  # and its main thread
         "allocate every 200 ms": lambda threads: Target("stacks", "bare", threads - 1, 200000)}


def bare_us(pid):
    process = start([target_path("bare_stop"), str(pid)], stdout=subprocess.PIPE, text=True)
    output = process.communicate(timeout=60)[0]
    check_equal(process.returncode, 0, "status of bare_stop")
    return int(output)


def measure(cases, rounds, mode):
    """`cases`: pairs of a kind and a number of threads."""
    say("\nHow long threads are stopped, in ms: median (least..most)")
    say(f"{'threads':>8} {'that':<22} " + " ".join(f"{name:>26}" for name in COLUMNS))
    path = os.path.join(temporary_directory(), "out.pb.gz")
    rows = []
    for kind, threads in cases:
        target = KINDS[kind](threads)
        times = {name: [] for name in COLUMNS}
        for _ in range(rounds):
            stopped = {"attach": attach(target.pid, *mode.options)["stopped_us"], "dump": dump(target.pid, path)["stopped_us"],
                       "detach": detach(target.pid)["stopped_us"], "bare": bare_us(target.pid)}
            for name in COLUMNS:
                times[name].append(stopped[name] / 1000)
        target.end()
        row = {"threads": threads, "that": kind, **{f"{name}_ms": summary(values) for name, values in times.items()}}
        say(f"{threads:>8} {kind:<22} " + " ".join(f"{text(row[f'{name}_ms']):>26}" for name in COLUMNS))
        rows.append(row)
    return rows
