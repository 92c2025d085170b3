# SPDX-License-Identifier: Apache-2.0
"""Attach, set, dump and detach for hours, and kills of the tool meanwhile, over programs at full load: no crash, no hang, no wrong result, nothing
left stopped, nothing left mapped. Prints a summary; the exit status is 1 when there was any fault.
Every system call of the tool that fails once is a part of it too (test/e2e/failing_calls.py all).
usage: soak.py [--once | --cycles N --kills N] [--no-calls] [--seconds N] [--seed N] [--only TEXT] [--list]"""

import argparse
import collections
import os
import platform
import random
import signal
import subprocess
import sys
import time

E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")
sys.path.insert(0, E2E)

import harness  # noqa: E402
from harness import Failure, attach, attach_state, check, check_equal, detach, dump, heapsnap, heapsnap_ok, say, temporary_directory  # noqa: E402
from loaded import LOADED  # noqa: E402
from programs import TABLE, Skipped  # noqa: E402

TURN = {"cycles": 40, "points": 12, "random": 12}  # of each in one turn of a program, at most
COMMANDS = ["attach", "attach", "set", "dump", "detach", "detach"]  # to be killed
SETTINGS = [["--exact"], ["--sample", "1000"], ["--samples-per-word", "1e-4"], ["--budget", "1"], ["--stop-recording"], ["--start-recording"]]
UNCHANGED_EVERY = 10  # cycles; after kills it is compared each time


