# SPDX-License-Identifier: Apache-2.0
"""Processes in every state: stopped by Ctrl-Z in a terminal, stopped and continued while heapsnap is at work, ending or becoming another
program meanwhile, traced by another.
usage: states.py [CASE...]"""

import ctypes
import os
import pty
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

from harness import (HEAPSNAP, NO_PROCESSOR, Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, has_program, heapsnap, leave_out,
                     run_cases, say, says_no_processor, start, status_fields, stop, target_path, temporary_directory, thread_ids, tracer, wait_until)

# What a command may say of a target that has ended, or become another program, under its hands; or got no processor.
ENDED = re.compile("|".join(["is gone|ended|no process|not attached|executed another program|a zombie|cannot open|died", *NO_PROCESSOR]), re.I)


def states(pid):
    return {status_fields(pid, tid, ["State"])["State"][0] for tid in thread_ids(pid)}


def in_terminal(program, ready):
    """A child that is the shell of a terminal of its own: runs the program in the foreground, and brings it back when told to."""
    target = os.fork()
    if target == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(program, [program, "4"])
    os.write(ready, f"{target}\n".encode())
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    while True:
        _, status = os.waitpid(target, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status) & 255)
        os.write(ready, b"stopped\n")
        # As a shell does: the terminal is its own while the job is stopped; a line of input is its "fg".
        os.tcsetpgrp(0, os.getpgrp())
        os.read(0, 100)
        os.tcsetpgrp(0, os.getpgid(target))
        os.kill(target, signal.SIGCONT)


def terminal():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    said, ready = os.pipe()
    shell, terminal_fd = pty.fork()
    if shell == 0:
        os.close(said)
        in_terminal(target_path("many_threads"), ready)
    os.close(ready)
    lines = os.fdopen(said)
    pid = int(lines.readline())
    wait_until(lambda: len(thread_ids(pid)) == 5, "the program's threads run")
    Unharmed(pid)  # and none is being made any more, which a stop would make last
    for _ in range(3):
        os.write(terminal_fd, b"\x1a")  # Ctrl-Z
        check_equal(lines.readline(), "stopped\n", "what the shell sees")
        wait_until(lambda: states(pid) == {"T"}, "every thread is stopped")
        before = Unharmed(pid)
        attach(pid)
        dump(pid, path)
        wait_until(lambda: states(pid) == {"T"}, "still stopped after attach and dump")
        detach(pid)
        wait_until(lambda: states(pid) == {"T"}, "still stopped after detach")
        before.check_after()
        os.write(terminal_fd, b"fg\n")
        wait_until(lambda: "T" not in states(pid), "goes on after fg")
    os.write(terminal_fd, b"\x04")  # end of input
    check_equal(os.waitpid(shell, 0)[1], 0, "status of shell and program")
    os.close(terminal_fd)
    say("  stopped by Ctrl-Z three times, attached, dumped, detached, stayed stopped, went on in the foreground")


def stops_and_goes():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("cycles", 4)
    done = threading.Event()

    def torment():
        while not done.is_set():
            os.kill(target.pid, signal.SIGSTOP)
            time.sleep(random.random() / 200)
            os.kill(target.pid, signal.SIGCONT)
            time.sleep(random.random() / 200)

    tormentor = threading.Thread(target=torment)
    tormentor.start()
    try:
        for _ in range(10):
            attach(target.pid)
            dump(target.pid, path)
            # A thread that is stopped inside takes its time to leave.
            wait_until(lambda: heapsnap("detach", target.pid, "--json").status == 0, "detached in the end", seconds=60)
    finally:
        done.set()
        tormentor.join()
    wait_until(lambda: "T" not in states(target.pid), "goes on")
    check(target.end().startswith("ok "), "the program is not content")
    say("  ten cycles while it was stopped and continued all the time")


def commands_until_the_end(process, pid, path, reasons):
    """Attach, dump and detach until the process has ended; each does its work or says why not."""
    count = 0
    while process.poll() is None:
        for arguments in (["attach", pid], ["dump", pid, "-o", path], ["detach", pid]):
            result = heapsnap(*arguments)
            check(result.status == 0 or (result.status == 1 and reasons.search(result.stderr)), str(result))
            if re.match(r"heapsnap: process \d+ is gone", result.stderr):
                wait_until(lambda: status_fields(pid, pid, ["State"])["State"][0] in "ZX", f"what is said to be gone ends: {result}")
            count += 1
    return count


def ends():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    rounds, commands = 15, 0
    for number in range(rounds):
        target = Target("cycles", 4)
        timer = threading.Timer(number / rounds * 0.3, target.process.stdin.close)
        timer.start()
        commands += commands_until_the_end(target.process, target.pid, path, ENDED)
        timer.join()
        check_equal(target.process.wait(), 0, "exit status of the program")
        check(b"ok " in target._buffer + target.process.stdout.read(), "the program is not content")
    say(f"  {rounds} programs ended in the middle of one of {commands} commands")


