# SPDX-License-Identifier: Apache-2.0
"""A target stopped by SIGSTOP is attached to, dumped and detached, stays stopped through it all, and goes on afterwards."""

import os
import signal

from harness import (Target, Unharmed, attach, check, check_equal, detach, dump, run_test, say, status_fields, temporary_directory,
                     thread_ids, wait_until)


def states(pid):
    return {status_fields(pid, tid, ["State"])["State"][0] for tid in thread_ids(pid)}


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("many_threads", 5)
    check_equal(target.ask("allocate"), "allocated", "answer")
    target.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: states(target.pid) == {"T"}, "every thread is stopped")
    before = Unharmed(target.pid)
    for _ in range(3):
        attach(target.pid)
        wait_until(lambda: states(target.pid) == {"T"}, "still stopped after attach")
        before.check_attached()
        dump(target.pid, path)
        wait_until(lambda: states(target.pid) == {"T"}, "still stopped after dump")
        detach(target.pid)
        wait_until(lambda: states(target.pid) == {"T"}, "still stopped after detach")
        before.check_after()
    attach(target.pid)
    target.process.send_signal(signal.SIGCONT)
    check_equal(target.ask("allocate"), "allocated", "answer after SIGCONT")
    report = dump(target.pid, path)
    check(report["alloc_objects"] >= 1, f"the allocation after SIGCONT was not seen: {report}")
    detach(target.pid)
    before.check_after()
    target.end()
    say("attached three times while stopped; stayed stopped; went on")


run_test(main, "stopped")
