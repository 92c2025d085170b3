# SPDX-License-Identifier: Apache-2.0
"""A target that patches its own malloc where heapsnap has: its code leads to ours, so detach leaves ours mapped, says why, and finishes when the
patch is gone."""

import os

from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, mappings, run_test,
                     temporary_directory)


def main():
    target = Target("patches_over")
    check_equal(target.ask("work"), "worked", "answer")
    check_equal(target.ask("patch"), "nothing", "malloc of a process that is not attached")
    before = Unharmed(target.pid)
    attach(target.pid)
    check_equal(target.ask("patch"), "patched", "answer")
    check_equal(target.ask("work"), "worked", "answer")
    report = dump(target.pid, os.path.join(temporary_directory(), "out.pb.gz"))
    check(report["alloc_objects"] >= 19999, f"allocations through the second patch are not seen: {report['alloc_objects']}")

    for _ in range(2):
        result = heapsnap("detach", target.pid, "--json")
        check_equal((result.status, result.json["finished"], result.json["foreign_hooks"]), (1, False, 1), str(result))
        check("somebody else's bytes" in result.stderr, str(result))
        check_equal(attach_state(target.pid), "detach unfinished", "status")
        check([mapping for mapping in mappings(target.pid) if "heapsnap-code" in mapping.name], "the code that the patch leads to is gone")
        check_equal(target.ask("work"), "worked", "answer after detach")
    check_refused(heapsnap("attach", target.pid), "somebody else has patched 1 of")
    check_equal(target.ask("work"), "worked", "answer after a refused attach")

    check_equal(target.ask("unpatch"), "unpatched", "answer")
    check_equal(target.ask("work"), "worked", "answer")
    detach(target.pid)
    check_equal(target.ask("work"), "worked", "answer")
    before.check_after(memory_may_change=True)
    target.end()


run_test(main, "patched over")