class Budget:
    """What is still to be done, shared by all programs."""

    def __init__(self, options, programs):
        self.left = {"cycles": options.cycles, "points": options.kills, "random": options.kills}
        # A small budget is shared by all programs as well.
        self.turn = {kind: min(TURN[kind], -(-count // programs)) for kind, count in self.left.items()}
        self.end = time.monotonic() + options.seconds if options.seconds else None

    def take(self, kind):
        if self.over() or self.left[kind] <= 0:
            return False
        self.left[kind] -= 1
        return True

    def over(self):
        return (self.end is not None and time.monotonic() >= self.end) or not any(self.left.values())


class Worker:
    """One running program, and what can be done with it."""

    def __init__(self, subject, numbers, rng):
        self.subject, self.pid, self.numbers, self.rng = subject, subject.pid, numbers, rng
        self.path = os.path.join(temporary_directory(), "out.pb.gz")
        self.points = {}    # (command, variable) -> how many there are, as far as is known
        self.seconds = {}   # command -> how long it takes
        self.history = collections.deque(maxlen=8)

    def arguments(self, command):
        more = {"attach": self.subject.attach_options, "dump": ["-o", self.path], "set": self.rng.choice(SETTINGS)}
        return [command, str(self.pid)] + more.get(command, [])

    def attach(self):
        attach(self.pid, *self.subject.attach_options)

    def check_free(self):
        """Nothing stopped, nothing traced. The kernel lets go of all threads before the end of the tool can be waited for."""
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            try:
                fields = harness.status_fields(self.pid, tid, ["State", "TracerPid"])
            except (FileNotFoundError, ProcessLookupError):
                continue
            check(fields["TracerPid"] == "0" and fields["State"][0] not in "tT", f"thread {tid} is left behind: {fields}")

    def cycle(self):
        self.history.append("cycle")
        self.attach()
        for options in self.rng.sample(SETTINGS, 2):
            heapsnap_ok("set", self.pid, *options)
        self.subject.check_works()
        dump(self.pid, self.path)
        detach(self.pid)
        self.numbers["cycles"] += 1
        if self.numbers["cycles"] % UNCHANGED_EVERY == 0:
            self.subject.check_unchanged()
        self.subject.check_works()

    def prepare(self, command):
        if command != "attach":
            self.attach()

    def finish(self):
        """The next status, attach or detach finishes or undoes what was left."""
        self.check_free()
        self.subject.check_works()
        state = attach_state(self.pid)
        self.history.append(f"state {state}")
        if state != "attached" and self.rng.random() < 0.5:
            self.history.append("finish by attach")
            self.attach()
            self.subject.check_works()
            state = "attached"
        if state is not None:
            detach(self.pid)
        check_equal(attach_state(self.pid), None, "status in the end")
        self.check_free()
        self.subject.check_unchanged()
        self.subject.check_works()

    def kill_at_point(self):
        command = self.rng.choice(COMMANDS)
        variable = self.rng.choice(["HEAPSNAP_KILL_AT", "HEAPSNAP_KILL_AT_REQUEST", "HEAPSNAP_KILL_AT_REQUEST"])
        self.prepare(command)
        known = self.points.setdefault((command, variable), 2000 if variable.endswith("REQUEST") else 60)
        while True:
            point = self.rng.randint(1, known)
            self.history.append(f"{command} {variable}={point}")
            result = heapsnap(*self.arguments(command), environment={variable: str(point)})
            if result.status == -signal.SIGKILL:
                break
            check_equal(result.status, 0, str(result))
            known = max(1, min(known - 1, point))
            self.points[(command, variable)] = known
            if command == "attach":
                detach(self.pid)
            if command == "detach":
                self.attach()
            check(known > 1, f"{variable} has no effect on {command}")
        self.numbers["points"] += 1
        self.numbers[f"points {command}"] += 1
        self.finish()

    def is_stopped_by(self, tool):
        try:
            return harness.status_fields(self.pid, self.pid, ["TracerPid"])["TracerPid"] == str(tool.pid)
        except (FileNotFoundError, ProcessLookupError, KeyError):
            return False

    def kill_at_random(self):
        command = self.rng.choice(COMMANDS)
        self.prepare(command)
        while True:
            while_frozen = self.rng.random() < 0.6
            began = time.monotonic()
            tool = harness.start([harness.HEAPSNAP, *self.arguments(command)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
            if while_frozen:
                while tool.poll() is None and not self.is_stopped_by(tool):
                    pass
                delay = self.rng.random() * self.rng.choice([0.001, 0.004, 0.02])
            else:
                delay = self.rng.random() * self.seconds.get(command, 0.1)
            self.history.append(f"{command} killed after {delay:.6f} s{' of freeze' if while_frozen else ''}")
            try:
                tool.wait(delay)
            except subprocess.TimeoutExpired:
                tool.kill()
            error = tool.communicate(timeout=60)[1].decode()
            harness._children.remove(tool)
            if tool.returncode == -signal.SIGKILL:
                break
            check_equal(tool.returncode, 0, f"{command}: {error}")
            self.seconds[command] = time.monotonic() - began
            if command == "attach":
                detach(self.pid)
            if command == "detach":
                self.attach()
        self.numbers["random"] += 1
        self.numbers[f"random {command}"] += 1
        self.finish()


def describe(worker):
    """What may help to find the cause."""
    lines = [f"history: {list(worker.history)}"]
    try:
        lines += [line for line in harness.read_text(f"/proc/{worker.pid}/maps").splitlines() if "heapsnap" in line]
        for tid in harness.thread_ids(worker.pid):
            lines.append(f"{tid}: {harness.status_fields(worker.pid, tid, ['State', 'TracerPid', 'SigBlk', 'SigPnd'])} "
                         f"{harness.read_text(f'/proc/{worker.pid}/task/{tid}/syscall').strip()}")
        lines.append(str(heapsnap("status", worker.pid)))
    except (OSError, Failure) as error:
        lines.append(f"it cannot be looked at: {error}")
    return "\n    ".join(lines)


def turn(name, begin, budget, numbers, rng):
    """Starts the program, works with it for a while, ends it. Returns a fault's description, or None."""
    worker = None
    try:
        worker = Worker(begin(), numbers, rng)
        work = [kind for kind, count in budget.turn.items() for _ in range(count)]
        rng.shuffle(work)
        for kind in work:
            if budget.over():
                break
            if budget.take(kind):
                {"cycles": worker.cycle, "points": worker.kill_at_point, "random": worker.kill_at_random}[kind]()
        worker.subject.check_unchanged()
        worker.subject.end()
        numbers["turns"] += 1
        return None
    except Skipped:
        raise
    except Exception as error:  # a fault of any kind is counted, and the next turn begins afresh
        text = f"{name}: {type(error).__name__}: {error}"
        return text + ("\n    " + describe(worker) if worker else "")
    finally:
        harness.end_everything()


def choose(options):
    rows = LOADED + [(f"{row.group}: {row.name}", row.start) for row in TABLE if not row.refused]
    return [(name, begin) for name, begin in rows if options.only in name]


def summary(programs, faults, seed, seconds, commit):
    total = collections.Counter()
    say(f"\n{'program':<45} {'cycles':>7} {'at points':>10} {'at random':>10}")
    for name, numbers in programs.items():
        total.update(numbers)
        say(f"{name:<45} {numbers['cycles']:>7} {numbers['points']:>10} {numbers['random']:>10}")
    say(f"{'all':<45} {total['cycles']:>7} {total['points']:>10} {total['random']:>10}")
    for kind in ("points", "random"):
        say(f"killed at {kind}: " + ", ".join(f"{command} {total[f'{kind} {command}']}" for command in sorted(set(COMMANDS))))
    say(f"{len(faults)} faults; seed {seed}; {seconds:.0f} s; {heapsnap('--version').stdout.strip()} {commit}; Linux {platform.release()}, "
        f"{os.cpu_count()} processors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cycles", type=int, default=10000, help="of attach, dump, detach")
    parser.add_argument("--kills", type=int, default=2000, help="at fault points, and as many at random times")
    parser.add_argument("--once", action="store_true", help="of all these, one for each program")
    parser.add_argument("--no-calls", action="store_true", help="without the failing system calls, which come last and take minutes")
    parser.add_argument("--commit", default="", help="for the summary: what was built")
    parser.add_argument("--seconds", type=float, default=0, help="ends then, whatever is done; 0 = when all is done")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    rows = choose(options)
    if options.list:
        say("\n".join(name for name, _ in rows))
        return 0
    if not rows or not (harness.HEAPSNAP and harness.TARGETS):
        sys.exit("no such program, or HEAPSNAP and HEAPSNAP_TARGETS are not set")
    if options.once:
        options.cycles = options.kills = len(rows)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    say(f"seed {seed}, {len(rows)} programs")
    rng, budget, began = random.Random(seed), Budget(options, len(rows)), time.monotonic()
    programs, faults, told = {name: collections.Counter() for name, _ in rows}, [], began
    try:
        while rows and not budget.over():
            for name, begin in list(rows):
                if budget.over():
                    break
                try:
                    fault = turn(name, begin, budget, programs[name], rng)
                except Skipped as reason:
                    say(f"{name}: SKIPPED: {reason}")
                    rows.remove((name, begin))
                    continue
                if fault:
                    faults.append(fault)
                    say(f"FAULT {len(faults)}: {fault}")
                if time.monotonic() - told >= 60:
                    told = time.monotonic()
                    say(f"{told - began:.0f} s: left {budget.left}, {len(faults)} faults")
        if not options.no_calls and not (budget.end and time.monotonic() >= budget.end):
            say("every system call of attach, dump and detach fails")
            if subprocess.run([sys.executable, os.path.join(E2E, "failing_calls.py"), "all"], check=False).returncode:
                faults.append("failing system calls")
    except SystemExit:  # a signal: what was done counts
        say("interrupted")
    summary(programs, faults, seed, time.monotonic() - began, options.commit)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
