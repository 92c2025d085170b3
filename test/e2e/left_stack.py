# SPDX-License-Identifier: Apache-2.0
"""An allocation is left by a jump deep in a stack, and that part of the stack goes. The next calls, on the same stack or another one, live; what is made
where it cannot be told whether the call still runs is counted as lost, and the first call on the thread's own stack ends that."""

import itertools
import os

import profiles
from harness import Target, Unharmed, attach, check_equal, detach, dump, run_test, say, temporary_directory

FUNCTIONS = ["--allocator", "take_block=alloc(size) nothrow", "--allocator", "give_block=free"]
ELSEWHERE = ["handler", "low", "high"]
BLOCKS = 100  # of one command


class Case:
    def __init__(self, kind, path):
        self.target = Target("left_stack", kind)
        self.path = path
        self.before = Unharmed(self.target.pid)
        attach(self.target.pid, *FUNCTIONS)

    def do(self, *commands):
        for command in commands:
            check_equal(self.target.ask(command), "done", command)

    def check(self, what, recorded, abandoned, lost):
        ledger = {line["name"]: line["value"] for line in dump(self.target.pid, self.path)["ledger"]}
        sites = profiles.by_innermost(self.path)
        check_equal(sites["work"].live_objects if "work" in sites else 0, recorded * BLOCKS, f"blocks recorded after {what}")
        check_equal([ledger.get(name, 0) for name in ("abandoned", "lost_signal_reentry", "nested")], [abandoned, lost * BLOCKS, 0],
                    f"calls left, lost, nested after {what}")

    def end(self):
        detach(self.target.pid)
        self.before.check_after(memory_may_change=True)
        self.do("work")
        self.target.end()


def one(kind, how, gone, following, path):
    what = f"{kind}, left {how}, {gone}, {following}"
    case = Case(kind, path)
    case.do("work", f"leave {how}", gone, following)
    away = following in ELSEWHERE
    case.check(what, 1 if away else 2, 0 if away else 1, away)
    case.do("work")
    case.check(what, 2 + (not away), 1, away)
    for command in ELSEWHERE:
        case.do(command)
    case.check(what, 5 + (not away), 1, away)
    if gone == "close":  # and once more, in the part that is there again: it is seen that the call is over
        case.do("open", f"leave {how}", "deep")
        case.check(what, 6 + (not away), 2, away)
    case.end()


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    tried = 0
    for kind, how, following in itertools.product(["main", "thread", "given"], [0, 1], ["work", *ELSEWHERE]):
        for gone in ["close"] + ["unmap"] * (kind == "given"):
            one(kind, how, gone, following, path)
            tried += 1
    say(f"{tried} threads live on where a part of their stack went")


run_test(main, "left_stack")