def execs():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    process = start([target_path("ptrace_exec"), "60", "ready"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check_equal(process.stdout.readline(), b"ready\n", "first line")
    process.stdin.close()
    # Any of its mappings may be missing at the moment when it is looked at.
    commands = commands_until_the_end(process, process.pid, path, re.compile("^heapsnap: "))
    process.stdout.close()
    check_equal(process.wait(), 0, "exit status of the program")
    say(f"  a program became another all the time under {commands} commands")


class SlowExec:
    """A script that can be executed, but whose interpreter is opened only when `allow` is called: until then the thread that executes it keeps every thread of its
    process from being traced (cred_guard_mutex in fs/exec.c)."""
    CLASS_CONTENT, CLOEXEC, MARK_ADD, OPEN_EXEC_PERM, ALLOW = 4, 1, 1, 0x40000, 1
    EVENT = struct.Struct("=IBBHQii")  # struct fanotify_event_metadata

    def __init__(self):
        directory = temporary_directory()
        self.path, interpreter = os.path.join(directory, "script"), os.path.join(directory, "interpreter")
        shutil.copy(target_path("late_exec"), interpreter)
        with open(self.path, "w", encoding="ascii") as file:
            file.write(f"#!{interpreter}\n")
        os.chmod(self.path, 0o755)
        libc = ctypes.CDLL(None, use_errno=True)
        self.listener = libc.fanotify_init(self.CLASS_CONTENT | self.CLOEXEC, os.O_RDONLY | os.O_CLOEXEC)
        if self.listener < 0:
            raise OSError(f"there is no fanotify here: {os.strerror(ctypes.get_errno())}")
        mark = libc.fanotify_mark(self.listener, self.MARK_ADD, ctypes.c_uint64(self.OPEN_EXEC_PERM), -100, interpreter.encode())
        check_equal(mark, 0, "fanotify_mark")

    def wait_until_asked(self):
        self.asked = self.EVENT.unpack(os.read(self.listener, self.EVENT.size))[5]

    def allow(self):
        os.write(self.listener, struct.pack("=iI", self.asked, self.ALLOW))
        os.close(self.asked)
        os.close(self.listener)


# Seconds: of the two that the tool waits, so many are left to it when the exec may go on.
LEAST_LEFT = 0.5


def exec_in_time(execution):
    """False: this test, the tool or the target got no processor in time."""
    target = Target("late_exec", "wait", execution.path)
    # Two requests for each thread; before the fifth all but one are stopped.
    tool = start([HEAPSNAP, "attach", str(target.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                 env={**os.environ, "HEAPSNAP_STOP_AT_REQUEST": "5"})
    began, stopped = time.monotonic(), None
    while not stopped:
        now = time.monotonic()
        if set(tracer(target.pid).values()) == {"0"}:
            began = now  # the freeze, or later
        time.sleep(0.01)
        stopped = os.waitid(os.P_PID, tool.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if stopped.si_code != os.CLD_STOPPED and too_late(target, tool, tool.communicate(timeout=60)[1].decode()):
        return False
    check_equal(stopped.si_code, os.CLD_STOPPED, "the tool")
    traced_now = tracer(target.pid)
    # In the order in which they were made, which is not that of their ids where these began again.
    check_equal([traced_now[number] != "0" for number in map(int, os.listdir(f"/proc/{target.pid}/task"))], [True, True, False], "traced")
    target.send("now")
    execution.wait_until_asked()
    tool.send_signal(signal.SIGCONT)
    time.sleep(0.5)  # a tool that takes longer to see it cannot be traced passes as well
    execution.allow()
    left = began + 2 - time.monotonic()
    said = tool.communicate(timeout=60)[1].decode()
    if left < LEAST_LEFT and too_late(target, tool, said):
        return False
    # Which of its reasons it gives depends on whether it met the new program's only thread already; if so, it may have made another plan, and be attached to that.
    check_equal((tool.returncode in (0, 1), "takes long" in said), (True, False), f"attach: {said}")
    if tool.returncode == 0:
        detach(target.pid)
    check_equal(target.line(), "after", "the new program")
    target.end()
    say(f"  {said.strip()}")
    return True


def too_late(target, tool, said):
    """Whether the tool had no time left. Then the target is ended."""
    if tool.returncode != -9 and not ("takes long" in said or says_no_processor(said)):
        return False
    say(f"  again: {tool.returncode}, {said.strip()}")
    stop(target.process, signal.SIGKILL)
    return True


def exec_within_freeze():
    """A thread executes a program when the others are stopped: it keeps itself from being traced until they are dead, and that they are only once the tool
    has reaped them."""
    for _ in range(5):
        try:
            execution = SlowExec()
        except OSError as error:
            leave_out(str(error))
            return
        if exec_in_time(execution):
            return
    check(False, "the tool never had time left")


def traced():
    if not has_program("strace"):
        return
    target = Target("many_threads", 2)
    before = Unharmed(target.pid)
    tracer = start(["strace", "-f", "-o", "/dev/null", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
    wait_until(lambda: status_fields(target.pid, target.pid, ["TracerPid"])["TracerPid"] != "0", "strace is at work")
    check_refused(heapsnap("attach", target.pid), "traced", "strace")
    check_equal(stop(tracer) != 0, True, "strace was ended")
    wait_until(lambda: status_fields(target.pid, target.pid, ["TracerPid"])["TracerPid"] == "0", "strace is gone")
    attach(target.pid)
    tracer = start(["strace", "-f", "-o", "/dev/null", "-p", str(target.pid)], stderr=subprocess.DEVNULL)
    wait_until(lambda: status_fields(target.pid, target.pid, ["TracerPid"])["TracerPid"] != "0", "strace is at work")
    check_refused(heapsnap("detach", target.pid), "traced", "strace")
    check_equal(target.ask("allocate"), "allocated", "answer")
    stop(tracer)
    wait_until(lambda: status_fields(target.pid, target.pid, ["TracerPid"])["TracerPid"] == "0", "strace is gone")
    detach(target.pid)
    before.check_after(memory_may_change=True, settle=20)
    target.end()


run_cases([terminal, stops_and_goes, ends, execs, exec_within_freeze, traced], "states")
