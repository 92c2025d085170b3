# SPDX-License-Identifier: Apache-2.0
"""Callers that keep values in registers across calls of an allocator, because they know that it leaves those alone: an allocator in the file of its callers, as
the C library's functions or as functions that the user adds; one in a library that exports it all the same; one whose companion changes others. The program gives the
same results, and every block is seen. And allocators that walk the chain of frame pointers: it goes on through the hooks.
usage: kept_registers.py [CASE...]"""

import os

import profiles
from harness import Target, Unharmed, attach, check_equal, detach, dump, run_cases, say, temporary_directory

ADDED = ["--allocator", "pool_alloc=alloc(size)", "--allocator", "pool_free=free(block)", "--allocator", "jumping_alloc=alloc(size)"]
SITES = {"work": "with_malloc", "pool": "with_pool", "jumps": "with_jumps"}
ROUNDS = 1000


def in_program():
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("kept_registers")
    before = Unharmed(target.pid)
    sums = {command: target.ask(command) for command in SITES}
    for options in ([], ["--exact"], ["--sample", "512"], ["--sample", "1000000"]):
        attach(target.pid, *options, *ADDED)
        for command, expected in sums.items():
            for _ in range(3):
                check_equal(target.ask(command), expected, f"{command} with {options}")
        dump(target.pid, path)
        if options == ["--exact"]:
            sites = profiles.by_innermost(path)
            check_equal({name: (sites[name].alloc_objects, sites[name].live_objects) for name in SITES.values()},
                        {name: (3 * ROUNDS, 0) for name in SITES.values()}, "blocks that were made, and that live")
        detach(target.pid)
        check_equal({command: target.ask(command) for command in SITES}, sums, "after detach")
    before.check_after(memory_may_change=True)
    target.end()
    say(f"  results the same: {sums}")


def unchanged(name, commands, answer, added=()):
    """Each command's answer, attached in each way, is the one without."""
    target = Target(name)
    for options in ([], ["--exact"], ["--sample", "512"], ["--sample", "1000000"]):
        attach(target.pid, *options, *added)
        for command in commands:
            check_equal(target.ask(command), answer, f"{name}: {command} with {options}")
        detach(target.pid)
    for command in commands:
        check_equal(target.ask(command), answer, f"{name}: {command} after detach")
    target.end()
    say(f"  {name}: {len(commands)} commands in four ways")


def in_library():
    for name in ("kept_by_alias", "kept_protected", "kept_uninterposed", "kept_by_name", "kept_far"):
        unchanged(name, ["work"] * 3, "0")


def by_companion():
    for name in ("companions", "companions_vectors"):
        unchanged(name, ["new", "new real", "old"], "0")


def frame_pointers():
    unchanged("frame_pointers", ["malloc", "pool"], "0 0", ["--allocator", "pool_alloc=alloc(size)"])
    unchanged("frame_pointers", ["malloc", "pool"], "0 0")


run_cases([in_program, in_library, by_companion, frame_pointers], "kept_registers")
