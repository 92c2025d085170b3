# SPDX-License-Identifier: Apache-2.0
"""Every system call of attach, set, dump and detach fails once: the tool ends by itself, with a reason or a success; the target works, nothing in it
is left stopped or traced, and after the next detach it is as it was. Also: from some call on, all of them fail; and: the tool is killed at a call.
With `some`, each call fails at its first, a middle and its last time, and each time; and the tool is killed at a middle one. With `ways`, each
call fails once in each way that it may, and nothing else is tried: some 35,000 runs.
usage: failing_calls.py some|all|ways [PART-OF-A-CALL'S-NAME[,PART...] [COMMAND...]]"""

import errno
import os
import re
import sys

import harness
from harness import (Failure, Target, attach, attach_state, check, check_equal, detach, heapsnap, is_attached, run_test, say,
                     temporary_directory)
from programs import Asked

FAIL_CALL = os.environ.get("HEAPSNAP_FAIL_CALL", "")
# The filter cannot be asked about more at once.
AT_ONCE = 8
POKE = "ptrace/5"  # PTRACE_POKEDATA, by which text is written when a write to the memory file fails

# What a call may well return. One of them is taken, another for the next number. (brk is not among them: it tells failure by the break that it
# returns, not by an errno; memory that is refused is there as mmap.)
ERRORS = {
    "capget": ["EPERM"], "chdir": ["EACCES"], "clock_nanosleep": ["EINTR"], "clone": ["EAGAIN"], "clone3": ["EAGAIN"], "close": ["EIO", "EINTR"],
    "close_range": ["ENOSYS", "ENOMEM"], "dup3": ["EBUSY", "EINTR"], "fallocate": ["ENOSPC"], "fchmod": ["EPERM"], "fcntl": ["EPERM", "EBUSY"],
    "flock": ["ENOLCK", "EINTR", "EWOULDBLOCK"], "fork": ["EAGAIN"], "fstatfs": ["ENOSYS"], "fsync": ["EIO", "ENOSPC"],
    "ftruncate": ["ENOMEM", "EINTR"], "futex": ["EAGAIN", "EINTR", "ENOSYS"], "getdents64": ["EIO", "ENOENT"], "getpriority": ["ESRCH"],
    "getrandom": ["EINTR"], "ioctl": ["ENOTTY"], "kcmp": ["EPERM", "ENOSYS"], "kill": ["ESRCH"], "linkat": ["EEXIST", "ENOENT"], "lseek": ["EINVAL"],
    "membarrier": ["EINVAL"], "memfd_create": ["EMFILE", "ENOMEM"], "mlock": ["ENOMEM", "EPERM"], "mlock2": ["ENOMEM", "ENOSYS"],
    "mlockall": ["ENOMEM", "EPERM"], "mmap": ["ENOMEM"], "mprotect": ["ENOMEM"], "munlock": ["ENOMEM"], "munlockall": ["EPERM"],
    "munmap": ["ENOMEM"], "newfstatat": ["EIO", "ENOENT"], "openat": ["EMFILE", "ENOENT", "EACCES", "EINTR"],
    "pidfd_getfd": ["EPERM", "EMFILE", "ENOSYS"], "pidfd_open": ["EMFILE", "ENOSYS", "EINVAL"], "pidfd_send_signal": ["ESRCH"], "pipe2": ["EMFILE"],
    "poll": ["EINTR", "ENOMEM"], "ppoll": ["EINTR", "ENOMEM"], "prctl": ["EINVAL"], "pread64": ["EIO", "EINTR"], "prlimit64": ["EPERM"],
    "process_vm_readv": ["EPERM", "ESRCH"], "ptrace": ["EIO", "ESRCH", "EPERM"], "pwrite64": ["EIO", "EINTR", "ENOSPC"], "read": ["EIO", "EINTR"],
    "readlink": ["ENOENT"], "readlinkat": ["ENOENT", "EACCES"], "recvmsg": ["EIO"], "rename": ["EACCES", "EROFS"], "renameat": ["EACCES", "EROFS"],
    "renameat2": ["EINVAL"], "rt_sigaction": ["EINVAL"], "rt_sigprocmask": ["EINVAL"], "sched_getscheduler": ["ESRCH"],
    "sched_setscheduler": ["EPERM"], "seccomp": ["EINVAL"], "sendmsg": ["EPIPE"], "setitimer": ["EINVAL"], "setpriority": ["EACCES"],
    "setresgid": ["EPERM"], "setresuid": ["EAGAIN"], "setsid": ["EPERM"], "socketpair": ["EMFILE"], "statfs": ["ENOSYS"], "statx": ["EIO", "ENOSYS"],
    "sysinfo": ["EFAULT"], "unlink": ["EACCES"], "unlinkat": ["EACCES"], "vfork": ["EAGAIN"], "wait4": ["EINTR", "ECHILD"],
    "waitid": ["EINTR", "ECHILD"], "write": ["EIO", "ENOSPC", "EINTR"], "writev": ["EIO"],
}


