# SPDX-License-Identifier: Apache-2.0
"""Instructions of a malloc+free pair, counted one by one (steps.c): they do not depend on what else the machine does."""

import subprocess

from figures import plain, summary
from harness import Failure, check_equal, say, start, target_path, temporary_directory
from modes import INSTALLED, Mode
from workloads import Asked

BASE = Mode("unhooked", "unhooked")
SLOW_PAIRS = 30  # of a slow profiler
SETTLED = 3000  # pairs before: rules are decoded, caches of the allocator are full


def count(target, pairs):
    """The instructions of each of so many pairs."""
    tracer = start([target_path("steps"), str(target.pid), str(pairs)], stdout=subprocess.PIPE, text=True)
    check_equal(tracer.stdout.readline(), "ready\n", "first line of steps")
    target.send(f"steps {pairs}")
    output = tracer.communicate(timeout=300)[0]
    check_equal(tracer.returncode, 0, "exit status of steps")
    target.line()
    return list(map(int, output.split()))


def measure(modes, all_frames, live, pairs):
    say(f"\nInstructions of a tight malloc+free pair, {live:,} live blocks: the median pair, and the mean of up to {pairs} (sampled ones are rare)")
    rows = []
    titles = {mode.name: mode.title for mode in [BASE, *modes]}
    directory = temporary_directory()
    for frames in all_frames:
        for mode in [BASE, *modes]:
            if not mode.steps:
                continue
            try:
                counts = count_under(mode, directory, frames, live, min(pairs, SLOW_PAIRS) if mode.most_rounds < 4 else pairs)
            except Failure as failure:
                say(f"  {titles[mode.name]:<42} {frames:>3} frames: failed: {failure}")
                continue
            rows.append({"mode": mode.name, "frames": frames, "live": live, **summary(counts), "mean": sum(counts) / len(counts)})
            say(f"  {titles[mode.name]:<42} {frames:>3} frames: {plain(rows[-1]['median']):>8} {plain(rows[-1]['mean']):>8}")
    return rows


def count_under(mode, directory, frames, live, pairs):
    setting = mode.setting(directory) if mode is not BASE else INSTALLED
    instance = Asked(setting, "pair", frames, live, 1, 64, settles=True)
    with mode.comes_to(instance.pid):
        instance.settle()
        instance.target.ask(f"pairs {SETTLED}")
        counts = count(instance.target, pairs)
    instance.end()
    return counts
