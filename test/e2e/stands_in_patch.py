# SPDX-License-Identifier: Apache-2.0
"""A thread that stands between the first instructions of malloc or free, where attach writes its jump: it goes on as if nothing had been. Brought there by
single steps, and stopped there with the whole process, so that it stands there for certain. An attach that fails leaves it there."""

import ctypes
import os
import re
import signal

from harness import (Target, Unharmed, attach, attach_state, check, check_equal, detach, heapsnap, read_text, root, run_test, say, status_fields, thread_ids,
                     wait_until)

PTRACE_GETREGS, PTRACE_SINGLESTEP, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 12, 9, 17, 0x4206, 0x4207
ALL_CHILDREN = 0x40000000
RIP = 16  # its place in struct user_regs_struct, in words
JUMP = 5  # bytes
LANDING_PAD = b"\xf3\x0f\x1e\xfa"
STEPS_MAX = 100000


def ptrace(request, tid, data=None):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    check(libc.ptrace(request, tid, None, data) == 0, f"ptrace {request} of {tid}: {os.strerror(ctypes.get_errno())}")


def traced_pc(tid):
    registers = (ctypes.c_uint64 * 32)()
    ptrace(PTRACE_GETREGS, tid, ctypes.addressof(registers))
    return registers[RIP]


def stopped_pc(pid, tid):
    """Of a thread that is in no call: its number is -1, then come stack pointer and pc. For a moment after it has stopped the kernel says "running"."""
    def fields():
        words = read_text(f"/proc/{pid}/task/{tid}/syscall").split()
        return words if words[0] != "running" else None
    words = wait_until(fields, f"thread {tid} is off its processor")
    check_equal((words[0], len(words)), ("-1", 3), f"thread {tid} stands in its own code: {words}")
    return int(words[2], 16)


def is_stopped(pid):
    return all(status_fields(pid, tid, ["State"])["State"][0] == "T" for tid in thread_ids(pid))


def stop_between(pid, tid, start, first):
    """Stops the process with that thread behind the instruction at `start`, or, with `first` False, one further. Its pc; None: it is no longer between."""
    ptrace(PTRACE_SEIZE, tid)
    ptrace(PTRACE_INTERRUPT, tid)
    os.waitpid(tid, ALL_CHILDREN)
    behind = -1
    for _ in range(STEPS_MAX):
        ptrace(PTRACE_SINGLESTEP, tid)
        os.waitpid(tid, ALL_CHILDREN)
        pc = traced_pc(tid)
        behind = 0 if pc == start else behind + 1 if behind >= 0 else -1
        if behind == (1 if first else 2):
            break
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: status_fields(pid, pid, ["State"])["State"][0] == "T", "the main thread is stopped")
    ptrace(PTRACE_DETACH, tid)
    wait_until(lambda: is_stopped(pid), "the process is stopped")
    check_equal(stopped_pc(pid, tid), pc, "where the thread stands")
    return pc if start < pc < start + JUMP else None


def goes_on(target):
    os.kill(target.pid, signal.SIGCONT)
    before = int(target.ask("count"))
    wait_until(lambda: int(target.ask("count")) > before + 1000, "the thread works")


def number_of_steps(pid):
    """Of an attach that succeeds at its first try."""
    result = heapsnap("attach", pid, "-v")
    check_equal(result.status, 0, str(result))
    detach(pid)
    steps = [(int(number), step) for number, step in re.findall(r"step (\d+): (.*)$", result.stderr, re.M)]
    plans = [number for number, step in steps if step == "plan"]
    check(plans and any(step == "write a hook" for _, step in steps), f"steps of an attach: {steps}")
    return plans[0] + steps[-1][0] - plans[-1]


def patched_start(pid, function):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return function + (4 if os.pread(memory.fileno(), 4, function) == LANDING_PAD else 0)


def main():
    if not root():
        return
    target = Target("works_on")
    pid = target.pid
    tid, *functions = map(int, target.ask("where").split())
    starts = [patched_start(pid, function) for function in functions]
    steps, tried = number_of_steps(pid), 0
    for start in starts:
        for first in (True, False):
            before = Unharmed(pid)
            pc = stop_between(pid, tid, start, first)
            if pc is None:
                goes_on(target)
                continue
            tried += 1
            # Hooks are written and taken out again: the thread is sent elsewhere, and back.
            result = heapsnap("attach", pid, environment={"HEAPSNAP_FAIL_AT": str(steps)})
            check_equal((result.status, attach_state(pid)), (1, None), str(result))
            check_equal(stopped_pc(pid, tid), pc, "where the thread stands after an attach that failed")
            attach(pid)
            now = stopped_pc(pid, tid)
            check(not start < now < start + JUMP, f"the thread stands in the jump, at {now - start:+}")
            goes_on(target)
            detach(pid)
            goes_on(target)
            before.check_after(memory_may_change=True)
    check(tried >= 2, f"only {tried} places between instructions")
    say(f"{tried} places between instructions that are patched: the thread went on from each")
    target.end()


run_test(main, "stands in patch")
