# SPDX-License-Identifier: Apache-2.0
"""Allocation functions that are left in the middle, by longjmp, from a signal handler or not: what the program allocates afterwards is
recorded, also from deeper in its stack, and the ledger counts the calls that were left. And a handler that forks while it interrupts one: the
child comes back into the hook, where the region is not, and goes on."""

import os

import profiles
from harness import Target, Unharmed, attach, check_equal, detach, dump, run_test, say, temporary_directory

FUNCTIONS = ["malloc", "calloc", "realloc", "posix_memalign", "memalign"]


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("abandon")
    for function in FUNCTIONS:
        check_equal(target.ask(f"fork {function}"), "child 0", f"a fork within {function} before attach")
    before = Unharmed(target.pid)
    attach(target.pid)
    for function in FUNCTIONS:
        check_equal(target.ask(f"fork {function}"), "child 0", f"a fork within {function}")
    say("forked within each function: parent and child went on")

    recorded = 0
    for function in FUNCTIONS:
        check_equal(target.ask(f"leave {function}"), "left", "answer")
        check_equal(target.ask("deep"), "allocated", "answer")
        recorded += 100
        ledger = {line["name"]: line["value"] for line in dump(target.pid, path)["ledger"]}
        site = profiles.by_innermost(path)["deep"]
        check_equal((site.live_objects, site.live_bytes), (recorded, recorded * 300), f"blocks from deep in the stack after {function} was left")
        check_equal(ledger.get("abandoned"), recorded // 10, "calls that were left, in the ledger")
        check_equal(target.ask(f"fork {function}"), "child 0", f"a fork within {function} after it was left")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    for function in FUNCTIONS:
        check_equal(target.ask(f"leave {function}"), "left", "answer")
        check_equal(target.ask(f"fork {function}"), "child 0", f"a fork within {function} after detach")
    target.end()
    say(f"{recorded // 10} calls were left; the {recorded} that followed are recorded")


run_test(main, "abandon")
