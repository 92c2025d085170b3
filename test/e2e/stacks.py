# SPDX-License-Identifier: Apache-2.0
"""Threads on unusual stacks: side by side in one mapping, with guards that do not split it or none, in shared memory, coroutines', and with pages that only another
thread of the program could provide. Attached, dumped, detached, and all go on; threads made before and after attach."""

import os

from harness import Target, Unharmed, attach, check, check_equal, detach, dump, run_cases, say, temporary_directory, wait_until

THREADS = 6


def goes_on(target):
    """Every thread has time to allocate again."""
    before = int(target.ask("count"))
    wait_until(lambda: int(target.ask("count")) > before + 20 * THREADS, "the threads go on")


def one(kind):
    target = Target("stacks", kind, THREADS, ready=None)
    first = target.line()
    if first == "unsupported":
        say(f"  left out: this kernel has no {kind} stacks")
        return
    check_equal(first, "ready", "first line")
    for more in (False, True):
        before = Unharmed(target.pid)
        attach(target.pid)
        goes_on(target)
        if more:
            check_equal(target.ask("more"), "made", "answer")
            goes_on(target)
        report = dump(target.pid, os.path.join(temporary_directory(), "out.pb.gz"))
        seen = next(line["value"] for line in report["ledger"] if line["name"] == "threads")
        check(seen >= THREADS * (2 if more else 1), f"threads seen: {seen}")
        detach(target.pid)
        if not more:
            before.check_after(memory_may_change=True)
        goes_on(target)
    target.end()


def guarded():
    one("guarded")


def bare():
    one("bare")


def served():
    one("served")


def shared():
    one("shared")


def coroutines():
    one("coroutines")


run_cases([guarded, bare, served, shared, coroutines], "stacks")
