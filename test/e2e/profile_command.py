# SPDX-License-Identifier: Apache-2.0
"""`heapsnap profile`: attach, wait, dump and detach in one. However it ends, the process is left and unharmed: after the time, by a signal, by two, by the
target's end, by an error after the attach; and when the tool is killed, the next command says what is left. usage: profile_command.py [CASE...]"""

import json
import os
import signal
import subprocess

from harness import (HEAPSNAP, Result, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, got_no_processor, heapsnap,
                     heapsnap_ok, run_cases, say, start, stop, temporary_directory, wait_until)
import pprof_reader

LONG = "1h"  # what a signal or an end must cut short


def output():
    return os.path.join(temporary_directory(), "out.pb.gz")


def begin(target, *arguments, environment=None):
    """heapsnap profile in the background, once it waits."""
    while True:
        process = start([HEAPSNAP, "profile", str(target.pid), "--exact", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, env={**os.environ, **(environment or {})})
        wait_until(lambda: process.poll() is not None or attach_state(target.pid) == "attached", "the process is attached")
        if process.poll() is None:
            return process
        result = finish(process, arguments)
        check(got_no_processor(result), str(result))
        say(f"  again: {result.stderr.strip()}")


def finish(process, arguments=()):
    stdout, stderr = process.communicate(timeout=240)
    return Result(["profile", *map(str, arguments)], process.returncode, stdout, stderr.decode("utf-8", "replace"))


def begin_waiting(target, *arguments, **options):
    """So too, and its lock on the process is given back, so that it does wait."""
    process = begin(target, *arguments, **options)
    wait_until(lambda: sleeps_in_ppoll(process.pid), "heapsnap waits")
    return process


def sleeps_in_ppoll(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == "271"


def check_left(target, before):
    """Nothing of heapsnap is in it, and it works."""
    check_equal(attach_state(target.pid), None, "state")
    check_equal(target.ask("pause"), "paused", "answer")
    before.check_after(memory_may_change=True)
    check_equal(target.ask("continue"), "continued", "answer")


def new_target():
    target = Target("cycles", 2)
    check_equal(target.ask("pause"), "paused", "answer")
    before = Unharmed(target.pid)
    check_equal(target.ask("continue"), "continued", "answer")
    return target, before


def whole_time():
    target, before = new_target()
    path = output()
    value = heapsnap_ok("profile", target.pid, "--exact", "--for", "300ms", "-o", path)
    check_equal((value["command"], value["pid"], value["output"], value["interrupted"], value["detach"]["verified"]),
                ("profile", target.pid, path, False, True), "profile")
    check(value["recorded_ms"] >= 300, f"it has waited {value['recorded_ms']} ms")
    check(value["live_objects"] > 0 and value["sites"], f"nothing is live: {value}")
    check_equal(value["bytes"], os.stat(path).st_size, "size of the profile")
    pprof_reader.decode(path)
    check_left(target, before)
    result = heapsnap("profile", target.pid, "--for", ".1")
    check_equal((result.status, result.stderr), (0, ""), str(result))
    for words in ("recorded process", "Process RSS", "detached from"):
        check(words in result.stdout, f"{words!r} is not said: {result}")
    check(target.end().startswith("ok "), "the target's blocks")


def views_and_formats():
    """It shows and writes what a dump does."""
    target, before = new_target()
    path = os.path.join(temporary_directory(), "out.json")
    value = heapsnap_ok("profile", target.pid, "--exact", "--for", "100ms", "--by", "function", "--focus", ".", "-o", path)
    check(value["rows"] and value["shown"]["stacks"] == value["stack_count"], f"rows and shown: {value}")
    check_equal(value["warnings"], [], "warnings")
    with open(path, encoding="utf-8") as file:
        json.load(file)
    result = heapsnap("profile", target.pid, "--exact", "--for", "100ms", "--tree", "-o", "-", "--format", "collapsed")
    check_equal(result.status, 0, str(result))
    check(all(line.rsplit(" ", 1)[1].isdigit() for line in result.stdout.splitlines()), str(result))
    check("detached from" in result.stderr, str(result))
    value = heapsnap_ok("profile", target.pid, "--exact", "--for", "100ms", "--by", "size", "--min-size", "1", "--labels", "thread", "-o", path)
    check(value["selection"] == "of at least 1 bytes" and value["rows"], f"of some blocks: {value}")
    with open(path, encoding="utf-8") as file:
        check(all({"size_class", "thread"} <= set(stack) for stack in json.load(file)["stacks"] if stack["live_objects"]), "labels")
    check_left(target, before)
    target.end()


def signals():
    """Each of the three ends the wait and nothing else."""
    target, before = new_target()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        path = output()
        process = begin_waiting(target, "--for", LONG, "-o", path, "--json")
        process.send_signal(number)
        result = finish(process)
        check_equal(result.status, 0, str(result))
        check_equal((result.json["interrupted"], result.json["detach"]["verified"]), (True, True), str(result))
        pprof_reader.decode(path)
        check_left(target, before)
    check(target.end().startswith("ok "), "the target's blocks")


def second_signal():
    """It ends the dump: no file, and the process is left all the same."""
    target, before = new_target()
    path = output()
    process = begin_waiting(target, "--for", LONG, "-o", path, environment={"HEAPSNAP_STOP_AT": "symbolize", "HEAPSNAP_STOP_SIGNAL": str(int(signal.SIGTERM))})
    process.send_signal(signal.SIGINT)
    result = finish(process)
    check_equal(result.status, 1, str(result))
    check("interrupted by SIGTERM" in result.stderr and "nothing of heapsnap is left" in result.stderr, str(result))
    check(not os.path.exists(path), "a file is there")
    check_left(target, before)
    check(target.end().startswith("ok "), "the target's blocks")


def target_ends():
    target, _ = new_target()
    path = output()
    process = begin_waiting(target, "--for", LONG, "-o", path)
    stop(target.process, signal.SIGKILL)
    result = finish(process)
    check_refused(result, f"process {target.pid} ended .* after the attach, before its heap was written: what was recorded is gone$")
    check(not os.path.exists(path), "a file is there")


def attached_already():
    target, before = new_target()
    attach(target.pid)
    check_refused(heapsnap("profile", target.pid, "--for", "1s"), "already attached", "heapsnap dump")
    check_equal(attach_state(target.pid), "attached", "state")
    detach(target.pid)
    check_left(target, before)
    target.end()


def bad_output():
    """Said before the process is touched, and before anybody waits."""
    target, before = new_target()
    check_refused(heapsnap("profile", target.pid, "--for", LONG, "-o", "/nowhere/out.pb.gz"), "No such file")
    check_left(target, before)
    target.end()


def no_output_later():
    """The file cannot be written once it has recorded: an error, and the process is left."""
    target, before = new_target()
    folder = temporary_directory()
    process = begin_waiting(target, "--for", LONG, "-o", os.path.join(folder, "out.pb.gz"))
    os.rmdir(folder)
    process.send_signal(signal.SIGINT)
    check_refused(finish(process), "No such file")
    check_left(target, before)
    target.end()


def killed():
    target, before = new_target()
    process = begin_waiting(target, "--for", LONG)
    process.kill()
    process.communicate()
    check("attached" in heapsnap("status", target.pid).stdout, "status")
    check_refused(heapsnap("profile", target.pid, "--for", "1s"), "already attached")
    detach(target.pid)
    check_left(target, before)
    check(target.end().startswith("ok "), "the target's blocks")


def wrong_times():
    for text in ("0", "-1", "", "1x", "1e3", "nan", "1 s", "1001h", "0x10", ".", "1.2.3s", "0.1ns"):
        check_equal(heapsnap("profile", os.getpid(), "--for", text).status, 2, f"--for {text!r}")
    check_equal(heapsnap("profile", os.getpid()).status, 2, "without --for")


run_cases([whole_time, views_and_formats, signals, second_signal, target_ends, attached_already, bad_output, no_output_later, killed, wrong_times], "profile command")
