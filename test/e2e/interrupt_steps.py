# SPDX-License-Identifier: Apache-2.0
"""Every step of attach, set, dump and detach is made to fail, and the tool is killed at every step: the target goes on, and is as it was.
usage: interrupt_steps.py fail|kill|entry"""

import os
import sys
import time

from harness import (Failure, Target, Unharmed, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, is_attached,
                     part_of, repetitions, run_test, say, temporary_directory)

STEPS_MAX = 1000
STRIDE = 3 // part_of(3)  # from one step that is tried to the next


class Idle:
    """Sleeping threads: must be equal to the last byte."""
    memory_may_change = False

    def __init__(self):
        self.target = Target("many_threads", 6)
        check_equal(self.target.ask("allocate"), "allocated", "answer")
        self.pid = self.target.pid
        self.before = Unharmed(self.pid)

    def check_works(self):
        check_equal(self.target.ask("allocate"), "allocated", "answer")

    def check_as_before(self):
        # A thread that a killed tool has left comes home when it gets a processor.
        self.before.check_after(settle=20)


class Busy:
    """Threads that allocate at full speed and check every block."""

    def __init__(self):
        self.target = Target("cycles", 8)
        self.pid = self.target.pid
        self.operations = 0
        self.pause()
        self.before = Unharmed(self.pid)
        self.go_on()

    def pause(self):
        check_equal(self.target.ask("pause"), "paused", "answer")

    def go_on(self):
        check_equal(self.target.ask("continue"), "continued", "answer")

    def check_works(self):
        # On a busy machine a whole process may get no processor for a while: that it works at all is what counts.
        deadline = time.monotonic() + 20
        now = int(self.target.ask("count"))
        while now <= self.operations and time.monotonic() < deadline:
            time.sleep(0.001)
            now = int(self.target.ask("count"))
        check(now > self.operations, "the target does nothing any more")
        self.operations = now

    def check_as_before(self):
        self.pause()
        self.before.check_after(memory_may_change=True, settle=20)
        self.go_on()


def files_in(directory):
    return sorted(os.listdir(directory))


def each_step(variable, arguments, after_failure):
    """Calls after_failure(result, step) for each step that was made to fail, until the command succeeds. Returns the number of these steps."""
    steps = range(1, STEPS_MAX, STRIDE)
    for count, step in enumerate(steps):
        result = heapsnap(*arguments, environment={variable: str(step)})
        if result.status == 0:
            check(step > 1, f"{variable} has no effect on {arguments[0]}")
            return count
        after_failure(result, step)
    check(False, f"{arguments[0]} has more than {STEPS_MAX} steps")


REQUESTS = repetitions(4, 1)  # a killed change: at one of so many
# From one of these to the next: to samples and back, to nothing and back.
SETTINGS = [["--sample", "1000"], ["--exact"], ["--budget", "1"], ["--stop-recording"], ["--start-recording"], ["--samples-per-word", "0.01"], ["--exact"]]


def settings(pid):
    return heapsnap_ok("status", pid)["processes"][0]["settings"]


def check_settings(process, options):
    """What a broken change has left is right: the target works, and the next change puts all in order."""
    process.before.check_attached()
    process.check_works()
    check("mode" in settings(process.pid), "status does not say what is recorded")
    after = heapsnap_ok("set", process.pid, *options)["after"]
    check_equal({key: value for key, value in settings(process.pid).items() if key != "since"}, after, "settings after a repeated change")
    process.check_works()


def check_nothing_lost(process, directory):
    """Every release was seen: where one was not, its address is met again."""
    process.check_works()
    report = dump(process.pid, os.path.join(directory, "out.pb.gz"))
    os.unlink(os.path.join(directory, "out.pb.gz"))
    check_equal([line["value"] for line in report["ledger"] if line["name"] == "replaced" and line["value"]], [], "blocks found again")


def fail_each_step(process, directory):
    path = os.path.join(directory, "out.pb.gz")

    def attach_failed(result, step):
        check_equal(result.status, 1, str(result))
        check(result.stderr.startswith("heapsnap: "), str(result))
        check("\nnothing of heapsnap is left in process" in result.stderr, f"it is not said how the process is: {result}")
        check_equal(attach_state(process.pid), None, f"status after attach failed at step {step}")
        process.check_as_before()
        process.check_works()
    steps = each_step("HEAPSNAP_FAIL_AT", ["attach", process.pid], attach_failed)
    process.check_works()
    say(f"  attach: {steps} steps failed, each rolled back")

    def dump_failed(result, step):
        check_equal(result.status, 1, str(result))
        check_equal(files_in(directory), [], f"files after dump failed at step {step}")
        check(is_attached(process.pid), f"no more attached after dump failed at step {step}")
        process.before.check_attached()
        process.check_works()
    steps = each_step("HEAPSNAP_FAIL_AT", ["dump", process.pid, "-o", path], dump_failed)
    check_equal(files_in(directory), ["out.pb.gz"], "files after dump")
    say(f"  dump: {steps} steps failed, nothing left")

    os.unlink(path)
    steps = 0
    for options in SETTINGS:
        def set_failed(result, step):
            check_equal(result.status, 1, str(result))
            check(is_attached(process.pid), f"no more attached after set {options} failed at step {step}")
            check_settings(process, ["--sample", "100"])
        steps += each_step("HEAPSNAP_FAIL_AT", ["set", process.pid, *options], set_failed)
    check_nothing_lost(process, directory)
    say(f"  set: {steps} steps failed, each put in order by the next")

    def detach_failed(result, step):
        check_equal(result.status, 1, str(result))
        process.check_works()
        process.before.check_attached()
        state = attach_state(process.pid)
        if state == "attached":
            return
        if state:  # half-way: the next one finishes
            detach(process.pid)
        process.check_as_before()
        attach(process.pid)
    steps = each_step("HEAPSNAP_FAIL_AT", ["detach", process.pid], detach_failed)
    process.check_as_before()
    process.check_works()
    say(f"  detach: {steps} steps failed, each could be finished by the next")
    return process


