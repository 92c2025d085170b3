# SPDX-License-Identifier: Apache-2.0
"""Allocators whose malloc has a second entry among the bytes that a hook would overwrite, without a symbol, reached from other functions in every way that
an instruction can say. Attach leaves malloc alone and says so, and the program lives on; without such an entry it is hooked."""

from harness import Target, Unharmed, check, check_equal, detach, heapsnap, run_test, say

REACHED = ["call", "call_before", "short", "short_behind", "condition", "count", "address"]


def main():
    for how in REACHED:
        for stripped in ["", "_dynsym"]:  # all names that are left stand in .dynsym
            target = Target(f"side_entries_{how}{stripped}")
            before = Unharmed(target.pid)
            result = heapsnap("attach", target.pid, "--exact")
            check_equal(result.status, 0, str(result))
            check("malloc of" in result.stderr and "leads into its first bytes" in result.stderr, f"{how}: {result}")
            check_equal(target.ask("work"), "worked", how)
            detach(target.pid)
            before.check_after(memory_may_change=True)
            target.end()
    target = Target("side_entries_none")
    before = Unharmed(target.pid)
    result = heapsnap("attach", target.pid, "--exact")
    check_equal((result.status, "malloc of" in result.stderr), (0, False), str(result))
    check_equal(target.ask("work"), "worked", "without a second entry")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    say(f"{len(REACHED)} second entries were seen")


run_test(main, "side_entries")
