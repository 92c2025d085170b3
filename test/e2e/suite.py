# SPDX-License-Identifier: Apache-2.0
"""Every program of the table (programs.py) through attach, dump, detach, changes of what is recorded, and forced failures of each: after each
of them it must work, and in the end be as it was.
usage: suite.py GROUP [NAME]"""

import os
import sys

from harness import (Failure, attach, attach_state, check, check_equal, check_refused, detach, dump, heapsnap, heapsnap_ok, is_attached, leave_out,
                     run_test, say, temporary_directory)
from programs import TABLE, Skipped

STEPS_MAX = 1000


def steps_to_fail():
    """Numbers of steps: the first ones, then ever further apart. interrupt_steps.py goes through all of them, on two programs."""
    step, distance = 1, 2
    while step < STEPS_MAX:
        yield step
        step, distance = step + distance, distance + distance // 2


def fail_some_steps(arguments, after_failure):
    """Makes some steps of a command fail until there are no more and it succeeds."""
    for count, step in enumerate(steps_to_fail()):
        result = heapsnap(*arguments, environment={"HEAPSNAP_FAIL_AT": str(step)})
        if result.status == 0:
            check(count > 1, f"{arguments[0]}: the failure of a step has no effect")
            return count
        check_equal(result.status, 1, str(result))
        after_failure(step)
    raise Failure(f"{arguments[0]} has more than {STEPS_MAX} steps")


def go_through(subject, directory):
    path = os.path.join(directory, "out.pb.gz")
    pid = subject.pid

    # Plainly.
    attach(pid, *subject.attach_options)
    subject.check_works()
    report = dump(pid, path)
    subject.check_works()
    detach(pid)
    subject.check_unchanged()
    subject.check_works()

    # With failures.
    def attach_failed(step):
        check_equal(attach_state(pid), None, f"status after attach failed at step {step}")
        subject.check_unchanged()
        subject.check_works()

    def dump_failed(step):
        check_equal(sorted(os.listdir(directory)), ["out.pb.gz"], f"files after dump failed at step {step}")
        check(is_attached(pid), f"no more attached after dump failed at step {step}")
        subject.check_works()

    def detach_failed(step):
        subject.check_works()
        state = attach_state(pid)
        if state == "attached":
            return
        if state:
            detach(pid)
        subject.check_unchanged()
        attach(pid, *subject.attach_options)

    failed = [fail_some_steps(["attach", pid, *subject.attach_options], attach_failed)]
    subject.check_works()
    failed.append(fail_some_steps(["dump", pid, "-o", path], dump_failed))
    subject.check_works()
    failed.append(fail_some_steps(["detach", pid], detach_failed))
    subject.check_unchanged()
    subject.check_works()
    return report, failed


# Samples from the first moment on, then everything and nothing in turns.
CHANGES = [["--exact"], ["--stop-recording"], ["--samples-per-word", "0.01", "--depth", "10"], ["--budget", "1"], ["--sample", "100"]]


def change_settings(subject, directory):
    """What is recorded is changed while the program works, and while changes of it fail."""
    pid = subject.pid
    attach(pid, "--sample", "1000", *subject.attach_options)
    subject.check_works()
    for options in CHANGES:
        heapsnap_ok("set", pid, *options)
        subject.check_works()

    def set_failed(step):
        check(is_attached(pid), f"no more attached after set failed at step {step}")
        subject.check_works()
    failed = fail_some_steps(["set", pid, "--sample", "4K"], set_failed)
    report = dump(pid, os.path.join(directory, "out.pb.gz"))
    check_equal([line["value"] for line in report["ledger"] if line["name"] == "replaced" and line["value"]], [], "blocks found again")
    subject.check_works()
    detach(pid)
    subject.check_unchanged()
    subject.check_works()
    return failed


def refuse(subject, row):
    check_refused(heapsnap("attach", subject.pid), *row.refused)
    check_equal(attach_state(subject.pid), None, "status after a refused attach")
    subject.check_unchanged()
    subject.check_works()


def main():
    rows = [row for row in TABLE if row.group == sys.argv[1] and (len(sys.argv) < 3 or row.name == sys.argv[2])]
    check(rows, f"the table has no such row: {sys.argv[1:]}")
    for row in rows:
        try:
            subject = row.start()
        except Skipped as reason:
            leave_out(f"{row.name}: {reason}")
            continue
        try:
            if row.refused:
                refuse(subject, row)
                say(f"{row.name}: refused, untouched")
            else:
                directory = temporary_directory()
                report, failed = go_through(subject, directory)
                failed.append(change_settings(subject, directory))
                say(f"{row.name}: {report['live_objects']} live objects; failed steps of attach, dump, detach, set: {failed}")
            subject.end()
        except Failure as failure:
            raise Failure(f"{row.name}: {failure}") from None


run_test(main, f"suite: {sys.argv[1]}")