def clean_up(process, what, by_attach):
    """After the tool was killed: the target works, status tells what there is, and the next attach or detach clears it away."""
    process.check_works()
    state = attach_state(process.pid)
    if by_attach and state != "attached":
        attach(process.pid)
        check(is_attached(process.pid), f"{what}: not attached after the next attach")
        process.before.check_attached()
        process.check_works()
        state = "attached"
    result = heapsnap("detach", process.pid)
    if result.status:
        check_refused(result, "not attached")
    check_equal(result.status == 0, state is not None, f"{what}: whether there was something to detach, as status had it")
    check_equal(attach_state(process.pid), None, f"{what}: status after the next detach")
    try:
        process.check_as_before()
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None
    process.check_works()


def kill_each_step(process, directory):
    path = os.path.join(directory, "killed.pb.gz")
    bad = []

    def killed(command, step, *arguments, variable="HEAPSNAP_KILL_AT"):
        """One command killed at one step. False: it has no such step."""
        result = heapsnap(command, process.pid, *arguments, environment={variable: str(step)})
        if result.status == 0:
            check(step > 1, f"{variable} has no effect on {command}")
            return False
        check_equal(result.status, -9, str(result))
        return True

    def try_clean_up(what, by_attach):
        """A failure is kept for the end, and a fresh target takes over: all of them are worth seeing."""
        nonlocal process
        try:
            clean_up(process, what, by_attach)
        except Failure as failure:
            bad.append(str(failure))
            process.target.process.kill()
            process = type(process)()

    for step in range(1, STEPS_MAX):
        if not killed("attach", step):
            break
        try_clean_up(f"attach killed at step {step}", step % 2 == 0)
    say(f"  attach: killed at {step - 1} steps")

    for step in range(1, STEPS_MAX):
        if not killed("dump", step, "-o", path):
            break
        check(not os.path.exists(path), f"a partial file after dump was killed at step {step}")
        process.check_works()
        check(is_attached(process.pid), f"no more attached after dump was killed at step {step}")
    say(f"  dump: killed at {step - 1} steps")
    steps, own = [], temporary_directory()
    dump(process.pid, os.path.join(own, "out.pb.gz"))
    # Each store is a request: the order of all of them is what makes a killed change right. Every so many of them, of each change others, and of each program.
    for number, options in enumerate(SETTINGS):
        first = 1 + (number + 2 * isinstance(process, Busy)) % REQUESTS
        for variable, steps_of_it in (("HEAPSNAP_KILL_AT", range(1, STEPS_MAX)), ("HEAPSNAP_KILL_AT_REQUEST", range(first, STEPS_MAX, REQUESTS))):
            for step in steps_of_it:
                if not killed("set", step, *options, variable=variable):
                    break
                check(is_attached(process.pid), f"no more attached after set {options} was killed, {variable}={step}")
                check_settings(process, ["--sample", "100"])
            steps.append(step - 1)
    check_nothing_lost(process, own)
    say(f"  set: killed at steps and requests {steps}")
    detach(process.pid)

    for step in range(1, STEPS_MAX):
        attach(process.pid)
        if not killed("detach", step):
            break
        try_clean_up(f"detach killed at step {step}", step % 2 == 0)
    say(f"  detach: killed at {step - 1} steps")
    process.check_as_before()
    check(not bad, f"{len(bad)} kills left something behind:\n" + "\n".join(bad))
    return process


def kill_with_code_at_entry(process, directory):
    """Where a target has no code for system calls, the tool writes it at the entry point, and a kill leaves it there: with a private copy of
    the page."""
    left = 0
    for command in ("attach", "detach"):
        for number in range(1, STEPS_MAX, 5):
            if command == "detach":
                attach(process.pid)
            result = heapsnap(command, process.pid,
                              environment={"HEAPSNAP_KILL_AT_REQUEST": str(number), "HEAPSNAP_TEST_NO_GADGETS": "1"})
            if result.status == 0:
                if command == "attach":
                    detach(process.pid)
                break
            check_equal(result.status, -9, str(result))
            state = attach_state(process.pid)
            left += state is not None
            try:
                clean_up(process, f"{command} killed at request {number}", number % 2 == 0)
            except Failure as failure:
                # All was done, and only the copy of the page is left, which a tool without code for system calls cannot drop.
                lines = str(failure).splitlines()[1:]
                if state is not None or len(lines) != 1 or "private pages of text" not in lines[0]:
                    raise
                process = renewed(process)
        check(number > 50, f"only {number} requests in {command}")
        say(f"  {command}: killed at every fifth of {number} requests")
        # The page's copy that a successful run leaves (there was nothing to drop it with) is gone with the next that finds what it needs.
        process = renewed(process)
    check(left > 10, "nothing was left anywhere")
    return process


def renewed(process):
    process.target.end()
    return type(process)()


def main():
    action = {"fail": fail_each_step, "kill": kill_each_step, "entry": kill_with_code_at_entry}[sys.argv[1]]
    for kind in (Idle,) if sys.argv[1] == "entry" else (Idle, Busy):
        say(f"{kind.__doc__}")
        process = action(kind(), temporary_directory())
        process.target.end()


run_test(main, f"interrupt steps: {sys.argv[1]}")
