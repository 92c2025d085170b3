# SPDX-License-Identifier: Apache-2.0
"""What a process may be shut into: seccomp, namespaces, other roots, other users, limits, denied protections. Each case attaches, checks
what the dump says of known allocations, detaches, and sees the process as it was and at work; or is refused, untouched.
usage: surroundings.py CASE|all..."""

import os
import sys

import harness
import profiles
from harness import (Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, run_test, say,
                     temporary_directory)

PROGRAM = "surroundings"
KEPT = (100, 100000)  # blocks and bytes that "keep" leaves, in the program and in its library
SITES = {"surroundings_keep": "surroundings.c", "surroundings_library_allocate": "plugin.c"}
THREADS = "threads=2"
NEEDED = "read,write,exit_group,futex,clock_nanosleep,rt_sigreturn"


class Inside:
    """A process that answers through `target`, and the tool's way to it. `pid`: as the tool knows it; `outside`: as this test does."""

    def __init__(self, target, pid=None, outside=None, prefix=()):
        self.target, self.prefix = target, list(prefix)
        self.outside = outside or target.pid
        self.pid = pid or self.outside
        self.how = {"prefix": self.prefix}


def shut_in(*options, **how):
    return Inside(Target(PROGRAM, *options, **how))


def check_kept(path, lines=True):
    sites = profiles.by_innermost(path)
    for name in SITES:
        values = sites.get(name)
        check(values, f"nothing is named {name}: {sorted(sites)}")
        check_equal((values.live_objects, values.live_bytes), KEPT, f"what {name} has kept")
    if lines:
        files = profiles.source_files(path)
        for site in SITES.items():
            check(site in files, f"{site} is not among the lines: {sorted(files)}")


def go_through(inside, directory=None, lines=True):
    target, path = inside.target, os.path.join(directory or temporary_directory(), "out.pb.gz")
    check_equal(target.ask("work"), "right", "work before attach")
    before = Unharmed(inside.outside)
    attach(inside.pid, **inside.how)
    check_equal(target.ask("keep"), "kept", "blocks to be kept")
    check_equal(target.ask("work"), "right", "work while attached")
    before.check_attached()
    dump(inside.pid, path, **inside.how)
    check_kept(path, lines)
    check_equal(target.ask("work"), "right", "work after the dump")
    detach(inside.pid, **inside.how)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("work"), "right", "work after detach")
    check(target.ask("count") != "wrong", "a thread found its memory changed or its sleep cut short")
    target.end()


def refused(inside, *words, **how):
    check_equal(inside.target.ask("work"), "right", "work")
    before = Unharmed(inside.outside)
    check_refused(heapsnap("attach", inside.pid, **{**inside.how, **how}), *words)
    before.check_after(memory_may_change=True)
    check_equal(inside.target.ask("work"), "right", "work after the refusal")
    inside.target.end()


def root():
    if os.geteuid() == 0:
        return True
    say("  not root: not tried")
    return False


# seccomp


def seccomp_strict():
    target = Target(PROGRAM, "strict")
    check_equal(target.ask("work"), "right", "work")
    before = Unharmed(target.pid)
    check_refused(heapsnap("attach", target.pid), "strict seccomp")
    before.check_after()
    check_equal(target.ask("work"), "right", "work after the refusal")
    target.end()


FORBIDDEN = ["memfd_create", "mmap", "munmap", "madvise", "mprotect", "munlock", "prctl", "ftruncate", "fcntl", "close", "restart_syscall",
             "memfd_create,mmap,munmap,madvise,mprotect,munlock,prctl,close,restart_syscall"]


def seccomp_filters():
    """Filters that kill for each of the calls that heapsnap makes; they rest while it does. One lets nothing through but what the program
    needs itself: were a hook to make any system call, the program would be dead."""
    if not root():
        return
    for names in FORBIDDEN:
        go_through(shut_in(THREADS, f"deny={names}"))
        say(f"  suspended: a filter that kills for {names}")
    go_through(shut_in(THREADS, f"allow={NEEDED}"))
    go_through(shut_in(THREADS, "fail=mmap,memfd_create"))
    say(f"  suspended: a filter that kills for everything but {NEEDED}; one that makes calls fail")
    go_through(shut_in("deny=memfd_create", THREADS, "fail=fcntl", "deny=mmap"))
    say("  suspended: three filters, one behind the other")


def seccomp_not_suspended():
    """Where the filter could not be suspended, nothing is tried."""
    if not root():
        return
    refused(shut_in(THREADS, "allow=read,write,exit_group,futex,clock_nanosleep"), "rt_sigreturn")
    for what, prefix, words in [
            ("without CAP_SYS_ADMIN", ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"], ["CAP_SYS_ADMIN"]),
            ("a tool with a filter of its own", [harness.target_path(PROGRAM), "fail=ftruncate", "run"], ["filtered itself"])]:
        refused(shut_in(THREADS, f"allow={NEEDED}"), *words, prefix=prefix)
        say(f"  refused: {what}")
    program = harness.copy_for_everybody()
    inside = shut_in("user=65534", THREADS, f"allow={NEEDED}")
    refused(inside, "CAP_SYS_ADMIN", program=program, prefix=harness.as_user(65534))
    say("  refused: another user, on a process of its own")


def seccomp_killed():
    """The tool is killed at its steps and requests: the filter is awake again, and must find nothing to kill for."""
    if not root():
        return
    target = Target(PROGRAM, THREADS, "allow=" + NEEDED)
    check_equal(target.ask("work"), "right", "work")
    before = Unharmed(target.pid)
    path = os.path.join(temporary_directory(), "out.pb.gz")
    killed = 0
    for variable, numbers in [("HEAPSNAP_KILL_AT", range(1, 40)), ("HEAPSNAP_KILL_AT_REQUEST", range(1, 400, 5))]:
        ended = set()
        for number in numbers:
            for command in ("attach", "dump", "detach"):
                if command in ended:
                    continue
                if command != "attach" and attach_state(target.pid) != "attached":
                    attach(target.pid)
                if command == "attach" and attach_state(target.pid):
                    detach(target.pid)
                result = heapsnap(command, target.pid, *(["-o", path] if command == "dump" else []), environment={variable: str(number)})
                check(result.status in (0, -9), str(result))
                if result.status == 0:
                    ended.add(command)
                killed += result.status == -9
                check(target.alive(), f"the target died when {command} was killed at {variable}={number}")
                check_equal(set(harness.tracer(target.pid).values()), {"0"}, "tracer")
                check_equal(target.ask("work"), "right", f"work after {command} was killed")
        check_equal(ended, {"attach", "dump", "detach"} if variable == "HEAPSNAP_KILL_AT" else ended, "commands that ended by themselves")
    if attach_state(target.pid):
        detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    say(f"  killed {killed} times")


CASES = {function.__name__: function for function in [seccomp_strict, seccomp_filters, seccomp_not_suspended, seccomp_killed]}


def main():
    for name in sys.argv[1:] if sys.argv[1:] != ["all"] else CASES:
        say(f"{name.replace('_', ' ')}:")
        CASES[name]()


run_test(main, f"surroundings: {' '.join(sys.argv[1:])}")
