# SPDX-License-Identifier: Apache-2.0
"""Code that is to be patched leaves the memory between plan and freeze: it is not read from its file while the target stands still, but after that, and then the
attach is tried again."""

from harness import Target, Unharmed, attach_state, check, check_equal, detach, run_stopping, run_test, say


def main():
    target = Target("shared_memory")
    check_equal(target.ask("work"), "worked", "work")
    before = Unharmed(target.pid)
    dropped = []

    def drop():
        if not dropped:
            check_equal(target.ask("drop code"), "dropped", "drop code")
        dropped.append(True)
    result = run_stopping("freeze for the attach", drop, "attach", target.pid, "--verbose")
    check_equal((result.status, attach_state(target.pid), target.ask("work")), (0, "attached", "worked"), str(result))
    check(len(dropped) == 2 and "is not in memory" in result.stderr and "trying again" in result.stderr, f"it was not tried again: {result}")
    detach(target.pid)
    check_equal(target.ask("work"), "worked", "work")
    before.check_after(memory_may_change=True)
    target.end()
    say("code was not in memory any more when the process was stopped: it was read when that ran again, and it was attached")


run_test(main, "absent_code")
