# SPDX-License-Identifier: Apache-2.0
"""Processes that share the target's memory without being its threads cannot be stopped with it: nothing is changed while there is one. And a
thread that waits for its vfork child cannot be stopped: attach and detach refuse before they stop anything, others after a bounded wait that says so.
Short-lived children are waited for, and it is no reason to refuse that others come after them.
And a process that executes another program after it was looked at is looked at anew: what it shared until then is only the other process's."""

import os
import signal
import subprocess

from harness import (HEAPSNAP, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap,
                     heapsnap_ok, is_attached, ran_out_of_time, read_text, run_stopping, run_test, say, start, temporary_directory, thread_ids, wait_until)


def counts_on(target):
    before = int(target.ask("count"))
    wait_until(lambda: int(target.ask("count")) > before, "the sharing process runs")


def wait_for_vfork(target):
    wait_until(lambda: any(read_text(f"/proc/{target.pid}/task/{tid}/stat").rsplit(")", 1)[1].split()[0] == "D" for tid in thread_ids(target.pid)),
               "a thread waits for its vfork child")


def relay():
    target = Target("shared_memory")
    check_equal((target.ask("relay"), target.ask("end relay")), ("runs", "ended"), "relay")
    before = Unharmed(target.pid)
    check_equal(target.ask("relay"), "runs", "relay")
    for _ in range(3):
        attach(target.pid)
        check_equal(target.ask("work"), "worked", "work while attached, beside vfork children")
        detach(target.pid)
    check_equal(target.ask("end relay"), "ended", "end relay")
    before.check_after(memory_may_change=True, settle=20)
    target.end()
    say("a vfork child was always there, each for a short time: attached and detached")


