# SPDX-License-Identifier: Apache-2.0
"""The peak of a heap (--at-peak of `heapsnap run` and `heapsnap profile`): of a program that rises and falls as it is told to, and whose peak is known to the
block. usage: peak.py [CASE...]"""

import json
import os
import re
import signal
import subprocess
import threading

from harness import (HEAPSNAP, Target, as_user, attach_state, check, check_equal, check_refused, copy_for_everybody, detach, heapsnap, leave_out, root, run_cases,
                     say, start, target_path, temporary_directory, wait_until)
from profiles import by_innermost

PROGRAM = target_path("peak")
SLACK = 50000  # what the C library holds
HIGH, LOW = (3000, 3000 * 1000), (3000, 3000 * 700)


def paths_in_folder():
    folder = temporary_directory()
    return os.path.join(folder, "peak.pb.gz"), os.path.join(folder, "end.pb.gz")


def live(path):
    """Of the two functions, what is live in the profile."""
    found = {name: (values.live_objects, values.live_bytes) for name, values in by_innermost(path).items() if name in ("high", "low")}
    return {name: values for name, values in found.items() if values != (0, 0)}


class Watched:
    """heapsnap with --at-peak, whose looks are seen as --verbose tells of them."""

    def __init__(self, *arguments, prefix=(), program=HEAPSNAP):
        self.process = start([*prefix, program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said, self.looks = [], []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.said.append(line.decode())
            look = re.search(r"look \d+: (\d+) bytes live", self.said[-1])
            if look:
                self.looks.append(int(look[1]))

    def is_seen(self, live_bytes):
        """What the program holds now, as it did at no time before."""
        wait_until(lambda: self.looks and 0 <= self.looks[-1] - live_bytes < SLACK or self.process.poll() is not None, f"{live_bytes} bytes are seen")
        check(self.process.poll() is None, "".join(self.said))

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=240)
        self.reader.join(timeout=60)
        return self.process.returncode, "".join(line for line in self.said if not line.startswith("heapsnap: "))


class Run(Watched):
    """A command of `heapsnap run`, which is told what to do by its input."""

    def __init__(self, *options):
        self.peak, self.last = paths_in_folder()
        super().__init__("run", "--exact", "--verbose", "--at-peak", self.peak, "--at-exit", self.last, *options, "--", PROGRAM)
        self.hear("ready")

    def hear(self, word):
        check_equal(self.process.stdout.readline().decode().strip(), word, "answer")

    def tell(self, *commands):
        for command in commands:
            self.process.stdin.write(command.encode() + b"\n")
            self.process.stdin.flush()
            if command not in ("kill", "end"):
                self.hear("ready" if command == "again" else command)

    def children(self):
        """The program, and who looks at it."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            found = [int(child) for child in file.read().split()]
        programs = [pid for pid in found if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(PROGRAM)]
        check_equal((len(found), len(programs)), (2, 1), "children, and programs among them")
        return programs[0], next(pid for pid in found if pid != programs[0])

    def rise_and_fall(self):
        self.tell("low")
        self.is_seen(LOW[1])
        self.tell("ebb", "high")
        self.is_seen(HIGH[1])
        self.tell("ebb", "low")


def looks_of(path):
    return heapsnap("report", path, "--json").json.get("peak_of_looks")


def rises_and_falls():
    run = Run()
    run.rise_and_fall()
    run.tell("end")
    status, said = run.end()
    check_equal(status, 3, said)
    check_equal((live(run.peak), live(run.last)), ({"high": HIGH}, {"low": LOW}), "live at the peak, and at the end")
    check(looks_of(run.peak) >= 3 and looks_of(run.last) is None, f"looks: {looks_of(run.peak)}, {looks_of(run.last)}")
    for words in ("At the highest that was seen:\n", r"recorded live    2.9 MiB  in 3,\d+ blocks, the most of \d+ looks, .* after its start\n", "peak.pb.gz: "):
        check(re.search(words, said), f"{words!r} is not said: {said}")
    check_equal(sorted(os.listdir(os.path.dirname(run.peak))), ["end.pb.gz", "peak.pb.gz"], "files")
    text = os.path.join(temporary_directory(), "peak.txt")
    check_equal(heapsnap("report", run.peak, "-o", text).status, 0, "report")
    with open(text, encoding="utf-8") as file:
        check(re.search(r"in 3,\d+ blocks, the most of \d+ looks\n", file.read()), "the text report says what it is of")
    say("  high, then low again: the profile of the peak has the high blocks, to the block, that of the end the low ones")


def ends_high():
    run = Run()
    run.tell("low")
    run.is_seen(LOW[1])
    run.tell("high", "end")
    status, said = run.end()
    check_equal(status, 3, said)
    check_equal((live(run.peak), live(run.last)), ({"high": HIGH, "low": LOW}, {"high": HIGH, "low": LOW}), "live at the peak, and at the end")
    check(re.search(r"The highest of \d+ looks is the heap at the end\.\n", said) and "At the highest that was seen" not in said, said)
    check(looks_of(run.peak) >= 2 and looks_of(run.last) is None, f"looks: {looks_of(run.peak)}, {looks_of(run.last)}")
    say("  what ends at its highest: the end is the peak")


def killed():
    run = Run()
    run.rise_and_fall()
    run.tell("kill")
    status, said = run.end()
    check_equal((status, live(run.peak)), (-signal.SIGKILL, {"high": HIGH}), said)
    say("  ended by a signal")


def executes():
    """What an earlier program has held is not this one's peak."""
    run = Run()
    run.tell("high", "high")
    run.is_seen(2 * HIGH[1])
    run.tell("ebb", "again", "low", "low")
    run.is_seen(2 * LOW[1])
    run.tell("ebb", "end")
    status, said = run.end()
    check_equal((status, live(run.peak)), (3, {"low": (2 * LOW[0], 2 * LOW[1])}), said)
    say("  executed anew: the peak is the last program's")


def is_there(pid):
    """Other than as a zombie, which whoever inherits it may never wait for."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def stopped():
    """By Ctrl-Z the command, which may not want that, and the tool beside it; nobody lets the watcher go on."""
    for number in (signal.SIGTSTP, signal.SIGSTOP):
        run = Run()
        run.tell("low", "high")
        run.is_seen(LOW[1] + HIGH[1])
        os.kill(run.children()[1], number)
        run.tell("ebb", "end")
        status, said = run.end()
        check_equal((status, live(run.peak)), (3, {"high": HIGH, "low": LOW}), said)
    say("  a stop of the process that looks keeps nobody from the end")


def steps_that_fail():
    """Whatever step fails, also one of the detach when the heap at the end was the highest: it is said, and what was seen is written or not. There is one look."""
    target, number, written = Target("peak"), 0, 0
    for name in ("low", "high"):
        check_equal(target.ask(name), name, "answer")
    while True:
        number += 1
        peak, last = paths_in_folder()
        result = heapsnap("profile", target.pid, "--exact", "--for", "5ms", "--verbose", "--at-peak", peak, "-o", last,
                          environment={"HEAPSNAP_FAIL_AT": str(number)})
        if f"step {number}: " not in result.stderr and f"at step {number} (" not in result.stderr:
            break
        check(result.status in (0, 1) and number < 200, f"step {number}: {result}")
        written += result.status == 1 and os.path.exists(peak)
        check_equal(f"{peak}: " in result.stdout, os.path.exists(peak), f"step {number}: the peak is written, and said to be: {result}")
        if attach_state(target.pid):
            detach(target.pid)
    check_equal((result.status, os.path.exists(peak), os.path.exists(last)), (0, True, True), f"without a failure: {result}")
    check(written > 0, "a peak was written though the detach failed")
    target.end()
    say(f"  {number - 1} steps that fail: {written} times the peak was written all the same")


def tool_killed():
    run = Run()
    run.tell("low")
    run.is_seen(LOW[1])
    program, watcher = run.children()
    run.process.kill()
    wait_until(lambda: not is_there(watcher), "nobody looks any more")
    check(not os.path.exists(run.peak), "a profile is there")
    run.tell("high", "end")
    wait_until(lambda: not is_there(program), "the program ends")
    run.end()
    say("  heapsnap killed: the process beside it ends too, and the program goes on")


def profile():
    target = Target("peak")
    paths = paths_in_folder()
    watched = Watched("profile", target.pid, "--exact", "--for", "1h", "--verbose", "--at-peak", paths[0], "-o", paths[1], "--json")
    wait_until(lambda: len(watched.looks) > 0, "a look")
    for command, live_bytes in (("low", LOW[1]), ("ebb", 0), ("high", HIGH[1]), ("ebb", 0), ("low", LOW[1])):
        check_equal(target.ask(command), command, "answer")
        watched.is_seen(live_bytes)
    watched.process.send_signal(signal.SIGINT)
    output = watched.process.stdout.read()
    status, said = watched.end()
    check_equal(status, 0, said)
    check_equal((live(paths[0]), live(paths[1])), ({"high": HIGH}, {"low": LOW}), "live at the peak, and at the end")
    value = json.loads(output)
    peak = value["peak"]
    check_equal((value["interrupted"], value["detach"]["verified"], peak["output"], peak["bytes"]), (True, True, paths[0], os.stat(paths[0]).st_size), str(value))
    check(0 <= peak["live_bytes"] - HIGH[1] < SLACK and not peak["is_end"] and peak["looks"] == looks_of(paths[0]) >= 6, str(peak))
    check_equal(looks_of(paths[1]), None, "looks of the end")
    # One that is at its highest at the end.
    check_equal(target.ask("ebb"), "ebb", "answer")
    watched = Watched("profile", target.pid, "--exact", "--for", "1h", "--verbose", "--at-peak", paths[0])
    wait_until(lambda: len(watched.looks) > 0, "a look")
    check_equal(target.ask("high"), "high", "answer")
    watched.is_seen(HIGH[1])
    watched.process.send_signal(signal.SIGINT)
    output = watched.process.stdout.read().decode()
    check_equal((watched.end()[0], live(paths[0])), (0, {"high": HIGH}), output)
    check(re.search(r"The highest of \d+ looks is the heap at the end\.\n", output), output)
    # What cannot be written is said, beside what can.
    folder = temporary_directory()
    watched = Watched("profile", target.pid, "--exact", "--for", "1h", "--verbose", "--at-peak", os.path.join(folder, "peak.pb.gz"), "--json")
    wait_until(lambda: len(watched.looks) > 0, "a look")
    os.rmdir(folder)
    watched.process.send_signal(signal.SIGINT)
    value = json.loads(watched.process.stdout.read())
    status, _ = watched.end()
    check(status == 1 and value["detach"]["verified"] and "error" in value["peak"] and "no profile of the peak" in "".join(watched.said), f"{value} {watched.said}")
    os.mkdir(folder)
    target.end()
    say("  profile: both profiles, with a signal that ends it")


def ends_early():
    target = Target("peak")
    paths = paths_in_folder()
    watched = Watched("profile", target.pid, "--exact", "--for", "1h", "--verbose", "--at-peak", paths[0], "-o", paths[1])
    wait_until(lambda: len(watched.looks) > 0, "a look")
    check_equal(target.ask("high"), "high", "answer")
    watched.is_seen(HIGH[1])
    check_equal(target.ask("ebb"), "ebb", "answer")
    os.kill(target.pid, signal.SIGKILL)
    output = watched.process.stdout.read().decode()
    watched.end()
    said = "".join(watched.said)
    check_equal((watched.process.returncode, live(paths[0]), os.path.exists(paths[1])), (1, {"high": HIGH}, False), said + output)
    check("At the highest that was seen:\n" in output and re.search(r"ended \d+\.\d s after the attach, before its heap was written", said), said + output)
    say("  a process that ends before the time is over: its peak is written all the same")


def ordinary_user():
    """The heap cannot be copied while the program runs."""
    if not root():
        leave_out("only root can become another user")
        return
    folder = temporary_directory()
    os.chmod(folder, 0o777)
    program, peak = copy_for_everybody(), os.path.join(folder, "peak.pb.gz")
    run = Watched("run", "--at-peak", peak, "--", "cat", prefix=as_user(1234), program=program)
    wait_until(lambda: any("is not seen, so far: process" in line and "would have to be stopped" in line for line in run.said), "it is said that there is no peak")
    status, _ = run.end()
    check_equal((status, os.path.exists(peak)), (0, False), "".join(run.said))
    check(re.search(r"no profile .*peak\.pb\.gz: the peak of process \d+ was not seen", run.said[-1]), "".join(run.said))
    sleeper = start([*as_user(1234), "sleep", "300"])
    wait_until(lambda: os.readlink(f"/proc/{sleeper.pid}/exe").endswith("sleep"), "the program runs")
    check_refused(heapsnap("profile", sleeper.pid, "--for", "1h", "--at-peak", peak, prefix=as_user(1234), program=program), "its peak cannot be seen: process",
                  "would have to be stopped")
    check_equal((attach_state(sleeper.pid), os.path.exists(peak)), (None, False), "state, and profile")
    say("  an ordinary user is told that there is none")


def usage():
    for words, message in ((["run", "--at-peak", "a", "--children", "--", "true"], "cannot be combined with --children"),
                           (["run", "--at-peak", "a", "--at-exit", "a", "--", "true"], "needs another file"),
                           (["run", "--at-peak", "-", "--", "true"], "goes to a file"), (["run", "--at-peak", "", "--", "true"], "is empty"),
                           (["profile", "1", "--for", "1s", "--at-peak", "d/"], "only valid with run"),
                           (["profile", "1", "--for", "1s", "--at-peak", "a", "-o", "a"], "needs another file"),
                           (["dump", "1", "--at-peak", "a"], "--at-peak")):
        result = heapsnap(*words)
        check(result.status == 2 and message in result.stderr, f"{message!r}: {result}")
    folder = temporary_directory() + "/"
    watched = Watched("run", "--exact", "--verbose", "--at-peak", folder, "--at-exit", folder, "--", PROGRAM)
    wait_until(lambda: len(watched.looks) > 0, "a look")
    status, said = watched.end()
    names = sorted(os.listdir(folder))
    check(status == 0 and len(names) == 2 and re.match(r"peak-peak\.\d+\.\w+\.pb\.gz$", names[0]) and re.match(r"peak\.\d+\.\w+\.pb\.gz$", names[1]), f"{names} {said}")
    say("  what cannot be asked for is refused; names in a folder")


run_cases([rises_and_falls, ends_high, killed, executes, stopped, steps_that_fail, tool_killed, profile, ends_early, ordinary_user, usage], "peak")
