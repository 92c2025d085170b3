# SPDX-License-Identifier: Apache-2.0
"""Coroutines are left amid allocation functions, more than a thread's slot has places for, also by a thread that ends: while one may go back into the payload its
code stays, and detach says so. And what they and the thread make meanwhile is recorded, or stands in a line of loss."""

import os
import sys

import profiles
from harness import Target, Unharmed, attach, check, check_equal, detach, dump, heapsnap, run_test, say, temporary_directory

FRAMED = ["--exact", "--allocator", "take_framed=alloc(size) nothrow"]
WATCHED = ["--exact", "--allocator", "take_watched=alloc(size)"]
LOSSES = ("lost_signal_reentry", "abandoned", "lost_shared_pointer")


class Case:
    def __init__(self, options, way="down"):
        self.target = Target("coroutines", way, "framed" if options is FRAMED else "watched")
        self.before = Unharmed(self.target.pid)
        attach(self.target.pid, *options)

    def do(self, *commands):
        for command in commands:
            check_equal(self.target.ask(command), "done", command)

    def ledger(self, path):
        """Blocks recorded, those of each loss, and nested calls."""
        counts = {line["name"]: line["value"] for line in dump(self.target.pid, path)["ledger"]}
        recorded = sum(values.live_objects for values in profiles.by_innermost(path).values())
        return recorded, {name: counts.get(name, 0) for name in LOSSES}, counts.get("nested", 0)

    def end(self):
        detach(self.target.pid)
        self.before.check_after(memory_may_change=True)
        self.do("laps 3")
        self.target.end()


def refused(case, says, left, lost):
    result = heapsnap("detach", "--json", case.target.pid)
    check_equal((result.status, result.json["finished"], result.json["threads_inside"], result.json["calls_left"], result.json["calls_lost"]),
                (1, False, 0, left, lost), str(result))
    check(says in result.stderr, f"what detach says: {result.stderr}")


def forgotten(how):
    """The thread's slot keeps four. Six were left, and the last four of them come back."""
    case = Case(FRAMED)
    case.do(f"{how} 6", "finish 5", "finish 4")
    if how == "suspend":
        case.do("finish 3", "finish 2")
    refused(case, "probably by coroutines", 2 if how == "suspend" else 4, False)
    case.do(*[f"finish {index}" for index in ([3, 2] if how == "thread" else [])], "finish 1", "finish 0")
    case.end()


def too_many():
    """So many that the region has no places for them: it is never known that all have come back."""
    case = Case(FRAMED)
    case.do("suspend 100", *[f"finish {index}" for index in range(99, 0, -1)])
    refused(case, "too many allocation calls were abandoned", 1, True)
    case.do("finish 0")
    refused(case, "inactive, until the process ends", 0, True)
    case.do("laps 3")
    case.target.end()


def accounts(path):
    for way in ("up", "down"):
        case = Case(WATCHED, way)
        case.do("laps 100")
        check_equal(case.ledger(path), (200, dict.fromkeys(LOSSES, 0), 0), f"two coroutines in watched calls, {way}")
        case.do("crowd 20")  # more than are kept
        recorded, losses, nested = case.ledger(path)
        check_equal((recorded + sum(losses.values()), nested), (400, 0), f"ten coroutines in watched calls, {way}: {losses}")
        check(recorded >= 200, f"recorded: {recorded}")
        case.end()
        case = Case(FRAMED, way)
        case.do("pack 10")
        case.do(*[f"finish {index}" for index in range(10)])
        recorded, losses, nested = case.ledger(path)
        check((recorded + sum(losses.values())) >= 10 and nested == 0, f"ten coroutines in framed calls, {way}: {recorded}, {losses}, {nested}")
        say(f"{way}: of 10 framed calls of coroutines {recorded} are recorded, {losses}")
        case.end()


def nested_or_left(path):
    """Many calls amid one, and many that look like it: a longjmp has left a call in a frame that nobody writes to."""
    for options in (FRAMED, WATCHED):
        case = Case(options, "up")
        case.do("grow 2000")
        check_equal(case.ledger(path), (1, dict.fromkeys(LOSSES, 0), 2000), "a call that calls itself 2000 times")
        case.do("jump 2000")
        recorded, losses, nested = case.ledger(path)
        check_equal((recorded, losses["abandoned"], losses["lost_signal_reentry"], nested), (1 + 2000 - 255, 1, 255, 2000), "after a jump")
        case.end()


def left_behind(path):
    del path
    forgotten("suspend")
    forgotten("thread")
    too_many()


PARTS = {"left": left_behind, "accounts": accounts, "nested": nested_or_left}


def main():
    """The parts that the command line names, or all of them."""
    path = os.path.join(temporary_directory(), "out.pb.gz")
    for name in sys.argv[1:] or PARTS:
        PARTS[name](path)


run_test(main, "coroutines")
