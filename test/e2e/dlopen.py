# SPDX-License-Identifier: Apache-2.0
"""Libraries that come and go after attach: stacks through them, and names for what is live after the library has gone."""

import os

import profiles
from harness import Target, Unharmed, attach, check, check_equal, detach, dump, run_test, say, target_path, temporary_directory


def main():
    target = Target("dlopen_loop", target_path("libloop_plugin.so"))
    check_equal(target.ask("loop"), "done", "before attach")
    before = Unharmed(target.pid)
    path = os.path.join(temporary_directory(), "out.pb.gz")
    attach(target.pid)
    for _ in range(4):
        check_equal(target.ask("keep"), "done", "answer")
        check_equal(target.ask("loop"), "done", "answer")
    before.check_attached()
    dump(target.pid, path)
    site = profiles.by_innermost(path)["loop_plugin_allocate"]
    check_equal((site.live_objects, site.live_bytes), (12, 12000), "live blocks of the unloaded library")
    check_equal(site.alloc_objects, 12 + 4 * 50 * 3, "allocations of the library")
    check(any("load_and_allocate" in stack and "main" in stack for stack in profiles.stacks(path, "loop_plugin_allocate")),
          "no stack leads from the library through load_and_allocate to main")
    detach(target.pid)
    before.check_after(memory_may_change=True)
    check_equal(target.ask("loop"), "done", "after detach")
    target.end()
    say("a library was loaded and unloaded 204 times while attached; its blocks keep their names and stacks")


run_test(main, "dlopen")
