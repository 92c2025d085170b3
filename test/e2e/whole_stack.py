# SPDX-License-Identifier: Apache-2.0
"""Stacks are whole: from the allocation through a library that calls back, to main and _start, or to the thread's entry; and a depth limit
cuts them where it says, and says so. 200 frames of a recursion are less than what is kept unless told."""

import os

import profiles
from harness import Target, attach, check, check_equal, detach, dump, run_test, say, temporary_directory

INNER = ["innermost", "compare"]
OUTER = {100: ["through_library", "from_main", "main"], 200: ["through_library", "from_thread"],
         300: ["through_library", *["recurse"] * 200, "main"]}


def in_order(wanted, stack):
    position = 0
    for name in stack:
        if position < len(wanted) and name == wanted[position]:
            position += 1
    return position == len(wanted)


def stack_of(path, size):
    found = [stack for stack, values in profiles.samples(path) if stack[0] == "innermost" and values.live_bytes == 3 * size]
    check_equal(len(found), 1, f"stacks with 3 blocks of {size} bytes")
    return list(found[0])


def main():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("whole_stack")
    target.ask("warm up")
    attach(target.pid)
    for _ in range(3):
        check_equal(target.ask("go"), "done", "answer")
    report = dump(target.pid, path)
    for size, outer in OUTER.items():
        stack = stack_of(path, size)
        check_equal(stack[:2], INNER, f"innermost frames: {stack}")
        check(any("qsort" in name or "msort" in name for name in stack), f"no frame of the library that called back: {stack}")
        check(in_order(INNER + outer, stack), f"frames missing or out of order: {stack}")
        # The outermost frame, whose return address the unwind information calls undefined.
        last = "clone3" if size == 200 else "_start"
        check(last in stack[-1], f"the outermost frame is {stack[-1]}, not {last}: {stack}")
        say(" < ".join(stack[:8]) + (f" ... {len(stack)} frames" if len(stack) > 8 else ""))
    cuts = [line for line in report["ledger"] if line["name"].startswith("stack_cut") and line["value"]]
    check_equal(cuts, [], "cut stacks")
    detach(target.pid)

    attach(target.pid, "--depth", "3")
    for _ in range(3):
        check_equal(target.ask("go"), "done", "answer")
    report = dump(target.pid, path)
    # What tells the two chains apart is cut off: one stack.
    found = [(len(stack), values.live_objects, values.live_bytes) for stack, values in profiles.samples(path) if stack[0] == "innermost"]
    check_equal(found, [(3, 3 * len(OUTER), 3 * sum(OUTER))], "frames, blocks and bytes with --depth 3")
    cuts = {line["name"]: line["value"] for line in report["ledger"] if line["name"].startswith("stack_cut") and line["loss"]}
    check(cuts.get("stack_cut_depth_limit", 0) >= 3 * len(OUTER), f"the ledger does not say that stacks were cut: {cuts}")
    detach(target.pid)
    target.end()


run_test(main, "whole stack")
