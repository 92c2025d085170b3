# SPDX-License-Identifier: Apache-2.0
"""Attach, dump, detach, many times, while eight threads allocate at full speed and check each block.
usage: cycles.py [COUNT]; HEAPSNAP_CYCLES in the environment stands before it (for long runs)."""

import os
import sys
import time

from harness import Target, Unharmed, attach, check, check_equal, detach, dump, is_attached, run_test, say, temporary_directory


def main():
    count = int(os.environ.get("HEAPSNAP_CYCLES") or (sys.argv[1] if len(sys.argv) > 1 else 200))
    path = os.path.join(temporary_directory(), "out.pb.gz")
    target = Target("cycles", 8)
    check_equal(target.ask("pause"), "paused", "answer")
    before = Unharmed(target.pid)
    check_equal(target.ask("continue"), "continued", "answer")

    attach_stops, dump_stops, live, operations = [], [], 0, 0
    for number in range(1, count + 1):
        attach_stops.append(attach(target.pid)["stopped_us"])
        if number % 10 == 1:
            before.check_attached()
        # Work must go on while attached: a deadlock shows here.
        deadline = time.monotonic() + 20
        now = int(target.ask("count"))
        while now <= operations and time.monotonic() < deadline:
            time.sleep(0.001)
            now = int(target.ask("count"))
        check(now > operations, f"no operation was done in cycle {number}")
        operations = now
        report = dump(target.pid, path)
        dump_stops.append(report["stopped_us"])
        live += report["live_objects"]
        detach(target.pid)
        check(target.alive(), "the target died")
        if number % 20 == 0:
            check(not is_attached(target.pid), "status says attached after detach")
            check_equal(target.ask("pause"), "paused", "answer")
            before.check_after(memory_may_change=True)
            check_equal(target.ask("continue"), "continued", "answer")
            say(f"{number} cycles, {operations} operations")
    check(live > 0, "not one live object was ever seen")
    rest = target.end()
    check(rest.startswith("ok "), f"the target said {rest!r}")
    attach_stops.sort(), dump_stops.sort()
    say(f"{count} cycles, {rest.strip()} operations, every block intact; stopped: attach median {attach_stops[count // 2]} us, "
        f"most {attach_stops[-1]} us; dump median {dump_stops[count // 2]} us, most {dump_stops[-1]} us")


run_test(main, "cycles")
