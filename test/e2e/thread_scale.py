# SPDX-License-Identifier: Apache-2.0
"""What the tool does while threads stand grows with their number and no faster: system calls from the first stop to the last release, for each thread, with
few threads and with many. No thread needs a file to be opened, and no other process that was there before. Threads that sleep, with words on their stacks that their last calls of hooks have left,
stand once for a detach: nobody is believed to be inside who is not."""

import collections
import os
import re

from harness import Target, check, check_equal, got_no_processor, has_program, heapsnap, run_test, say, start, stop, temporary_directory, wait_until

FEW, MANY = 50, 400  # under strace, which makes a stop of more last longer than the tool lets it on a machine with other work
CALLS_EACH = 13      # for each thread more, without waits for it
CALLS_ONCE = 1500    # whatever their number
OTHERS = 60          # processes more, where there are more threads


OPENED = re.compile(r'openat\((?:AT_FDCWD, "/proc/(\d+)|(\d+), ).* = (-1|\d+)\b')
OF_DESCRIPTOR = re.compile(r"(\w+)\((\d+)[,)]")
COMPARED = re.compile(r"kcmp\((\d+), (\d+), ")


def of_known(lines, known):
    """Without the calls for processes that are not `known`: how many others are looked at, because they begin meanwhile or have threads that end, depends
    on what else the machine does."""
    kept, strange = [], set()
    for line in lines:
        opened, used, compared = OPENED.match(line), OF_DESCRIPTOR.match(line), COMPARED.match(line)
        if compared:
            if {int(compared[1]), int(compared[2])} <= known:
                kept.append(line)
            continue
        if opened and (opened[2] in strange or (opened[1] and int(opened[1]) not in known)):
            strange.add(opened[3])
            continue
        if used and used[2] in strange:
            if used[1] == "close":
                strange.discard(used[2])
            continue
        kept.append(line)
    return kept


def freezes_of(arguments, path, others=()):
    """Of each the system calls from the first stop to the last release, one a line; but for those of processes other than the target and `others`."""
    for _ in range(5):
        known = {int(name) for name in os.listdir(f"/proc/{arguments[1]}/task")} | {other.pid for other in others}
        result = heapsnap(*arguments, prefix=["strace", "-qq", "-o", path], again=False)
        if not got_no_processor(result):
            break
        say(f"  {result.stderr.strip()}")
    check_equal(result.status, 0, str(result))
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = of_known(file.readlines(), known)
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


# Asked whether a thread stands: how often, and in how many looks at all of them, depends on what else the machine does.
LOOKED_AFTER = "task/N/stat"  # of threads that take long to stand: whether they have ended
WAITS = re.compile(r"(sched_yield|clock_nanosleep|waitid)\(")
# How many other processes have begun since they were listed, likewise: a process beside the tool is asked about each (attach/guard/task_compare.c), by these.
ASKS = re.compile(r"(futex|getpid)\(")


def counted(freezes):
    """Of the longest."""
    done = [line for line in max(freezes, key=len) if re.match(r"\w", line) and not WAITS.match(line) and not ASKS.match(line)]
    names = collections.Counter(re.match(r"\w+", line)[0] for line in done)
    files = collections.Counter(re.sub(r"\d+", "N", re.search(r'"([^"]*)"', line)[1]) for line in done if line.startswith("openat("))
    return names, len(done), files


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


def strange_ones_are_told():
    """What is opened below the folder of a process that is not known, and done with it; then the same number is another file's."""
    strange = ['openat(AT_FDCWD, "/proc/77", O_PATH) = 5\n', 'openat(5, "task", O_RDONLY) = 6\n', "fcntl(6, F_GETFL) = 0\n", "getdents64(6, 0x1, 32768) = 72\n",
               "kcmp(12, 77, KCMP_VM, 0, 0) = 1\n", "close(6) = 0\n", "close(5) = 0\n",
               'openat(AT_FDCWD, "/proc/78", O_PATH) = -1 ENOENT (No such file or directory)\n']
    known = ['openat(AT_FDCWD, "/proc/12/maps", O_RDONLY) = 5\n', 'openat(5, "stat", O_RDONLY) = 6\n', "kcmp(12, 13, KCMP_FILES, 0, 0) = 1\n", "close(6) = 0\n",
             "ptrace(PTRACE_INTERRUPT, 13) = 0\n"]
    check_equal(of_known(strange + known, {12, 13}), known, "calls for known processes")


def main():
    if not has_program("strace"):
        return
    strange_ones_are_told()
    directory = temporary_directory()
    few = measure(FEW, directory)
    others = [start(["sleep", "1000"]) for _ in range(OTHERS)]
    many = measure(MANY, directory, others)
    for other in others:
        stop(other)
    for command in few:
        (names_few, calls_few, files_few), (names_many, calls_many, files_many) = few[command], many[command]
        each = (calls_many - calls_few) / (MANY - FEW)
        say(f"  {command}: {calls_few} calls with {FEW} threads, {calls_many} with {MANY}: {each:.1f} for each thread more")
        check(each <= CALLS_EACH, f"{command}: {each:.1f} calls for each thread: {names_many.most_common(12)}")
        check(calls_few <= CALLS_ONCE + CALLS_EACH * FEW, f"{command}: {calls_few} calls: {names_few.most_common(12)}")
        check(files_many.total() - files_many[LOOKED_AFTER] <= files_few.total() + 10, f"{command}: files opened: {files_few} and {files_many}")


run_test(main, "thread_scale")
