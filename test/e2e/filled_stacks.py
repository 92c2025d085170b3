# SPDX-License-Identifier: Apache-2.0
"""A target in which no stack has room for a signal frame is refused after one stop, which grows with the number of threads and no faster; and where
another moment might suit, all tries together stop it for no longer than one stop may last."""

import os
import re
import signal

from harness import Failure, Target, check, check_equal, check_refused, heapsnap, run_cases, say, status_fields, temporary_directory, thread_ids

FEW, MANY = 50, 400  # as thread_scale.py, and for the same reason
CALLS_EACH = 25  # for each thread more, of all stops together
BOUND_MS = 1000


def is_untouched(target, threads):
    check_equal(len(thread_ids(target.pid)), threads + 2, "threads")
    for tid in thread_ids(target.pid):
        fields = status_fields(target.pid, tid, ["State", "TracerPid"])
        check(fields["TracerPid"] == "0" and fields["State"][0] not in "tT", f"thread {tid}: {fields}")


def calls(target, path):
    check_refused(heapsnap("attach", target.pid, prefix=["strace", "-qq", "-o", path]), "no memory is proven free", "stack")
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    first = next(i for i, line in enumerate(lines) if "PTRACE_INTERRUPT" in line)
    # How often it asks whether a thread stands already depends on what else the machine does.
    done = [line for line in lines[first:] if re.match(r"\w", line) and not re.match(r"(sched_yield|clock_nanosleep)\(|waitid\(.*, \{\}, ", line)]
    return len(done), sum(f"/proc/{target.pid}/limits" in line for line in done)


def filled():
    counts = []
    for threads in (FEW, MANY):
        target = Target("filled_stacks", threads)
        result = heapsnap("attach", target.pid, "-v")
        check_equal(result.status, 1, str(result))
        check("no memory is proven free" in result.stderr and "trying again" not in result.stderr, str(result))
        check_refused(heapsnap("attach", target.pid), "no memory is proven free", "stack")
        counts.append(calls(target, os.path.join(temporary_directory(), "trace")))
        is_untouched(target, threads)
        target.end()
    each = (counts[1][0] - counts[0][0]) / (MANY - FEW)
    say(f"  {counts[0][0]} calls with {FEW} threads, {counts[1][0]} with {MANY}: {each:.1f} for each thread more")
    check(each <= CALLS_EACH, f"{each:.1f} calls for each thread, not {CALLS_EACH} at most")
    check(all(limits <= 2 for _, limits in counts), f"the limits were read {counts} times")


def another_moment():
    """Stacks of zeros whose threads block every signal: with the signals open there would be room. On a machine short of processors the tool may get none for
    the last part of its bound, and is killed by its watchdog then; and what the target's thread waits for one counts as well. Not each time of several."""
    for _ in range(5):
        target = Target("filled_stacks", MANY, "blocked")
        target.ask("longest")  # from now on
        result = heapsnap("attach", target.pid, "-v", environment={"HEAPSNAP_MAX_FREEZE_MS": str(BOUND_MS)}, again=False)
        longest, together = map(int, target.ask("longest").split())
        was_killed = result.status == -signal.SIGKILL
        say(f"  stopped for {together} ms in all, at most {longest} ms at a time{'; killed by the watchdog' if was_killed else ''}")
        if not was_killed:
            check_equal(result.status, 1, str(result))
            check("trying again" in result.stderr or "had been stopped for" in result.stderr, str(result))
        is_untouched(target, MANY)
        target.end()
        if not was_killed and longest <= BOUND_MS * 1.5:
            return
    raise Failure(f"each time stopped for longer than it may be, the last time for {longest} ms at a time: {result}")


run_cases([filled, another_moment], "filled stacks")
