# SPDX-License-Identifier: Apache-2.0
"""What run does with a command that it cannot hold before it begins, or not stop when it wants to: the command lives on as it would, and what is not
recorded is told.
usage: run_unheld.py [CASE...]"""

import os
import re
import signal
import subprocess
import time

from harness import (HEAPSNAP, as_user, check, check_equal, copy_for_everybody, heapsnap, is_attached, only_child, read_text, run_cases, say, start, status_fields,
                     target_path, temporary_directory, wait_until)

PROGRAM = target_path("run_command")


def blocked_before():
    """A program that blocks the signal by which it would be held, before it begins, and ends at once, is not recorded, which is told; it does
    what it does."""
    program = target_path("blocking_resolver")
    reason = "it had blocked SIGURG before it began, by which it is held there"
    for options, words, said in (([], [program], f"the command is not recorded: {reason}"),
                                 ([], ["sh", "-c", f"exec {program}"], f"has executed another program, which is not recorded: {reason}"),
                                 (["--children"], ["sh", "-c", f"{program}; exit $?"], f"(blocking_resolv) is not recorded: {reason}")):
        for _ in range(10):
            result = heapsnap("run", *options, "--", *words)
            check_equal(result.status, 6, str(result))
            if "had begun before it could be held" not in result.stderr:  # it took a tenth of a second, on a busy machine
                break
        check(said in result.stderr, str(result))
    say("  SIGURG blocked before the beginning: told as not recorded")


WORDS = re.compile(rb"process \d+ (\(blocking_resolv\) )?had begun before it could be held, since the signal for that did not reach it: "
                   rb"it is recorded from now on")


def start_begun(options, command):
    """Returns heapsnap, when it has said that the program had begun, and what it has said."""
    tool = start([HEAPSNAP, "run", *options, "--", *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = b""
    while not WORDS.search(said):
        line = tool.stderr.readline()
        check(line, f"the end, without a word of it: {said}")
        said += line
    return tool, said


def begun_before():
    """One that goes on is recorded as soon as it is seen to have begun. The signal, taken back, does not reach it."""
    program = target_path("blocking_resolver")
    command = [PROGRAM, "return", "5"]
    for options, words, status in (([], [program, "wait"], 6), ([], ["sh", "-c", f"exec {program} wait"], 6), (["--children"], [program, "wait"], 6),
                                   (["--children"], ["sh", "-c", f"{program} wait; exit $?"], 6), ([], [program, "wait", *command], 5),
                                   (["--children"], [program, "wait", *command], 5),
                                   (["--children"], [program, "wait", "sh", "-c", f"{PROGRAM} return 3; exit 5"], 5)):
        tool, said = start_begun(options, words)
        said += tool.communicate(b"x", timeout=60)[1]
        check_equal((tool.returncode, len(WORDS.findall(said))), (status, 1), f"{words}: {said}")
        check(b"not recorded:" not in said and b"Nothing lost" in said, f"{words}: {said}")
        is_late = status == 6 and not (options and words[0] == "sh")  # the one that is told at the end
        check_equal((b"allocated since attach (" in said, b"older than the attach" in said), (is_late, is_late), f"{words}: {said}")
    for options in ([], ["--children"]):  # executes another one, seen or not
        result = heapsnap("run", *options, "--", program, "go", *command)
        check_equal(result.status, 5, str(result))
        check("not recorded:" not in result.stderr and "allocated since its start" in result.stderr, str(result))
    for options in ([], ["--children"]):  # from then on nothing ends it with heapsnap
        for number, status in ((signal.SIGKILL, None), (signal.SIGTERM, -signal.SIGTERM)):
            tool, said = start_begun(options, [program, "wait"])
            pid = only_child(tool.pid)
            wait_until(lambda: is_attached(pid), "it is recorded")
            tool.send_signal(number)
            if status is None:
                tool.wait(60)
                time.sleep(0.3)
                check(status_fields(pid, pid, ["State"])["State"][0] not in "ZX", "it goes on")
                os.kill(pid, signal.SIGKILL)
            else:  # handed on
                check_equal(tool.wait(60), status, "the end")
            tool.stdin.close()
    say("  SIGURG blocked, and the program goes on: recorded from when it is seen")


def left_threads():
    """A thread that does not stop for a profile goes on when it wakes, and so does heapsnap, though neither has the time that a freeze has."""
    prefix, program, directory = [], HEAPSNAP, temporary_directory()
    target = os.path.join(directory, "run_command")
    subprocess.run(["cp", PROGRAM, target], check=True)
    if os.geteuid() == 0:
        os.chmod(directory, 0o777)
        prefix, program = as_user(1234), copy_for_everybody()  # root's commands are not stopped
    tool = start([*prefix, program, "run", "--on", "USR2", "-o", os.path.join(directory, "out.pb.gz"), "--", target, "vforks", "9", "join", "return", "4"],
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def has_vforked():  # and heapsnap waits for signals (rt_sigtimedwait)
        try:
            pid = only_child(tool.pid)
            children = [read_text(f"/proc/{pid}/task/{tid}/children") for tid in os.listdir(f"/proc/{pid}/task")]
            return any(children) and read_text(f"/proc/{tool.pid}/syscall").split()[0] == "128"
        except OSError:
            return False

    wait_until(has_vforked, "a thread waits for its vfork child")
    tool.send_signal(signal.SIGUSR2)
    said = tool.communicate(timeout=60)[1].decode()
    check_equal((tool.returncode, "did not stop in time" in said, "watchdog" in said), (4, True, False), said)
    say("  a thread that does not stop for a profile goes on later")


run_cases([blocked_before, begun_before, left_threads], "run_unheld")
