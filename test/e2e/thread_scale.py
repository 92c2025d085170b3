# SPDX-License-Identifier: Apache-2.0
"""What the tool does while threads stand grows with their number and no faster: system calls from the first stop to the last release, for each thread, with
few threads and with many. No thread needs a file to be opened, and no other process that was there before. Threads that sleep, with words on their stacks that their last calls of hooks have left,
stand once for a detach: nobody is believed to be inside who is not."""

import collections
import os
import re

from harness import Target, check, check_equal, got_no_processor, has_program, heapsnap, run_test, say, start, stop, temporary_directory, wait_until

FEW, MANY = 50, 400  # under strace, which makes a stop of more last longer than the tool lets it on a machine with other work
CALLS_EACH = 15      # for each thread more
CALLS_ONCE = 1500    # whatever their number
OTHERS = 60          # processes more, where there are more threads


OPENED = re.compile(r'openat\((?:AT_FDCWD, "/proc/(\d+)|(\d+), ).* = (-1|\d+)\b')


def without_newborn(lines, known):
    """Without what is opened of processes that are not `known`: how many others are looked at, because they begin meanwhile or have threads that end, depends
    on what else the machine does."""
    kept, newborn = [], set()
    for line in lines:
        opened = OPENED.match(line)
        closed = re.match(r"close\((\d+)\)", line)
        if opened and (opened[2] in newborn or (opened[1] and int(opened[1]) not in known)):
            newborn.add(opened[3])
            continue
        if closed:
            newborn.discard(closed[1])
        kept.append(line)
    return kept


def freezes_of(arguments, path, others=()):
    """Of each the system calls from the first stop to the last release, one a line; but for those of processes other than the target and `others`."""
    for _ in range(5):
        known = {int(name) for name in os.listdir(f"/proc/{arguments[1]}/task")} | {other.pid for other in others}
        result = heapsnap(*arguments, prefix=["strace", "-qq", "-o", path])
        if not got_no_processor(result):
            break
        say(f"  {result.stderr.strip()}")
    check_equal(result.status, 0, str(result))
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = without_newborn(file.readlines(), known)
    freezes, begin, end = [], None, None
    for i, line in enumerate(lines):
        if "PTRACE_INTERRUPT" in line:
            if end is not None:
                freezes.append(lines[begin:end + 1])
                begin = end = None
            begin = i if begin is None else begin
        elif "PTRACE_DETACH" in line:
            end = i
    return [*freezes, lines[begin:end + 1]]


NOT_YET = re.compile(r"(sched_yield|clock_nanosleep)\(|waitid\(.*, \{\}, ")  # asked whether a thread stands, and it does not


def independent_of_load(lines):
    """How often the tool asks whether a thread stands already, and how often it looks meanwhile whether all others still do, depends on what else the machine
    does. Such a look is many waits in turn that do not follow the closing of the list of threads; the last of them may belong to what comes next."""
    kept, counts = [], True
    for line, following in zip(lines, [*lines[1:], ""]):
        waits = line.startswith("waitid(")
        if NOT_YET.match(line):
            continue
        if not waits:
            counts = line.startswith("close(")
        if not waits or counts or not following.startswith("waitid("):
            kept.append(line)
    return kept


def counted(freezes):
    """Of the longest."""
    done = independent_of_load([line for line in max(freezes, key=len) if re.match(r"\w", line)])
    names = collections.Counter(re.match(r"\w+", line)[0] for line in done)
    return names, len(done)


def wait_until_all_have_allocated(target, threads):
    """So that each has a slot, and left words on its stack."""
    before = int(target.ask("count"))
    wait_until(lambda: int(target.ask("count")) > before + 2 * threads, "the threads allocate")


def measure(threads, directory, others=()):
    target = Target("stacks", "bare", threads, 200000)
    found = {}
    path = os.path.join(directory, "trace")
    for arguments in (["attach", target.pid, "--exact"], ["detach", target.pid]):
        found[arguments[0]] = counted(freezes_of(arguments, path, others))
        wait_until_all_have_allocated(target, threads)
    freezes_of(["attach", target.pid, "--exact"], path)
    wait_until_all_have_allocated(target, threads)
    check_equal(target.ask("rest"), "resting", "the threads rest")
    check_equal(len(freezes_of(["detach", target.pid], path)), 1, f"stops of a detach from {threads} threads at rest")
    target.end()
    return found


def newborn_are_told():
    """Opened below the folder of a process that was not there; then the same number is another file's."""
    lines = ['openat(AT_FDCWD, "/proc/77", O_PATH) = 5\n', 'openat(5, "stat", O_RDONLY) = 6\n', "close(6) = 0\n", "close(5) = 0\n",
             'openat(AT_FDCWD, "/proc/78", O_PATH) = -1 ENOENT (No such file or directory)\n',
             'openat(AT_FDCWD, "/proc/12/maps", O_RDONLY) = 5\n', 'openat(5, "stat", O_RDONLY) = 6\n']
    check_equal([line for line in without_newborn(lines, {12}) if line.startswith("openat")], lines[5:], "what is opened of known processes")


def main():
    if not has_program("strace"):
        return
    newborn_are_told()
    directory = temporary_directory()
    few = measure(FEW, directory)
    others = [start(["sleep", "1000"]) for _ in range(OTHERS)]
    many = measure(MANY, directory, others)
    for other in others:
        stop(other)
    for command in few:
        (names_few, calls_few), (names_many, calls_many) = few[command], many[command]
        each = (calls_many - calls_few) / (MANY - FEW)
        say(f"  {command}: {calls_few} calls with {FEW} threads, {calls_many} with {MANY}: {each:.1f} for each thread more")
        check(each <= CALLS_EACH, f"{command}: {each:.1f} calls for each thread: {names_many.most_common(12)}")
        check(calls_few <= CALLS_ONCE + CALLS_EACH * FEW, f"{command}: {calls_few} calls: {names_few.most_common(12)}")
        check(names_many["openat"] <= names_few["openat"] + 10, f"{command}: files opened: {names_few['openat']} and {names_many['openat']}")


run_test(main, "thread_scale")