def detach_said(pid):
    result = heapsnap("detach", pid)
    check_equal(result.status, 0, str(result))
    return result.stderr


def copies_went(line):
    """Whether a difference is that fewer pages of text are copies than before."""
    match = re.search(r"private pages of text .* Anonymous: (\d+) kB -> (\d+) kB$", line)
    return match is not None and int(match[1]) > int(match[2])


class Process:
    """The target, and what a command is told to do with it."""

    def __init__(self):
        self.directory = temporary_directory()
        self.counts = os.path.join(temporary_directory(), "counts")
        self.path = os.path.join(self.directory, "out.pb.gz")
        self.subject = Asked(Target("many_threads", 3), "allocate", "allocated")
        self.pid = self.subject.pid
        self.runs = self.failed = self.killed = 0

    def command(self, command, *failures):
        more = {"dump": ["-o", self.path], "set": ["--sample", "1000"]}
        arguments = [] if command == "--version" else [self.pid] + more.get(command, [])
        return heapsnap(command, *arguments, prefix=(FAIL_CALL, "-c", self.counts, *failures, "--"), again=False)

    def count(self, command, names):
        """How often the command makes each of the calls."""
        result = {}
        for i in range(0, len(names), AT_ONCE):
            some = names[i:i + AT_ONCE]
            run = self.command(command, *[f"{name}:5:0" for name in some])
            check_equal(run.status, 0, str(run))
            with open(self.counts) as file:
                result.update(zip(some, map(int, file.read().split())))
            self.undo(command)
        return result

    def undo(self, command):
        if command == "attach":
            detach(self.pid)
        if command == "detach":
            attach(self.pid)

    def check_free(self):
        for tid in harness.thread_ids(self.pid):
            fields = harness.status_fields(self.pid, tid, ["State", "TracerPid"])
            check(fields["TracerPid"] == "0" and fields["State"][0] not in "tT", f"thread {tid} is left behind: {fields}")

    def fail(self, command, *failures):
        """Runs the command with failures, and brings the target back to where the next one begins."""
        killed = any(":kill:" in failure for failure in failures)
        result = self.command(command, *failures)
        check(result.status in (0, 1) or (killed and result.status == -9), f"it did not end by itself: {result}")
        if result.status == 1 and not any(failure.startswith("write:") for failure in failures):
            check(re.search(r"^(heapsnap|attach would refuse): \S", result.stderr + result.stdout, re.M), f"no reason: {result}")
        check("AddressSanitizer" not in result.stderr, str(result))
        self.runs += 1
        self.failed += result.status == 1
        self.killed += result.status == -9
        self.check_free()
        self.subject.check_works()
        if command in ("set", "dump"):
            check(is_attached(self.pid), "not attached any more")
        if command == "set":
            check_equal(heapsnap("set", self.pid, "--exact").status, 0, "another change")
            return
        if command == "dump":
            left = os.listdir(self.directory)
            # The file has no name until it is renamed: a kill in that one moment leaves it under its own.
            if any(failure.startswith("renameat:kill:") for failure in failures):
                left = [name for name in left if not re.fullmatch(r"\.heapsnap-\w+\.tmp", name)]
            check(left in ([], ["out.pb.gz"]), f"files are left: {left}")
            for name in os.listdir(self.directory):
                os.unlink(os.path.join(self.directory, name))
            return
        said = result.stderr
        if attach_state(self.pid) is not None:
            said += detach_said(self.pid)
        try:
            self.subject.check_unchanged()
        except Failure as failure:
            # The one thing that may stay, if it is told; what has stayed after an earlier run may go.
            lines = [line for line in str(failure).splitlines()[1:] if not copies_went(line)]
            if lines and ("private copies of its pages stay" not in said or not all("private pages of text" in line for line in lines)):
                raise
            self.subject.begin()
        if command == "detach":
            attach(self.pid)


