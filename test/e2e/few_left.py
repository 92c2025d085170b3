# SPDX-License-Identifier: Apache-2.0
"""What a target or the tool has few left of: attach takes no more than a part of it, or says by name what is lacking."""

import os
import re

from harness import Target, attach, attach_state, check, check_equal, check_refused, detach, heapsnap, read_text, run_cases, say


def mappings():
    """Near vm.max_map_count the target keeps what it needs."""
    limit = int(read_text("/proc/sys/vm/max_map_count"))
    for left, may in ((2, False), (4, False), (12, False), (200, True)):
        target = Target("fills_up", left, ready=None)
        if target.line() == "not filled":
            say("  the limit is too high to be reached: not tried")
            return
        check_equal(target.ask("work"), "works", "before")
        count = len(read_text(f"/proc/{target.pid}/maps").splitlines())
        if may:
            attach(target.pid)
            check_equal(target.ask("work"), "works", f"attached, {left} left")
            detach(target.pid)
        else:
            for command in ("attach", "check"):
                result = heapsnap(command, target.pid)
                check(result.status == 1 and "vm.max_map_count" in result.stderr + result.stdout and str(limit) in result.stderr + result.stdout, str(result))
            check_refused(heapsnap("attach", target.pid, "--max-memory", "1M"), "vm.max_map_count", str(limit))
            check_equal(attach_state(target.pid), None, "after a refused attach")
        check_equal(len(read_text(f"/proc/{target.pid}/maps").splitlines()), count, "mappings")
        check_equal(target.ask("work"), "works", "afterwards")
        target.end()


def tool_descriptors():
    """The tool's own limit of open files, whichever of its files meets it: it is named as that, and nothing else is."""
    target = Target("many_threads", 2)
    refused = 0
    for limit in range(4, 40):
        result = heapsnap("attach", target.pid, prefix=["prlimit", f"--nofile={limit}:{limit}"])
        if result.status == 0:
            detach(target.pid)
            break
        refused += 1
        check(re.search("open files|file descriptor", result.stderr, re.I), str(result))
        check("has a symbol" not in result.stderr, str(result))
        check_equal(attach_state(target.pid), None, f"attach with {limit} descriptors")
    else:
        check(False, "40 descriptors are not enough")
    check(refused > 3, f"only {refused} limits were too small")
    # The soft limit alone is the tool's to raise.
    result = heapsnap("attach", target.pid, prefix=["prlimit", "--nofile=8:1024"])
    check_equal(result.status, 0, str(result))
    detach(target.pid)
    target.end()


run_cases([mappings, tool_descriptors], "few left")
