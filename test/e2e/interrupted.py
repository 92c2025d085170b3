# SPDX-License-Identifier: Apache-2.0
"""A handler that waits, and will return into the bytes that attach patches: attach refuses and says why; once the handler has returned it works. On the
thread's own stack and on an alternate one."""

import os

from harness import Target, Unharmed, attach, check_equal, check_refused, detach, dump, heapsnap, run_test, temporary_directory


def one(*arguments):
    target = Target("interrupted", *arguments)
    check_equal(target.ask("interrupt"), "waiting", "answer")
    before = Unharmed(target.pid)
    result = heapsnap("attach", str(target.pid), "--exact")
    check_refused(result, "signal handler", "free")
    before.check_after(memory_may_change=True)
    check_equal(target.ask("go on"), "returned", "answer")
    before = Unharmed(target.pid)
    attach(target.pid)
    check_equal(target.ask("work"), "freed", "answer")
    dump(target.pid, os.path.join(temporary_directory(), "out.pb.gz"))
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()


def main():
    one()
    one("alternate")


run_test(main, "interrupted")