def numbers_between(first, last, few):
    """All, or the first and the last ones and some between."""
    count = last - first + 1
    if not few or count <= few:
        return range(first, last + 1)
    return sorted({first + round(i * (count - 1) / max(few - 1, 1)) for i in range(few)})


def error_number(name, number, for_ever=False):
    """No call is interrupted for ever."""
    names = [text for text in ERRORS[name] if not (for_ever and text == "EINTR")] or ["EIO"]
    return getattr(errno, names[number % len(names)])


def main():
    some, ways = sys.argv[1] == "some", sys.argv[1] == "ways"
    names = [name for name in ERRORS if len(sys.argv) < 3 or any(part in name for part in sys.argv[2].split(","))]
    process = Process()
    loader = process.count("--version", names)  # the dynamic loader's own calls, which end before main begins
    bad = []

    def attempt(command, *failures):
        """A fault is kept for the end, and a fresh target takes over: all of them are worth seeing."""
        nonlocal process
        try:
            process.fail(command, *failures)
        except Failure as failure:
            bad.append(f"{command} with {failures}: {failure}")
            say(f"  FAULT: {bad[-1]}")
            numbers = process.runs, process.failed, process.killed
            process = Process()
            process.runs, process.failed, process.killed = numbers
            if command not in ("check", "attach"):
                attach(process.pid)

    commands = sys.argv[3:] or ["check", "attach", "set", "dump", "detach"]
    for command in commands:
        if command in ("set", "dump", "detach") and not is_attached(process.pid):
            attach(process.pid)
        counts = process.count(command, names)
        before = process.runs, process.failed, process.killed
        made = {name: count for name, count in counts.items() if count > loader[name]}
        for name in made:
            # Counts differ a little from run to run (waits): those behind the last one have no effect.
            for number in numbers_between(loader[name] + 1, counts[name], 3 if some else 0):
                for way in range(len(ERRORS[name]) if ways else 1):
                    attempt(command, f"{name}:{error_number(name, number + way)}:{number}")
        for name in made if not ways else ():
            for number in numbers_between(loader[name] + 1, counts[name], 1 if some else 20):
                attempt(command, f"{name}:{error_number(name, number, True)}:{number}-")
        for name in made if not ways else ():
            for number in [(loader[name] + 1 + counts[name]) // 2] if some else range(loader[name] + 1, counts[name] + 1):
                attempt(command, f"{name}:kill:{number}")
        # Text that can be written no more from some moment on: what is hooked stays so, but inactive, until the next detach.
        if "pwrite64" in made and command not in ("set", "dump") and not ways:
            for number in range(1, counts["pwrite64"] + 1):
                attempt(command, f"pwrite64:{errno.EIO}:{number}-", f"{POKE}:{errno.EIO}:1-")
        say(f"  {command}: {process.runs - before[0]} runs, {process.failed - before[1]} ended with status 1, {process.killed - before[2]} were killed; "
            "calls: "
            + ", ".join(f"{name} {counts[name] - loader[name]}" for name in made))
    if is_attached(process.pid):
        detach(process.pid)
    process.subject.check_unchanged()
    process.subject.end()
    check(not bad, f"{len(bad)} faults:\n" + "\n".join(bad))


if not FAIL_CALL:
    sys.exit("HEAPSNAP_FAIL_CALL (the program that makes calls fail) must be set in the environment")
run_test(main, f"failing calls: {sys.argv[1:]}")
