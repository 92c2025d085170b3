# SPDX-License-Identifier: Apache-2.0
"""A C++ program: containers, threads, exceptions through frames that allocate, demangled names."""

import os
import re

import profiles
from harness import Target, Unharmed, attach, check, detach, dump, run_test, say, temporary_directory


def check_hidden(path):
    """The file has the containers, and pprof hides them where they call nothing but allocators: what it shows is the program's own."""
    plumbing = re.compile(r"std::(__)?(new_|[a-z_]*_?)?(allocator|vector|map|_Rb_tree|basic_string|make_unique)|operator new|malloc|__gnu_cxx::")
    stacks = profiles.samples(path)
    inside = sum(values.alloc_objects for stack, values in stacks if plumbing.search(stack[0].split("(")[0]) and any("add_item" in name for name in stack))
    check(inside > 1000, f"no stack ends in a container: {stacks[:5]}")
    top = profiles.pprof(path, "-top", "-sample_index=alloc_objects", "-nodecount=1000000", "-nodefraction=0").split("flat%", 1)[1].splitlines()[1:]
    flat = {line.split(None, 5)[5]: int(line.split()[0]) for line in top}
    shown = [name for name, value in flat.items() if value and plumbing.match(name)]
    check(not shown, f"pprof shows {shown} as sites")
    check(any("shop::catalogue::add_item" in name and value >= inside for name, value in flat.items()), f"add_item has too little: {flat}")
    total = profiles.read(path).total("alloc_objects")
    check(sum(flat.values()) == total, f"the flat values that pprof shows are {sum(flat.values())}, not {total}")
    profile = profiles.read(path)
    check(0 < len(profile.drop_frames) < 8000 and len(profile.keep_frames) < 20000, f"{profile.drop_frames} {profile.keep_frames}")
    say(f"drop_frames {len(profile.drop_frames)} bytes, keep_frames {len(profile.keep_frames)}; first of pprof -top: {max(flat, key=flat.get)}")


def main():
    target = Target("cpp_program")
    for _ in range(3):
        target.ask("work")
    before = Unharmed(target.pid)
    path = os.path.join(temporary_directory(), "out.pb.gz")
    rounds = 0
    for _ in range(3):
        attach(target.pid)
        before.check_attached()
        for _ in range(20):
            now = int(target.ask("work"))
            check(now >= rounds, "the program went back")
            rounds = now
        dump(target.pid, path)
        check_hidden(path)
        names = profiles.function_names(path)
        check(any(name.startswith("shop::catalogue::add_item") for name in names), f"no demangled name: {sorted(names)}")
        check("_ZN4shop9catalogue8add_itemEi" in profiles.system_names(path), "no system_name as in the symbol table")
        live = [values for stack, values in profiles.samples(path)
                if values.live_objects and any("add_item" in name for name in stack)]
        check(sum(values.live_objects for values in live) >= 20 * 100, f"too little is live below add_item: {live}")
        detach(target.pid)
        before.check_after(memory_may_change=True)
    rest = target.end()
    check(rest.startswith("ok "), f"the program said {rest!r}")
    say(f"{rest.strip()} rounds with exceptions, three times attached")


run_test(main, "cpp")
