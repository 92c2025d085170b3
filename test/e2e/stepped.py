# SPDX-License-Identifier: Apache-2.0
"""A signal handler has interrupted a hook, at any of its instructions or in what it calls, and waits where nobody can walk its stack: detach leaves the code
where it is; when the handler has returned it finishes. On the thread's own stack and on others, also in the same mapping."""

import os
import signal
import sys

from harness import (Target, Unharmed, attach, check, check_equal, detach, heapsnap, read_text, run_test, say, wait_until)

# Instructions of a hook: the island's stub, the entry's pushes before anything is noted, the work, the return.
STEPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 90)


def stopped(pid):
    return read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] == "T"


def one(target, number, known):
    """`known`: the payload has seen the thread before. False: the hook has no such instruction."""
    before = Unharmed(target.pid)
    attach(target.pid)
    if known:
        check_equal(target.ask("work"), "freed", "answer")
    answer = target.ask(f"interrupt {number}")
    if answer == "never there":
        detach(target.pid)
        return False
    check_equal(answer, "waiting", "answer")
    os.kill(target.pid, signal.SIGSTOP)  # whom detach would have to wait for; so it need not
    wait_until(lambda: stopped(target.pid), "the program stops")
    result = heapsnap("detach", target.pid, "--json")
    check(result.json["threads_inside"] == 1 and not result.json["finished"], f"at instruction {number}: {result}")
    os.kill(target.pid, signal.SIGCONT)
    check_equal(target.ask("go on"), "returned", "answer")
    check_equal(target.ask("work"), "freed", "answer")
    detach(target.pid)
    check_equal(target.ask("work"), "freed", "answer")
    before.check_after(memory_may_change=True)
    return True


def main():
    for kind in sys.argv[1:]:
        target = Target("stepped_call", kind, ready=None)
        if target.line() == "unsupported":
            say(f"  left out: {kind} stacks, which this kernel has not")
            continue
        check(one(target, 0, True), f"{kind}: the original was never reached")
        count = sum(one(target, number, known) for number in STEPS for known in (False, True))
        check(count >= 12, f"{kind}: of {2 * len(STEPS)} places in a hook only {count} were there")
        target.end()
        say(f"  {kind}: in the original, and at {count} instructions of the hook")


run_test(main, "stepped")
