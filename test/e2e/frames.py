# SPDX-License-Identifier: Apache-2.0
"""Attach, dump and detach on programs whose stacks begin where no mapping does, or whose stack pointers point into data, also with the tool
killed on the way: the program compares what lies around them, byte by byte, when it ends."""

import os
import subprocess

from harness import (COMMAND_TIMEOUT, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, leave_out, run_test, say, start,
                     target_path, temporary_directory)

# The tool is killed at every so many requests, with each kind at others: together they take nearly all. (unharmed.frame_test takes all with each kind.)
STEP = 19
KINDS = ["neighbour", "coroutine", "table", "stack_table", "stack_zeros", "handler", "deep 0", "deep 201", "deep 1500"]


def start_target(program, kind):
    process = start([target_path(program), *kind.split()], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"ready\n", f"{program} {kind}")
    return process


def end_target(process, what):
    process.stdin.close()
    check_equal(process.wait(COMMAND_TIMEOUT), 0, f"exit status of {what}")


def try_kind(program, kind, first):
    path = os.path.join(temporary_directory(), "out.pb.gz")
    process = start_target(program, kind)
    before = Unharmed(process.pid)
    for _ in range(3):
        attach(process.pid)
        dump(process.pid, path)
        detach(process.pid)
    before.check_after(memory_may_change=True)
    killed = 0
    for request in range(first, 400, STEP):
        killed_before = killed
        for command in ("attach", "detach"):
            result = heapsnap(command, process.pid, environment={"HEAPSNAP_KILL_AT_REQUEST": str(request)})
            killed += result.status < 0
        if result.status >= 0:
            heapsnap("detach", process.pid)
        if killed == killed_before:  # neither has so many requests
            break
    attach(process.pid)
    detach(process.pid)
    end_target(process, f"{program} {kind}")
    check(killed > 5, f"only {killed} kills")
    say(f"  {program} {kind}: {killed} kills")


def main():
    first = 1
    for program in ("ptrace_stacks", "ptrace_stacks_musl"):
        if not os.path.exists(target_path(program)):
            leave_out(f"{program} was not built")
            continue
        for kind in KINDS:
            if kind != "coroutine" or program == "ptrace_stacks":
                try_kind(program, kind, first)
                first = 1 + (first + 10) % STEP
        process = start_target(program, "full 100")
        check_refused(heapsnap("attach", process.pid), "no memory is proven free", "main thread's stack")
        end_target(process, f"{program} full")


run_test(main, "frames")