def comes_late(target, command):
    """One begins to share the memory after it was looked for, before the first thread is stopped: nothing is changed beside it, and when it has ended
    the command succeeds. False: it was refused because this test was too slow to end it, or the tool got no processor in time."""
    tool = start([HEAPSNAP, command, str(target.pid), "--verbose"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                 text=True, env={**os.environ, "HEAPSNAP_STOP_AT_REQUEST": "1"})
    os.waitid(os.P_PID, tool.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    other = target.ask("share")
    tool.send_signal(signal.SIGCONT)
    lines, is_there = [], True
    for line in tool.stderr:
        lines.append(line)
        if is_there and f"process {other} shares the memory" in line and "trying again" in line:
            check_equal(target.ask("end"), "ended", "end")
            is_there = False
    status, said = tool.wait(), "".join(lines)
    too_slow = status != 0 and ran_out_of_time(said)
    check(not is_there or too_slow, f"{command} was not tried again: {said}")
    check(status == 0 or too_slow or f"process {other} shares the memory" in lines[-1], f"{command}: status {status}: {said}")
    if is_there:
        check_equal(target.ask("end"), "ended", "end")
    if status != 0:
        say(f"  again: {lines[-1].strip()}")
    return status == 0


def late_sharers():
    target = Target("shared_memory")
    check_equal(target.ask("work"), "worked", "work")
    before = Unharmed(target.pid)
    for command in ("attach", "detach"):
        check(any(comes_late(target, command) for _ in range(5)), f"{command} was always refused")
        check_equal(target.ask("work"), "worked", f"work after {command}")
    before.check_after(memory_may_change=True)
    target.end()
    say("a process that shares the memory came between the wait and the freeze: attach and detach waited for it, too")


def works_alone(pid):
    return b"works" in read_text(f"/proc/{pid}/cmdline").encode()


def run_with_exec(target, other, step, *arguments):
    """heapsnap's work on `other`, which executes its program anew once the command has come to that step."""
    def execute():
        if not works_alone(other):
            check_equal(target.ask("exec"), "told", "exec")
            wait_until(lambda: works_alone(other), "the sharing process has executed its program")
    return run_stopping(step, execute, *arguments)


def attach_beside_exec():
    """Planned on memory that is only the parent's when the process is stopped. All is mapped alike in both."""
    target = Target("shared_memory")
    check_equal(target.ask("work"), "worked", "work")
    other = int(target.ask("share until exec"))
    before = Unharmed(target.pid)
    result = run_with_exec(target, other, "freeze for the attach", "attach", other)
    check_equal(result.status, 0, str(result))
    check_equal((attach_state(other), attach_state(target.pid)), ("attached", None), "the one that was named, and its parent")
    before.check_after(memory_may_change=True)
    check_equal(target.ask("work"), "worked", "work of the parent")
    detach(other)
    check(works_alone(other) and read_text(f"/proc/{other}/stat").rsplit(")", 1)[1].split()[0] in "RSD", "the process does not work any more")
    check_equal(target.ask("end"), "ended", "end")
    before.check_after(memory_may_change=True)
    target.end()
    say("a process left the shared memory by an exec between plan and freeze: nothing was written there, and it was attached")


def begin_anew_once(target):
    calls = []

    def begin_anew():
        if not calls:
            check_equal(target.ask("begin anew"), "ready", "first line of the next program")
        calls.append(True)
    return begin_anew


def commands_beside_exec(path):
    """The region is no more there when the process is stopped, or copied."""
    said = {"set": "has been detached, or has executed another program", "dump": "has executed another program"}
    for step, command in (("freeze for the copy", ["dump", "--stop", "-o", path]), ("copy the running table", ["dump", "-o", path]),
                          ("freeze for the change", ["set", "--sample", "4K"]), ("freeze for the change", ["set", "--exact"])):
        target = Target("shared_memory")
        attach(target.pid)
        before = Unharmed(target.pid)
        other = int(target.ask("share until exec"))
        check(is_attached(other), "the sharing process is not attached")
        check_refused(run_with_exec(target, other, step, command[0], other, *command[1:]), said[command[0]])
        check(not os.path.exists(path), "a profile of a program that is not executed any more")
        check_equal((attach_state(other), target.ask("work"), target.ask("end")), (None, "worked", "ended"), f"after {command[0]}")
        before.check_attached()
        # and where nobody else has the old memory
        check_refused(run_stopping(step, begin_anew_once(target), command[0], target.pid, *command[1:]), f"{said[command[0]]}|executed another program")
        check(not os.path.exists(path), "a profile of a program that is not executed any more")
        result = run_stopping("freeze for the attach", begin_anew_once(target), "attach", target.pid)
        check_equal(result.status, 0, str(result))
        check_equal(target.ask("work"), "worked", "work")
        detach(target.pid)
        target.end()
    say("set and dump refused a process that had executed its program anew before it was stopped or copied")


def runs_on(pid):
    def ticks():
        return int(read_text(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[11])
    before = ticks()
    wait_until(lambda: ticks() > before, f"process {pid} works")


def detach_beside_exec():
    """Between two freezes of one detach, which waits for a thread inside. All is mapped alike in the new program, and what was attached is still there in the old
    one's memory, if another process has it."""
    for shares in (False, True):
        target = Target("shared_memory")
        attach(target.pid, "--allocator", "take_block=alloc(size) nothrow", "--allocator", "give_block=free")
        check_equal(target.ask("block"), "blocks", "block")
        freezes, new, others = [], [], []

        def execute():
            freezes.append(True)
            if len(freezes) == 2:
                others.extend([int(target.ask("share"))] if shares else [])
                check_equal(target.ask("begin anew"), "ready", "first line of the next program")
                new.append(Unharmed(target.pid))
        check_refused(run_stopping("freeze for the detach", execute, "detach", target.pid), f"heapsnap is no longer in process {target.pid}")
        check_equal((len(freezes), attach_state(target.pid), target.ask("work")), (2, None, "worked"), "after detach")
        new[0].check_after(memory_may_change=True)
        for other in others:
            runs_on(other)
            detach(other)
            runs_on(other)
            os.kill(other, signal.SIGKILL)
        target.end()
    say("a process executed its program anew while a detach waited for a thread inside: nothing was done to it, nor to one that had its old memory")


def set_beside_one_exec():
    """False: it gave up before the thread that it lets run on was back."""
    target = Target("stepped_call", "main")
    attach(target.pid)
    check_equal(target.ask("work"), "freed", "work")
    new = []

    def execute():
        if not new:
            check_equal(target.ask("begin anew"), "ready", "first line of the next program")
            new.append(Unharmed(target.pid))
    # The recorder is at work from an instruction on of which nobody knows the number.
    for number in range(40, 400, 20):
        if target.ask(f"interrupt {number}") == "never there":
            continue
        result = run_stopping("let threads run on", execute, "set", target.pid, "--sample", "4K", again=False)
        if new:
            break
        check_equal(target.ask("go on"), "returned", "answer")
        heapsnap_ok("set", target.pid, "--exact")
    if new and ran_out_of_time(result.stderr):
        say(f"  again: {result.stderr.strip()}")
        target.end()
        return False
    check_refused(result, "has been detached|executed another program")
    check_equal((len(new), attach_state(target.pid), target.ask("work")), (1, None, "freed"), "after set")
    new[0].check_after(memory_may_change=True)
    target.end()
    return True


def set_beside_exec():
    """While set lets a thread run on that is inside; the only one, for an exec waits for the tracer of others."""
    check(any(set_beside_one_exec() for _ in range(5)), "set always gave up")
    say("a process executed its program anew while set let its thread run on: it was refused")


def main():
    late_sharers()
    attach_beside_exec()
    detach_beside_exec()
    set_beside_exec()
    commands_beside_exec(os.path.join(temporary_directory(), "exec.pb.gz"))
    relay()
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("shared_memory")
    check_equal(target.ask("work"), "worked", "work")
    check_equal((target.ask("vfork"), target.ask("go on")), ("waits", "went on"), "vfork")
    before = Unharmed(target.pid)

    other = target.ask("share")
    check_refused(heapsnap("attach", target.pid), f"process {other} shares the memory")
    counts_on(target)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("end"), "ended", "end")
    attach(target.pid)
    check_equal(target.ask("work"), "worked", "work while attached")
    other = target.ask("share")
    dump(target.pid, path)
    # Settings can be changed all the same, but the Bloom filter cannot be counted while another process runs.
    check_equal(heapsnap_ok("set", target.pid, "--sample", "4K")["bloom_in_use"], False, "the filter, beside the other process")
    check_equal(heapsnap_ok("set", target.pid, "--exact")["after"]["mode"], "exact", "settings")
    check_refused(heapsnap("detach", target.pid), f"process {other} shares the memory")
    check(is_attached(target.pid), "the refused detach has changed something")
    counts_on(target)
    check_equal(target.ask("work"), "worked", "work beside the other process")
    check_refused(heapsnap("attach", other), f"process {target.pid}|already attached")
    check_equal(target.ask("end"), "ended", "end")
    check_equal(heapsnap_ok("set", target.pid, "--sample", "4K")["bloom_in_use"], True, "the filter, alone again")
    check_equal(target.ask("work"), "worked", "work while sampled")
    detach(target.pid)
    before.check_after(memory_may_change=True)

    # vfork: before, and while attached.
    check_equal(target.ask("vfork"), "waits", "vfork")
    wait_for_vfork(target)
    # Nothing is stopped: that thread could not be, and all others would stand still as long as it was tried.
    check_refused(heapsnap("attach", target.pid, environment={"HEAPSNAP_KILL_AT_REQUEST": "1"}), "shares the memory", status=1)
    check_equal(target.ask("work"), "worked", "work while a thread waits for its vfork child")
    check_equal(target.ask("go on"), "went on", "go on")
    before.check_after(memory_may_change=True, settle=20)
    attach(target.pid)
    check_equal(target.ask("vfork"), "waits", "vfork")
    wait_for_vfork(target)
    dump(target.pid, path)  # stops no thread
    check_refused(heapsnap("detach", target.pid, environment={"HEAPSNAP_KILL_AT_REQUEST": "1"}), "shares the memory", status=1)
    for command in (["dump", "--stop", target.pid, "-o", path], ["set", target.pid, "--exact"]):
        check_refused(heapsnap(*command, again=False), "did not stop in time", "state D")
        check_equal(target.ask("work"), "worked", f"work after a refused {command[0]}")
    check(is_attached(target.pid), "the refused detach has changed something")
    check_equal(target.ask("go on"), "went on", "go on")
    dump(target.pid, path)
    detach(target.pid)
    before.check_after(memory_may_change=True, settle=20)
    check_equal(target.ask("work"), "worked", "work after detach")
    target.end()
    say("two processes with one memory, and a vfork child: nothing was changed while they were there")


run_test(main, "shared_memory")
