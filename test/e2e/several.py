# SPDX-License-Identifier: Apache-2.0
"""Four allocators in one process, each block counted once; and processes whose allocator checks its blocks, which are refused."""

import json
import os

import profiles
from harness import (Target, Unharmed, attach, check, check_equal, check_refused, detach, dump, heapsnap, run_test, say, target_path,
                     temporary_directory)

DEBUG_TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal_debug.so.4"


def work(target):
    target.send("work")
    account = {}
    while True:
        line = json.loads(target.line())
        if "end" in line:
            return account
        account[line["site"]] = (line["objects"], line["bytes"])


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


def main():
    if os.path.exists(target_path("several")):
        several(temporary_directory())
    else:
        say("several: SKIPPED: not all of the libraries were there when it was built")
    refused("sanitized", [target_path("sanitized"), "3"])
    check(os.path.exists(DEBUG_TCMALLOC), "gperftools' debugging library is not installed")
    refused("gperftools' debugging library", ["env", f"LD_PRELOAD={DEBUG_TCMALLOC}", target_path("many_threads"), "3"])


run_test(main, "several")
