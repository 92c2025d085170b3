# SPDX-License-Identifier: Apache-2.0
"""A thread that got the control block of one that has ended gives a block back before it does anything else, and a signal handler that allocates comes after
any instruction of that: each block has its own record."""

import os

import profiles
from harness import Target, attach, check, check_equal, detach, dump, run_test, temporary_directory

ROUNDS = 120  # as in the target


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("successor")
    attach(target.pid)
    interrupted = int(target.ask("work"))
    check(interrupted > 40, f"the handler came in {interrupted} rounds only")
    ledger = {line["name"]: line["value"] for line in dump(target.pid, path)["ledger"]}
    sites = profiles.by_innermost(path)
    lost = ledger.get("lost_signal_reentry", 0)
    for name, count, size in (("in_handler", interrupted - lost, 1000), ("after_release", ROUNDS, 3000)):
        check_equal((sites[name].live_objects, sites[name].live_bytes), (count, count * size), f"blocks of {name}")
    check_equal(ledger.get("replaced", 0), 0, "blocks whose release was not seen")
    detach(target.pid)
    target.end()


run_test(main, "successor")
