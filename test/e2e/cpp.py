# SPDX-License-Identifier: Apache-2.0
"""A C++ program: containers, threads, exceptions through frames that allocate, demangled names."""

import os

import profiles
from harness import Target, Unharmed, attach, check, detach, dump, run_test, say, temporary_directory


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
