# SPDX-License-Identifier: Apache-2.0
"""Four allocators in one process, each block counted once; programs with C++ operators of their own; and processes whose allocator checks its blocks, which are refused."""

import os

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, leave_out, run_test, say, target_path,
                     temporary_directory)

DEBUG_TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal_debug.so.4"


def work(target):
    *account, _ = target.ask_json("work")
    return {line["site"]: (line["objects"], line["bytes"]) for line in account}


def several(directory):
    path = os.path.join(directory, "out.pb.gz")
    target = Target("several")
    work(target)
    check_equal(target.ask("finish"), "ok", "answer")
    before = Unharmed(target.pid)
    report = attach(target.pid)
    before.check_attached()
    account = work(target)
    dump(target.pid, path)
    sites = {name: (values.live_objects, values.live_bytes) for name, values in profiles.by_innermost(path).items() if name in account}
    check_equal(sites, account, "sites")
    check_equal(target.ask("finish"), "ok", "answer")
    dump(target.pid, path)
    left = {name: values for name, values in profiles.by_innermost(path).items() if name in account and values.live_objects}
    check_equal(left, {}, "live blocks at the end")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    say(f"{report['hooks']} hooks in four allocators: {account}")


def refused(name, command):
    target = Target(name, command=command)
    before = Unharmed(target.pid)
    check_refused(heapsnap("attach", target.pid), "checks how each block was made")
    before.check_after(memory_may_change=True)
    check_equal(target.ask("allocate"), "allocated", "answer")
    target.end()


def own_operators(name, directory):
    """Operators of the program's own, beside malloc in the same file: they are left alone, and their blocks are seen by malloc."""
    if not os.path.exists(target_path(name)):
        leave_out(f"{name} was not built (a C++ compiler or its library is not installed)")
        return
    path = os.path.join(directory, "out.pb.gz")
    target = Target(name)
    answer = target.ask("work")
    check_equal((answer, target.ask("finish")), ("1020 1000 3000", "ok"), "answers")
    before = Unharmed(target.pid)
    attach(target.pid)
    check_equal(target.ask("work"), answer, "what the program counts")
    report = dump(target.pid, path)
    site = profiles.by_innermost(path)["site_new"]
    check_equal((site.alloc_objects, site.live_objects, site.live_bytes), (1020, 20, 20 * 80), "blocks with their headers")
    check(not [line for line in report["ledger"] if line["name"] == "hook_refused" and "_Zn" in line["text"]],
          f"operators that call malloc are in the ledger: {report['ledger']}")
    check_equal(target.ask("finish"), "ok", "answer")
    check_equal(dump(target.pid, path)["live_objects"], 0, "live objects at the end")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    target.end()
    say(f"{name}: its operators work as before")


def main():
    if os.path.exists(target_path("several")):
        several(temporary_directory())
    else:
        leave_out("several was not built (not all of its libraries are installed)")
    own_operators("own_operators", temporary_directory())
    own_operators("own_operators_jemalloc", temporary_directory())
    refused("sanitized", [target_path("sanitized"), "3"])
    check(os.path.exists(DEBUG_TCMALLOC), "gperftools' debugging library is not installed")
    refused("gperftools' debugging library", ["env", f"LD_PRELOAD={DEBUG_TCMALLOC}", target_path("many_threads"), "3"])


run_test(main, "several")
