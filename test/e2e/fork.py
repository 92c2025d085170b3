# SPDX-License-Identifier: Apache-2.0
"""A forked child works, is not recorded, and can itself be neither seen nor hurt; the parent's profile stays exact."""

import os
import signal
import time

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, read_text, run_test, say,
                     temporary_directory)


def cpu_ticks(pid):
    """User time of a process that must be running, in clock ticks."""
    fields = read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    check(fields[0] in "RSD", f"the child is in state {fields[0]}")
    return int(fields[11])


def main():
    target = Target("fork_child")
    check_equal(target.ask("spawn"), "child 0", "before attach")
    before = Unharmed(target.pid)
    path = os.path.join(temporary_directory(), "out.pb.gz")
    attach(target.pid)
    check_equal(target.ask("allocate"), "allocated", "answer")
    rounds = 3
    for _ in range(rounds):
        check_equal(target.ask("fork"), "child 0", "status of the forked child")
        check_equal(target.ask("spawn"), "child 0", "status of the spawned child")
    dump(target.pid, path)
    sites = profiles.by_innermost(path)
    none = profiles.Values()
    check_equal((sites["site_parent_before"].live_objects, sites["site_parent_before"].live_bytes), (50, 5000), "site_parent_before")
    check_equal((sites["site_parent_after"].live_objects, sites["site_parent_after"].live_bytes),
                (2 * rounds * 50, 2 * rounds * 50 * 200), "site_parent_after")
    check_equal(sites.get("site_child", none), none, "the child's allocations in the parent's profile")
    before.check_attached()

    # A child looks as if an unfinished attach had left code in it; taking that away would kill it.
    child = int(target.ask("stay"))
    for command in ("attach", "detach"):
        check_refused(heapsnap(command, child), "forked")
    ticks = cpu_ticks(child)
    while cpu_ticks(child) == ticks:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)

    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("fork"), "child 0", "a fork after detach")
    target.end()
    say(f"{rounds} forked and {rounds} spawned children worked; the parent's profile is exact")


run_test(main, "fork")
