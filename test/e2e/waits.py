# SPDX-License-Identifier: Apache-2.0
"""Threads in every kind of waiting call go on waiting through attach, dump and detach, as if nothing had been: none returns early, not even
those that the kernel ends with EINTR when a thread is merely stopped; and each then returns what it should. Every one of some kinds waits in
the main thread once, which makes it the thread that is sent through the remote calls.
usage: waits.py [FIRST_CALL...]"""

import os
import sys

from harness import (Target, Unharmed, attach, check_equal, detach, dump, read_text, run_test, say, temporary_directory, thread_ids, wait_until)

FIRST_CALLS = ["epoll_wait", "futex", "sigwaitinfo", "io_uring"]


def all_asleep(pid):
    """But for the one that reads the commands, which then sleeps as well."""
    return all(read_text(f"/proc/{pid}/task/{tid}/stat").rsplit(")", 1)[1].split()[0] == "S" for tid in thread_ids(pid))


def waiting(target):
    names = target.ask("list").split()
    if "io_uring:-2:Success" in names:
        say("  io_uring is forbidden on this system: its call is left out")
        names.remove("io_uring:-2:Success")
    return names


def go_through(first, path):
    target = Target("waits", first, temporary_directory())
    wait_until(lambda: all_asleep(target.pid), "every thread waits")
    names = waiting(target)
    before = Unharmed(target.pid)
    for _ in range(3):
        attach(target.pid)
        check_equal(waiting(target), names, "calls that wait after attach")
        dump(target.pid, path)
        check_equal(waiting(target), names, "calls that wait after dump")
        detach(target.pid)
        check_equal(waiting(target), names, "calls that wait after detach")
        # A call with a signal mask of its own is made again with more of them blocked: until it is under way.
        before.check_after(memory_may_change=True, settle=20)
    attach(target.pid)
    # On a busy machine a thread may not be back in its call yet: a futex then says EAGAIN, and a signal comes before the call.
    wait_until(lambda: all_asleep(target.pid), "every thread waits again")
    check_equal(target.ask("release"), "released", "what the calls returned")
    detach(target.pid)
    target.end()
    return len(names)


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    for first in sys.argv[1:] or FIRST_CALLS:
        count = go_through(first, path)
        say(f"{first} in the main thread, {count} waiting calls in all: none noticed anything")


run_test(main, "waits")
