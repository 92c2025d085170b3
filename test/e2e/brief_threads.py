# SPDX-License-Identifier: Apache-2.0
"""A process whose main thread has ended, and whose other threads live for 2 ms each: it can be seen, attached to, dumped and left as any other."""

import os

from harness import Target, attach, check, check_equal, detach, heapsnap, run_test, say, temporary_directory, wait_until

ROUNDS = 20


def main():
    target = Target("brief_threads")
    wait_until(lambda: os.listdir(f"/proc/{target.pid}/task") != [str(target.pid)], "a thread beside the main one")
    folder = temporary_directory()
    for _ in range(ROUNDS):
        attach(target.pid)
        for command in (["status", target.pid], ["dump", target.pid, "-o", os.path.join(folder, "out.pb.gz")]):
            result = heapsnap(*command)
            check_equal(result.status, 0, str(result))
        detach(target.pid)
        check(target.alive(), "the process goes on")
    target.end()
    say(f"{ROUNDS} times attached, shown, dumped and detached")


run_test(main, "brief threads")
