# SPDX-License-Identifier: Apache-2.0
"""A dlclose that has begun when heapsnap attaches, and is not done: until the loader says that it is, no unwind information is read of what it may be
unmapping, and stacks end there; then they are whole. So too when it begins while attached."""

import os

import profiles
from harness import Target, Unharmed, attach, check, check_equal, detach, dump, run_test, say, target_path, temporary_directory


def cut(report):
    return sum(line["value"] for line in report["ledger"] if line["name"] == "stack_cut_loader_busy")


def lead_to_main(path, site):
    """Whether the stacks of a site do: all of them {True}, none {False}."""
    return {"main" in stack for stack in profiles.stacks(path, site)}


def allocate(target):
    check_equal(target.ask("allocate"), "allocated", "answer")


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("loader_waits", target_path("libloop_plugin.so"))
    allocate(target)
    check_equal((target.ask("close"), target.ask("go on")), ("deleting", "closed"), "answers")
    before = Unharmed(target.pid)

    check_equal(target.ask("close"), "deleting", "answer")
    attach(target.pid)
    allocate(target)
    report = dump(target.pid, path)
    check_equal(cut(report), 1, "stacks that end because the loader is at work")
    check_equal(lead_to_main(path, "site_while_deleting"), {False}, "stacks of what was allocated while the loader worked that lead to main")
    check_equal(target.ask("go on"), "closed", "answer")
    allocate(target)
    check_equal(cut(dump(target.pid, path)), 1, "stacks that end because the loader is at work, when it is done")
    check_equal(lead_to_main(path, "site_at_rest"), {True}, "stacks of what was allocated afterwards that lead to main")

    # While attached: the hook of the loader's event says it.
    check_equal(target.ask("close"), "deleting", "answer")
    check_equal(target.ask("go on"), "closed", "answer")
    allocate(target)
    report = dump(target.pid, path)
    check_equal((cut(report), lead_to_main(path, "site_at_rest")), (1, {True}), "after another library was closed")
    detach(target.pid)
    before.check_after(memory_may_change=True)

    # Attached where nothing is under way.
    attach(target.pid)
    allocate(target)
    check_equal(cut(dump(target.pid, path)), 0, "stacks that end because the loader is at work")
    check_equal(lead_to_main(path, "site_at_rest"), {True}, "stacks that lead to main")
    detach(target.pid)
    check(target.alive(), "the target has ended")
    target.end()
    say("attached in the middle of a dlclose: its stacks end where the loader works, and are whole afterwards")


run_test(main, "loader waits")
